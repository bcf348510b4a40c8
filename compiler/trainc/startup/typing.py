"""The names that annotations are written with, without the time that `typing` and `re`, which it imports, take to load.

Nothing evaluates annotations while a command runs. Where somebody has imported `typing`, these are its own names, and so
they are for type checkers.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False

if TYPE_CHECKING or "typing" in sys.modules:
    from typing import IO, Any, BinaryIO, Generic, Literal, Protocol, Self, TextIO, TypeAlias, TypeVar, cast, get_args
else:
    Any = BinaryIO = Self = TextIO = TypeAlias = object
    IO = list

    class Protocol:
        """A class that says which methods a value has."""

    class Generic:
        """A class with a parameter."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    class Literal:
        """`Literal["a", "b"]`: an alias that knows its choices."""

        def __class_getitem__(cls, choices: object) -> Literal:
            alias = cls()
            alias.__args__ = choices if isinstance(choices, tuple) else (choices,)
            return alias

        def __or__(self, _: object) -> type:
            return object

        __ror__ = __or__

    def TypeVar(*_: object, **__: object) -> type:  # noqa: N802 - the library's word
        """Return what stands for any type."""
        return object

    def cast(_: object, value: object) -> object:
        """Return the value."""
        return value

    def get_args(alias: Literal) -> tuple[object, ...]:
        """Return the choices of a `Literal`."""
        return alias.__args__


__all__ = ["IO", "TYPE_CHECKING", "Any", "BinaryIO", "Generic", "Literal", "Protocol"]
__all__ += ["Self", "TextIO", "TypeAlias", "TypeVar", "cast", "get_args"]
