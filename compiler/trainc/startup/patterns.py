"""Regular expressions that are compiled on first use, since most commands use few of the patterns they import."""

from __future__ import annotations

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


__all__ = ["pattern"]
