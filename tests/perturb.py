"""Other values for a field of a document, so that a test can see what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Path = tuple[str | int, ...]


def others(path: Path, value: Any) -> Iterator[Any]:
    """Values that the field may also have, the likeliest to make a difference first. None drops the field."""
    last = path[-1]
    if isinstance(value, list):
        yield [*value, "more"]
        yield [*value, "model.lora_attn_modules=['q_proj']"]
        yield []
    elif isinstance(value, dict):
        yield {"medium": "Memory"}
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        # The greatest of several amounts may count, as it does for init containers.
        yield from (other for other in (value + 2, 1, 2, 3, 0, 5000) if other != value)
    elif isinstance(value, float):
        yield value + 1
    elif last == "divisor" or "resources" in path or "resourcesPerNode" in path or last in ("cpu", "memory"):
        yield from (other for other in ("7", "3", "1", "0", "5Gi", "5000Gi", "1000") if other != value)
    elif last == "name" and path[0] == "metadata":
        yield from ("other", value + "x")
    else:
        yield from _texts(last, value)
    yield None


def _texts(last: str | int, value: str) -> Iterator[str | int]:
    words = {
        "startupPolicyOrder": ("InOrder", "AnyOrder"),
        "mpiImplementation": ("Intel", "MPICH", "OpenMPI"),
        "mode": ("hard", "soft"),
        "numProcPerNode": ("cpu", "gpu", "auto", "3"),
        "restartPolicy": ("Never", "OnFailure"),
        "status": ("Ready", "Complete"),
        "operator": ("All", "Any"),
        "protocol": ("UDP", "TCP"),
    }
    if last == "numProcPerNode":
        yield 1
    yield from (word for word in words.get(str(last), ()) if word != value)
    if value.startswith("torchtune-"):
        yield from ("torchtune-llama3.2-7b", "torchtune-llama3.2-1b", "torchtune-llama3.2-3b", "torchtune-qwen2.5-1.5b")
        return
    yield from (f"{value}x", f"x{value}", "other")
    yield value.replace("=True", "=False") if "=True" in value else f"{value}=True"
    yield ""


def changed(document: Json, path: Path, value: Any) -> Json:
    """A copy with another value at `path`; None drops it."""
    copy: Json = _changed(document, path, value)
    return copy


def _changed(tree: Any, path: Path, value: Any) -> Any:
    first, *rest = path
    if isinstance(tree, list):
        items = list(tree)
        if not rest and value is None:
            del items[int(first)]
        else:
            items[int(first)] = _changed(items[int(first)], tuple(rest), value) if rest else value
        return items
    if not rest:
        return {**{k: v for k, v in tree.items() if k != first}, **({} if value is None else {first: value})}
    return {**tree, first: _changed(tree[first], tuple(rest), value)}


def renamed(tree: Any, old: str, new: str) -> Any:
    """A copy in which every text that is `old` is `new`."""
    if isinstance(tree, dict):
        return {key: renamed(value, old, new) for key, value in tree.items()}
    if isinstance(tree, list):
        return [renamed(item, old, new) for item in tree]
    return new if tree == old else tree
