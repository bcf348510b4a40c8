"""JSON Patch (RFC 6902) with JSON Pointers (RFC 6901)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trainc.api.copies import Copies
from trainc.api.field_path import FieldPath, stable_path
from trainc.api.strategic_merge import PatchFailedError
from trainc.diagnostics import Path
from trainc.startup.records import dataclass

_END = "-"
# Repeated copies grow exponentially, like nested aliases, and repeated additions can nest deeply.
_MOST_COPIED = 10_000
_MOST_VALUES = 5_000_000
_DEEPEST = 300
_WITH_VALUE = ("add", "replace", "test")
_WITH_FROM = ("move", "copy")
_OPERATIONS = ("remove", *_WITH_VALUE, *_WITH_FROM)


class _MissingError(Exception):
    """The path of an operation does not exist."""


@dataclass(frozen=True, slots=True)
class _Operation:
    index: int
    name: str
    path: tuple[str, ...]
    value: Any = None
    source: tuple[str, ...] = ()


def apply_operations(
    data: Mapping[str, Any], operations: Sequence[Any], copies: Copies | None = None
) -> tuple[dict[str, Any], list[tuple[FieldPath, Path]]]:
    """Apply all operations; return the result and (path, path in `operations`) of each field written.

    Containers of `data` that `copies` owns are changed in place, and all others are copied first. Raises
    PatchFailedError with the path of the first operation that is malformed or does not apply.
    """
    result: Any = data
    made, own = 0, copies or Copies()
    written: list[tuple[FieldPath, Path]] = []
    for operation in [_read(i, raw) for i, raw in enumerate(operations)]:
        try:
            result, at, values = _apply(result, operation, own)
        except _MissingError as missing:
            raise PatchFailedError(str(missing), (operation.index, "path")) from None
        made += values
        if made > _MOST_VALUES:
            raise PatchFailedError("the operations would make the document too large", (operation.index,))
        if at is not None:
            place: Path = (operation.index, "value") if operation.name in _WITH_VALUE else (operation.index,)
            written.append((stable_path(at, result), place))
    if not isinstance(result, dict):
        raise PatchFailedError("the operations remove the whole object", (0,))
    return result, written


def _read(index: int, raw: Any) -> _Operation:
    if not isinstance(raw, Mapping):
        raise PatchFailedError("an operation needs op and path, and value where op is add, replace or test", (index,))
    name = raw.get("op")
    if name not in _OPERATIONS:
        raise PatchFailedError(f"op {name!r} is not supported; use one of {', '.join(_OPERATIONS)}", (index, "op"))
    needed = ("path", *(("value",) if name in _WITH_VALUE else ()), *(("from",) if name in _WITH_FROM else ()))
    for field in needed:
        if field not in raw:
            raise PatchFailedError(f"{name} needs {field!r}", (index,))
    source = _pointer(raw["from"], (index, "from")) if name in _WITH_FROM else ()
    return _Operation(index, name, _pointer(raw["path"], (index, "path")), raw.get("value"), source)


def _pointer(text: Any, place: Path) -> tuple[str, ...]:
    if text == "":
        return ()
    if not isinstance(text, str) or not text.startswith("/"):
        raise PatchFailedError(f"{text!r} is not a valid JSON Pointer; write it like /spec/trainer/env/0", place)
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def _apply(data: Any, operation: _Operation, copies: Copies) -> tuple[Any, Path | None, int]:
    """Apply one operation; return the data, the path written (if any), and the number of values added."""
    if operation.name == "test":
        if _get(data, operation.path) != operation.value:
            raise _MissingError(f"the value at {_format_pointer(operation.path)} is not the value that `test` expects")
        return data, None, 0
    if operation.name == "remove":
        return _edit(data, operation.path, _remove, copies), None, 0
    value = _get(data, operation.source) if operation.source else operation.value
    size, height = _size_limit(value)
    if len(operation.path) + height > _DEEPEST:
        raise _MissingError(f"{_format_pointer(operation.path)} would nest the document too deeply")
    if operation.name == "replace":
        _get(data, operation.path)
    elif operation.name == "copy":
        if size > _MOST_COPIED:
            raise _MissingError(
                f"more than {_MOST_COPIED:,} values at {_format_pointer(operation.source)} are too many to copy"
            )
        value = _copy(value)
    elif operation.name == "move":
        data = _edit(data, operation.source, _remove, copies)
    return *_write(data, operation.path, value, copies, adding=operation.name != "replace"), size


def _write(data: Any, path: tuple[str, ...], value: Any, copies: Copies, *, adding: bool) -> tuple[Any, Path]:
    if not path:
        return value, ()
    where: list[str | int] = []
    parent = data
    for step in path:
        where.append(_step(parent, step, path, adding))
        parent = parent[where[-1]] if _has(parent, where[-1]) else None

    def put(container: Any, step: str | int) -> None:
        if isinstance(step, int) and adding:
            container.insert(step, value)
        else:
            container[step] = value

    return _edit(data, path, put, copies), tuple(where)


def _edit(data: Any, path: tuple[str, ...], change: Callable[[Any, str | int], None], copies: Copies) -> Any:
    """Apply `change` to the parent container of `path`, copying shared containers on the way."""
    if not path:
        raise _MissingError("an operation cannot remove the whole document; use a patch with `$patch: delete`")
    step = _step(data, path[0], path, adding=True)
    own = copies.of(data)
    if len(path) == 1:
        change(own, step)
        return own
    if not _has(data, step):
        raise _MissingError(f"{_format_pointer(path)} does not exist: there is nothing at {_format_pointer(path[:1])}")
    own[step] = _edit(own[step], path[1:], change, copies)
    return own


def _remove(container: Any, step: str | int) -> None:
    if not _has(container, step):
        raise _MissingError(f"there is no {step!r} to remove")
    del container[step]


def _copy(value: Any) -> Any:
    """Return a deep copy, so that later changes to the original do not affect it."""
    if isinstance(value, Mapping):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _get(data: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        at = _step(data, step, path, adding=False)
        if not _has(data, at):
            raise _MissingError(f"there is nothing at {_format_pointer(path)}")
        data = data[at]
    return data


def _step(container: Any, step: str, path: tuple[str, ...], adding: bool) -> str | int:
    if isinstance(container, Mapping):
        return step
    if not isinstance(container, list):
        raise _MissingError(
            f"there is nothing at {_format_pointer(path)}: {step!r} goes into a value that is neither a mapping nor a list"
        )
    if step == _END:
        return len(container)
    if not step.isdecimal() or not step.isascii() or (step != "0" and step.startswith("0")):
        raise _MissingError(f"{step!r} in {_format_pointer(path)} is not a valid list index")
    if int(step) > len(container) - (not adding):
        raise _MissingError(f"the list in {_format_pointer(path)} has only {len(container)} items")
    return int(step)


def _size_limit(value: Any) -> tuple[int, int]:
    """Return the number of values in `value` (shared ones count each time) and its depth, up to the limits."""
    level, size, height = [value], 0, 0
    while level and height <= _DEEPEST and size <= _MOST_VALUES:
        inner = [
            item.values() if isinstance(item, Mapping) else item for item in level if isinstance(item, Mapping | list)
        ]
        size += sum(map(len, inner))
        height += bool(inner)
        level = [child for children in inner for child in children if isinstance(child, Mapping | list)]
    return size, height


def _has(container: Any, step: str | int) -> bool:
    if isinstance(step, str):
        return isinstance(container, Mapping) and step in container
    return isinstance(container, list) and step < len(container)


def _format_pointer(path: tuple[str, ...]) -> str:
    return "/" + "/".join(path)
