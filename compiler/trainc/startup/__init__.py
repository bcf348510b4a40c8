"""Helpers that keep start-up fast: records and lazy patterns. Obsolete once Python 3.15 (lazy imports) is required.

Here is what every command needs of `importlib` and `contextlib`, which take as long to import as ten modules of trainc.
"""

from __future__ import annotations

import sys

from trainc.startup.typing import Any


def import_module(name: str) -> Any:
    """Import a module, by its whole name."""
    __import__(name)
    return sys.modules[name]


class suppress:  # noqa: N801 - the library's word
    """Leave the block at one of these errors, and go on behind it."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)
