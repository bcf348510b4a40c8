"""Modules by name: `importlib.import_module`, whose own import takes as long as five of trainc's modules."""

from __future__ import annotations

import sys

from trainc.typing import Any


def import_module(name: str) -> Any:
    """The module of that full name, imported if it has not been."""
    __import__(name)
    return sys.modules[name]
