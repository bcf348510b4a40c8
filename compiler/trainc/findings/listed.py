"""Texts about several names, which can be said of more names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Listed(str):
    """A text about several names, such as those of jobs, that can be said of more names.

    `about` is the same in texts that differ only in their names.
    """

    __slots__ = ("about", "names", "says")
    says: Callable[[Sequence[str]], str]
    names: tuple[str, ...]
    about: str

    def __new__(cls, says: Callable[[Sequence[str]], str], names: Iterable[str], about: str) -> Self:
        """Return what `says` makes of the names."""
        names = tuple(names)
        text = super().__new__(cls, says(names))
        text.says, text.names, text.about = says, names, about
        return text
