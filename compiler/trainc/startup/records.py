"""Drop-in replacements for `dataclasses` whose classes are about a hundred times cheaper to define.

The standard library generates and compiles six methods per dataclass at import time. That takes about a millisecond
each, and a command defines about a hundred classes. Here all records share their methods. `__init__` is only compiled
for a class once many instances have been created, or once it is inspected or called with wrong arguments. Signatures,
annotations, help and error messages match the standard library. Type checkers see the real `dataclasses` functions, and
`dataclasses.fields` and everything built on it works too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from reprlib import recursive_repr
from types import MethodType

from trainc.startup.typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        """Like `dataclasses.dataclass`, for classes that use slots and have no base class."""
        assert slots
        return lambda cls: _define(cls, frozen, eq)

    def field(**choices: Any) -> _Field:
        """Like `dataclasses.field`."""
        return _Field(**choices)

    def fields(record: Any) -> tuple[_Field, ...]:
        """Like `dataclasses.fields`, but the returned fields only have a `name` and a `default`."""
        return record._record.parts  # noqa: SLF001 - private, so that help() leaves it out

    def replace(record: Any, **changes: Any) -> Any:
        """Like `dataclasses.replace`."""
        names = record.__match_args__
        values = list(record._record.arguments(record))  # noqa: SLF001 - as above
        try:
            for name, value in changes.items():
                values[names.index(name)] = value
        except ValueError:
            return _standard_replace(record, changes)
        return record.__class__(*values)


__all__ = ["dataclass", "field", "fields", "replace"]

_MISSING: Any = object()
_MANY = 40
_set = object.__setattr__


class _Field:
    """One field of a record; `_Definition.parts` fills in its `name`."""

    __slots__ = ("compare", "default", "factory", "init", "name", "repr")

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
        self.default = default
        self.factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare


class _Definition:
    """The fields of a record class, and how many instances the generic `__init__` has created so far."""

    def __init__(self, cls: Any, defaults: dict[str, Any], frozen: bool, eq: bool) -> None:
        self._cls = cls
        self.frozen = frozen
        self.eq = eq
        self.made = 0
        # What the generic `__init__` starts from, and the fields that say more than their default.
        self.defaults = {name: defaults.get(name, _MISSING) for name in cls.__match_args__}
        self.fields = {name: part for name, part in defaults.items() if isinstance(part, _Field)}

    @cached_property
    def parts(self) -> tuple[_Field, ...]:
        """The fields, in order."""
        defaults = {name: self.defaults.get(name) for name in self._cls.__slots__}
        parts = {name: self.fields.get(name) or _Field(default=default) for name, default in defaults.items()}
        for name, part in parts.items():
            part.name = name
        return (*parts.values(),)

    @cached_property
    def arguments(self) -> Callable[[Any], tuple[Any, ...]]:
        """What gets the arguments from which a record was made."""
        return _values_of(self._cls.__match_args__)

    @cached_property
    def compared(self) -> Callable[[Any], tuple[Any, ...]]:
        """What gets the values by which a record equals another."""
        return _values_of([part.name for part in self.parts if part.compare])


class _Undefined:
    """Stands in for the definition of a record class until it is asked for: a command uses half of those that it imports."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def __get__(self, record: object, cls: Any) -> _Definition:
        cls._record = _Definition(cls, *self._arguments)
        return cast("_Definition", cls._record)


def _define(cls: type, frozen: bool, eq: bool) -> type:
    """Rebuild the class with slots for its annotated names and the shared record methods."""
    namespace = _SHARED[frozen, eq] | cls.__dict__
    del namespace["__dict__"], namespace["__weakref__"]
    names = tuple(cls.__annotations__)
    defaults = {name: namespace.pop(name) for name in names if name in namespace}
    derived = {name for name, default in defaults.items() if isinstance(default, _Field) and not default.init}
    namespace["__qualname__"] = cls.__qualname__
    namespace["__slots__"] = names
    namespace["__match_args__"] = tuple(name for name in names if name not in derived) if derived else names
    namespace["_record"] = _Undefined(defaults, frozen, eq)
    return type(cls)(cls.__name__, (), namespace)


def _values_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gets the values of these fields from a record, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


class _Init:
    """A placeholder for `__init__` until it is compiled; compiling costs as much as about fifty uncompiled calls."""

    def __get__(self, record: Any, cls: Any) -> Any:
        if record is None:
            return _compiled_init(cls)
        # Since Python 3.13, `inspect` binds the descriptor to the class itself.
        return MethodType(_compiled_init(record) if isinstance(record, type) else _first_init, record)


def _first_init(record: Any, *args: Any, **kwargs: Any) -> None:
    """Initialize one of the first instances.

    Delegates to the compiled `__init__` for later instances and for wrong arguments, so that errors read the same.
    """
    cls = record.__class__
    definition = cls._record
    definition.made += 1
    given = dict(zip(cls.__match_args__, args)) | kwargs  # noqa: B905 - an argument more is seen below
    values = definition.defaults | given
    is_right = len(given) == len(args) + len(kwargs) and len(values) == len(definition.defaults)
    if definition.made > _MANY or not is_right:
        _compiled_init(cls)(record, *args, **kwargs)
        return
    for name, part in definition.fields.items():
        if name not in given:
            values[name] = part.factory() if part.factory else part.default
    for name, value in values.items():
        if value is _MISSING:
            _compiled_init(cls)(record, *args, **kwargs)
            return
        _set(record, name, value)
    if hasattr(cls, "__post_init__"):
        record.__post_init__()


