"""What is known about the objects of gang schedulers: a PodGroup's size, its pods, and its immutable fields."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.documents import Manifest, value_at
from trainc.api.field_path import FieldPath
from trainc.explain.query import matches, parse
from trainc.plugins.plugin import Gang
from trainc.plugins.registry import PLUGINS

_GANGS: tuple[Gang, ...] = tuple(plugin.gang for plugin in PLUGINS if plugin.gang is not None)


def _gang_of(manifest: Manifest) -> Gang | None:
    group = manifest["apiVersion"].partition("/")[0]
    return next((gang for gang in _GANGS if gang.api_group == group), None)


def group_size(group: Manifest) -> int | None:
    """The number of pods that a PodGroup waits for; None if it is not set or the kind is unknown."""
    gang = _gang_of(group)
    size = None if gang is None else value_at(group, gang.size)
    return size if isinstance(size, int) else None


def is_size(path: FieldPath) -> bool:
    """Whether a PodGroup field is the number of pods that it waits for."""
    return path in {gang.size for gang in _GANGS}


def groups_of(pod_template: Manifest) -> Iterator[str]:
    """The names of the groups that the pods of a template join."""
    return (str(name) for gang in _GANGS if (name := value_at(pod_template, gang.joins)))


def is_judged(manifest: Manifest) -> bool:
    """Whether the immutable fields of the object's kind are known."""
    gang = _gang_of(manifest)
    return gang is not None and manifest["kind"] in gang.changes


def is_frozen(manifest: Manifest, path: FieldPath) -> bool:
    """Whether the API server refuses an update of this field."""
    gang = _gang_of(manifest)
    if gang is None or path[0] == "metadata":
        return False
    return not any(matches(parse(expression), path) for expression in gang.changes.get(manifest["kind"], ()))
