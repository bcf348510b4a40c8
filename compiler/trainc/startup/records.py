"""Records: dataclasses as the standard library has them, at a hundredth of what its own cost when they are defined.

The library writes and compiles six methods of each dataclass at import, a millisecond each time, and a command defines
a hundred of them. Here every record shares its methods with all others; `__init__` is written and compiled for a class
of which many instances are made. Type checkers see the library's own functions; `dataclasses.fields` and all that builds on it work too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        """`dataclasses.dataclass`, for classes with slots that inherit from nothing."""
        assert slots
        return lambda cls: _define(cls, frozen, eq)

    def field(**choices: Any) -> _Field:
        """`dataclasses.field`."""
        return _Field(**choices)

    def fields(record: Any) -> tuple[_Field, ...]:
        """`dataclasses.fields`, as far as the name of each."""
        return record.__record__

    def replace(record: Any, **changes: Any) -> Any:
        """`dataclasses.replace`."""
        cls = record.__class__
        values = list(cls.__values__(record))
        try:
            for name, value in changes.items():
                values[cls.__match_args__.index(name)] = value
        except ValueError:
            raise TypeError(f"{cls.__qualname__} has no field {name!r}") from None
        return cls(*values)


__all__ = ["dataclass", "field", "fields", "replace"]

_MISSING: Any = object()
_MANY = 20


class _Field:
    """One field of a record. Once the class is there, `name` is known, and `set` fills the slot of an instance."""

    __slots__ = ("compare", "default", "factory", "init", "name", "repr", "set")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = None,
        init: bool = True,
        repr: bool = True,  # noqa: A002 - the library's word
        compare: bool = True,
    ) -> None:
        self.name = ""
        self.set: Callable[[Any, Any], None]
        self.default = default
        self.factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare


def _define(cls: type, frozen: bool, eq: bool) -> type:
    """The class again, with slots for its annotated names and with the methods of a record."""
    body = {key: value for key, value in cls.__dict__.items() if key not in ("__dict__", "__weakref__")}
    parts = tuple(_field_of(name, body.pop(name, _MISSING)) for name in cls.__annotations__)
    body["__slots__"] = tuple(part.name for part in parts)
    body["__match_args__"] = tuple(part.name for part in parts if part.init)
    body["__record__"] = parts
    body["__values__"] = _values_of(body["__match_args__"])
    body["__compared__"] = _values_of([part.name for part in parts if part.compare])
    kind = (_Frozen if frozen else _Open) if eq else _Record
    record = type(cls)(cls.__name__, (kind,), body)
    for part in parts:
        part.set = getattr(record, part.name).__set__
    return record


def _field_of(name: str, default: Any) -> _Field:
    part = default if isinstance(default, _Field) else _Field(default=default)
    part.name = name
    return part


def _first_init(record: Any, *args: Any, **kwargs: Any) -> None:
    """`__init__` until a class has `_MANY` instances; compiling one takes as long as making fifty this way."""
    cls = record.__class__
    cls.__made__ += 1
    if cls.__made__ > _MANY:
        cls.__init__ = _init_of(cls)
        cls.__init__(record, *args, **kwargs)
        return
    given = dict(zip(cls.__match_args__, args, strict=False), **kwargs)
    if len(given) != len(args) + len(kwargs) or not kwargs.keys() <= set(cls.__match_args__):
        unknown = ", ".join(sorted(kwargs.keys() - set(cls.__match_args__))) or "twice or too many"
        raise TypeError(f"{cls.__qualname__}() got arguments that it has no fields for: {unknown}")
    for part in cls.__record__:
        name = part.name
        if name in given:
            value = given[name]
        elif part.factory:
            value = part.factory()
        elif part.default is _MISSING:
            raise TypeError(f"{cls.__qualname__}() missing required argument: {name!r}")
        else:
            value = part.default
        part.set(record, value)
    if hasattr(cls, "__post_init__"):
        record.__post_init__()


def _init_of(cls: Any) -> Any:
    """An `__init__` that fills the slots directly: a frozen record refuses to have its attributes set."""
    known: dict[str, Any] = {"missing": _MISSING}
    parameters, lines = ["self"], []
    for part in cls.__record__:
        name = part.name
        known |= {
            f"set_{name}": part.set,
            f"make_{name}": part.factory,
            f"default_{name}": part.default,
        }
        if part.init:
            optional = "" if part.default is _MISSING else f"=default_{name}"
            parameters.append(name + ("=missing" if part.factory else optional))
        made = f"make_{name}() if {name} is missing else {name}" if part.init else f"make_{name}()"
        lines.append(f" set_{name}(self, {made if part.factory else name})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), known)  # noqa: S102 - no input in it
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _values_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What takes the values of these fields from a record."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


class _Standard:
    """What makes a record a dataclass to the standard library and to those who rely on it, found when one asks."""

    __slots__ = ("_frozen", "_name")

    def __init__(self, name: str, frozen: bool) -> None:
        self._name = name
        self._frozen = frozen

    def __get__(self, record: object, cls: Any) -> Any:
        import dataclasses

        parts = [(part.name, cls.__annotations__[part.name], _standard(part)) for part in cls.__record__]
        twin: Any = dataclasses.make_dataclass(cls.__name__, parts, frozen=self._frozen)
        setattr(cls, self._name, getattr(twin, self._name))
        return getattr(twin, self._name)


def _standard(part: _Field) -> Any:
    import dataclasses

    choices: dict[str, Any] = {"init": part.init, "repr": part.repr, "compare": part.compare}
    if part.default is not _MISSING:
        choices["default"] = part.default
    if part.factory:
        choices["default_factory"] = part.factory
    return dataclasses.field(**choices)


class _Record:
    """What all records inherit: a method that is inherited costs a class nothing when it is defined."""

    __slots__ = ()
    __made__ = 0
    __record__: tuple[_Field, ...]
    __dataclass_fields__ = _Standard("__dataclass_fields__", frozen=False)
    __dataclass_params__ = _Standard("__dataclass_params__", frozen=False)
    __init__ = _first_init

    def __repr__(self) -> str:
        shown = (f"{part.name}={getattr(self, part.name)!r}" for part in self.__record__ if part.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def __getstate__(self) -> list[Any]:
        return [getattr(self, part.name) for part in self.__record__]

    def __setstate__(self, state: list[Any]) -> None:
        for part, value in zip(self.__record__, state, strict=True):
            part.set(self, value)


class _Open(_Record):
    """A record that may change, and so has no hash."""

    __slots__ = ()
    __compared__: Callable[[Any], Any]
    __hash__: Any = None

    def __eq__(self, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        compared = self.__class__.__compared__
        return compared(self) == compared(other)


class _Frozen(_Open):
    """A record that never changes."""

    __slots__ = ()
    __dataclass_fields__ = _Standard("__dataclass_fields__", frozen=True)
    __dataclass_params__ = _Standard("__dataclass_params__", frozen=True)

    def __hash__(self) -> int:
        return hash(self.__class__.__compared__(self))

    def __setattr__(self, name: str, value: object) -> None:
        _refuse("assign to", name)

    def __delattr__(self, name: str) -> None:
        _refuse("delete", name)


def _refuse(what: str, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot {what} field {name!r}")
