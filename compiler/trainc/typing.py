"""The names that annotations are written with: `typing`, without the tenth of a command's time that importing it takes.

Annotations are not evaluated where trainc runs, and the aliases made of these names are not looked into: any value does.
Only the choices of a `Literal` are asked for. Type checkers see the library's own.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import IO, Any, BinaryIO, Literal, NoReturn, Protocol, Self, TextIO, TypeAlias, TypeVar, cast, get_args
else:
    Any = BinaryIO = NoReturn = Self = TextIO = TypeAlias = object
    IO = list

    class Protocol:
        """A base without methods of its own."""

    class Literal:
        """`Literal["yaml", "json"]`, of which `get_args` knows the choices, as the library's does."""

        def __class_getitem__(cls, choices: Any) -> Any:
            alias = cls()
            alias.__args__ = choices if isinstance(choices, tuple) else (choices,)
            return alias

        def __or__(self, other: Any) -> Any:
            return Any

        __ror__ = __or__

    def TypeVar(name: str) -> Any:  # noqa: N802 - the library's word
        """A name that stands for any type."""
        return object

    def cast(kind: Any, value: Any) -> Any:
        """The value, which is of this kind."""
        return value

    def get_args(alias: Any) -> tuple[Any, ...]:
        """The choices of a `Literal`."""
        return alias.__args__


__all__ = [
    "IO",
    "TYPE_CHECKING",
    "Any",
    "BinaryIO",
    "Literal",
    "NoReturn",
    "Protocol",
    "Self",
    "TextIO",
    "TypeAlias",
    "TypeVar",
    "cast",
    "get_args",
]
