"""Regular expressions that are compiled on first use, since most commands use few of the patterns they import, and globs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from trainc.startup.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:  # noqa: N801 - it stands in for a function
        """A lazy `re.compile` for module-level patterns; instances have the methods of a compiled pattern."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._source = text, flags

        def __getattr__(self, name: str) -> Any:
            import re

            attribute = getattr(re.compile(*self._source), name)
            setattr(self, name, attribute)
            return attribute


@lru_cache(maxsize=1024)
def matcher(text: str) -> Callable[[str], bool]:
    """Return `fnmatchcase` of a pattern; most ask for a part, a beginning or an end, which need no regular expression."""
    plain = text.strip("*")
    if any(mark in plain for mark in "*?["):
        from fnmatch import fnmatchcase

        return lambda value: fnmatchcase(value, text)
    if text.startswith("*"):
        return (lambda value: plain in value) if text.endswith("*") else lambda value: value.endswith(plain)
    return (lambda value: value.startswith(plain)) if text.endswith("*") else plain.__eq__


__all__ = ["matcher", "pattern"]