class _Factory:
    """Shown in signatures as the default of a parameter that has a default factory."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _compiled_init(cls: Any) -> Any:
    """Compile and install the `__init__` of `cls`.

    Frozen records refuse attribute assignment, so `__init__` switches the instance to a mutable class while it runs.
    """
    values: dict[str, Any] = {"_factory": _FACTORY}
    parameters = ["self"]
    lines = list(_init_lines(cls, values, parameters))
    if cls._record.frozen and lines:
        open_class = type(cls.__name__, (), {"__slots__": cls.__slots__})
        values |= {"_set": _set, "_open": open_class, "_frozen": cls}
        lines = ["_set(self, '__class__', _open)", *lines, "self.__class__ = _frozen"]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n  ".join(lines or ["pass"])
    text = f"def make({', '.join(values)}):\n def __init__({', '.join(parameters)}):\n  {body}\n return __init__"
    generated: dict[str, Any] = {}
    exec(text, vars(sys.modules[cls.__module__]), generated)  # noqa: S102 - no input in it
    init = generated["make"](**values)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    types = cls.__annotations__
    init.__annotations__ = {**{name: types[name] for name in cls.__match_args__}, "return": None}
    cls.__init__ = init
    return init


def _init_lines(cls: Any, values: dict[str, Any], parameters: list[str]) -> Iterator[str]:
    """Yield one assignment per field; adds to `parameters` and to the `values` that the generated code refers to."""
    for part in cls._record.parts:
        name = part.name
        values |= {f"_make_{name}": part.factory, f"_default_{name}": part.default}
        if part.init:
            optional = "" if part.default is _MISSING else f"=_default_{name}"
            parameters.append(name + ("=_factory" if part.factory else optional))
        value = name if part.init else f"_default_{name}"
        if part.factory:
            value = f"_make_{name}() if {name} is _factory else {name}" if part.init else f"_make_{name}()"
        yield f"self.{name} = {value}"


class _Methods:
    """The shared methods of records; they look up the fields on the class."""

    @recursive_repr()
    def __repr__(self: Any) -> str:
        values = (f"{part.name}={getattr(self, part.name)!r}" for part in self._record.parts if part.repr)
        return f"{self.__class__.__qualname__}({', '.join(values)})"

    def __eq__(self: Any, other: Any) -> Any:  # noqa: PYI032 - mypy takes the class of an object for object
        if other.__class__ is not self.__class__:
            return NotImplemented
        compared = self._record.compared
        return compared(self) == compared(other)

    def __hash__(self: Any) -> int:
        return hash(self._record.compared(self))

    def __setattr__(self, name: str, value: object) -> None:
        _refuse("assign to", name)

    def __delattr__(self, name: str) -> None:
        _refuse("delete", name)

    def __replace__(self, /, **changes: Any) -> Any:
        return replace(self, **changes)  # type: ignore[type-var]


def _refuse(action: str, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot {action} field {name!r}")


def _dataclass_getstate(self: Any) -> list[Any]:
    return [getattr(self, part.name) for part in self._record.parts]


def _dataclass_setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__slots__, state, strict=True):
        _set(self, name, value)


class _Standard:
    """An attribute that the standard library expects on dataclasses, computed from a real dataclass on first access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, record: object, cls: Any) -> Any:
        import dataclasses

        definition = cls._record
        parts = [(part.name, cls.__annotations__[part.name], _standard(part)) for part in definition.parts]
        twin: Any = dataclasses.make_dataclass(
            cls.__name__, parts, frozen=definition.frozen, eq=definition.eq, slots=True
        )
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


def _standard_replace(record: Any, changes: dict[str, Any]) -> Any:
    import dataclasses

    return dataclasses.replace(record, **changes)


def _shared_attributes(frozen: bool, eq: bool) -> dict[str, Any]:
    """Return the attributes that every record class of this kind gets."""
    names = ["__repr__"]
    if sys.version_info >= (3, 13):
        names.append("__replace__")
    if eq:
        names.append("__eq__")
    if frozen:
        names += ["__setattr__", "__delattr__"]
    shared: dict[str, Any] = {name: vars(_Methods)[name] for name in names}
    shared |= {name: _Standard(name) for name in ("__dataclass_fields__", "__dataclass_params__")}
    shared["__init__"] = _Init()
    if eq:
        shared["__hash__"] = _Methods.__hash__ if frozen else None
    if frozen:
        shared |= {"__getstate__": _dataclass_getstate, "__setstate__": _dataclass_setstate}
    return shared


_SHARED = {(frozen, eq): _shared_attributes(frozen, eq) for frozen in (False, True) for eq in (False, True)}
