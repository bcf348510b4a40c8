"""Find leaves that a step writes with an unchanged value: change the value before the step and see if it is restored.

Comparing the object before and after a step shows only what changed. A step that rewrites the current value changes
nothing, yet it decides: with numNodes 1 in both the runtime and the TrainJob, the TrainJob's value is effective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainc.api.field_path import FieldPath, Leaf, Leaves, is_item_name, path_exists, value_at_index
from trainc.diagnostics import Path
from trainc.ir.info import Info
from trainc.ir.podset import Container, PodSet
from trainc.startup.records import replace

_CONTAINER_FIELDS = ("image", "command", "args", "env", "resources", "volumeMounts", "ports")
_POD_SPEC: Path = ("template", "spec", "template", "spec")
_POD_METADATA: Path = ("template", "spec", "template", "metadata")


def candidates(before: Leaves, after: Leaves) -> Iterator[Leaf]:
    """Leaves that a step may have rewritten with the same value: those that lowering, passes and building can reach."""
    for path, leaf in after.items():
        if (
            path in before
            and before[path].value == leaf.value
            and _reachable(path)
            and different_value(leaf) is not None
        ):
            yield leaf


def different_value(leaf: Leaf) -> Any:
    """A different, still valid value of the leaf's type; None if there is none."""
    if isinstance(leaf.value, bool):
        return not leaf.value
    if isinstance(leaf.value, int):
        return leaf.value + 1
    if isinstance(leaf.value, str):
        if "resources" in leaf.path:
            return "2" if leaf.value == "1" else "1"
        return leaf.value + "~"
    return None


def _reachable(path: FieldPath) -> bool:
    if path[:2] != ("spec", "replicatedJobs") or len(path) < 4:
        return False
    inside = path[3:]
    if inside == ("replicas",) or inside in (("template", "spec", "parallelism"), ("template", "spec", "completions")):
        return True
    if inside[:4] == _POD_METADATA:
        return not str(path[-1]).startswith("trainer.kubeflow.org/")
    if inside[:4] != _POD_SPEC or len(inside) < 7 or is_item_name(path):
        return False
    return inside[4] == "volumes" or (inside[4] in ("containers", "initContainers") and inside[6] in _CONTAINER_FIELDS)


def find_overwritten(
    found: Iterator[Leaf], untouched: Callable[[Leaf, Any], Any], stepped: Callable[[Leaf, Any], Any]
) -> list[FieldPath]:
    """The leaves that a step writes regardless of their previous value.

    `untouched(leaf, value)` and `stepped(leaf, value)` return the JobSet with `value` at the leaf, without and with the
    step applied. If the value is not visible without the step, a later step overrides it, and the leaf is skipped.
    """
    return [
        leaf.path
        for leaf in found
        for value in (different_value(leaf),)
        if value_at_index(untouched(leaf, value), leaf.index) == value
        and value_at_index(stepped(leaf, value), leaf.index) != value
    ]


def replace_value(tree: Any, index: Path, value: Any) -> Any:
    """A copy of `tree` with another value at a path of indexes; unchanged parts are shared."""
    if not index:
        return value
    if isinstance(tree, Mapping):
        return {**tree, index[0]: replace_value(tree[index[0]], index[1:], value)}
    return [replace_value(item, index[1:], value) if i == index[0] else item for i, item in enumerate(tree)]


def with_value(info: Info, leaf: Leaf, value: Any) -> Info:
    """An Info whose JobSet has `value` at a leaf, in whichever part of the Info holds that leaf."""
    _, _, position, *rest = leaf.index
    if path_exists(info.template, leaf.index[1:]):
        info = replace(info, template=replace_value(info.template, leaf.index[1:], value))
    pod_sets = [_pod_set(p, tuple(rest), value) if i == position else p for i, p in enumerate(info.pod_sets)]
    return replace(info, pod_sets=tuple(pod_sets))


def _pod_set(pod_set: PodSet, index: Path, value: Any) -> PodSet:
    if index in (("template", "spec", "parallelism"), ("template", "spec", "completions")):
        return pod_set.with_count(value)
    if index[:4] == _POD_METADATA:
        key, labels = str(index[5]), index[4] == "labels"
        known = pod_set.labels if labels else pod_set.annotations
        added = {**known, key: value} if key in known else known
        return replace(pod_set, labels=added) if labels else replace(pod_set, annotations=added)
    if index[:4] != _POD_SPEC:
        return pod_set
    inside = index[4:]
    if inside[0] == "volumes":
        return replace(pod_set, volumes=tuple(replace_value(list(pod_set.volumes), inside[1:], value)))
    initial = inside[0] == "initContainers"
    containers = tuple(
        Container(replace_value(c.fields, inside[2:], value))
        if i == inside[1] and path_exists(c.fields, inside[2:])
        else c
        for i, c in enumerate(pod_set.init_containers if initial else pod_set.containers)
    )
    return replace(pod_set, init_containers=containers) if initial else replace(pod_set, containers=containers)
