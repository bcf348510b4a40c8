"""What is printed when trainc itself fails: the only place that shows a traceback."""

from __future__ import annotations

import platform
import traceback
from importlib.metadata import version


def describe_defect() -> str:
    """The exception being handled, and what to do about it."""
    return (
        f"{traceback.format_exc()}\n"
        "trainc: this is a defect in trainc, not in your input.\n"
        "Please report it with the lines above, the command you ran and, if you can, the input that shows it.\n"
        f"trainc {version('trainc')}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n"
    )
