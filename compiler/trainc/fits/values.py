"""Values of objects as kubectl prints them, read with their types checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class WrongValue(ValueError):
    """A value of the wrong type or without meaning, and its path in the object."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def as_map(value: Any, path: str) -> Mapping[str, Any]:
    """A map; none is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise WrongValue(path, f"{path} is not a map")
    return value


def as_list(value: Any, path: str) -> Sequence[Any]:
    """A list; none is an empty one."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise WrongValue(path, f"{path} is not a list")
    return value


def as_maps(value: Any, path: str) -> tuple[Mapping[str, Any], ...]:
    """A list of maps."""
    return tuple(as_map(item, f"{path}[{i}]") for i, item in enumerate(as_list(value, path)))


def as_text(value: Any, path: str) -> str:
    """A string; none is an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongValue(path, f"{path} is not a string")
    return value


def as_texts(value: Any, path: str) -> dict[str, str]:
    """A map of strings."""
    return {str(key): as_text(item, path) for key, item in as_map(value, path).items()}
