"""Every leaf field of an API's schema, two values for each, and documents that have it set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trainc.schema.shapes import ROOTS, ListOf, MapOf, Scalar, Shape, Struct, definition, keywords

Json = dict[str, Any]
Steps = tuple[str | int, ...]
FREE_KEY = "example.com/key"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field without fields of its own: its path with 0 for the items of lists, and its "group.Definition.field"."""

    path: Steps
    key: str
    type: str

    def __str__(self) -> str:
        return ".".join(map(str, self.path))


def leaves(kind: str, release: str) -> Iterator[Leaf]:
    """Every leaf of `kind` in `release`, empty structs included; a struct inside itself is not entered again."""
    yield from _leaves(Struct(ROOTS[kind]), release, (), kind, ())


def _leaves(shape: Shape, release: str, path: Steps, key: str, around: tuple[str, ...]) -> Iterator[Leaf]:
    match shape:
        case Scalar(type_):
            yield Leaf(path, key, type_)
        case ListOf(item):
            yield from _leaves(item, release, (*path, 0), f"{key}[]", around)
        case MapOf(value):
            yield from _leaves(value, release, (*path, _free_key(key)), f"{key}{{}}", around)
        case Struct(name):
            fields = definition(release, name).fields
            if not fields:
                yield Leaf(path, key, "struct")
            for field, inner in fields.items() if name not in around else ():
                yield from _leaves(inner, release, (*path, field), f"{name}.{field}", (*around, name))


def _free_key(key: str) -> str:
    return "cpu" if key.endswith(("Requirements.limits", "Requirements.requests")) else FREE_KEY


def values(leaf: Leaf, release: str) -> tuple[Any, Any]:
    """Two valid values, as different as they may be."""
    for name in (leaf.key, leaf.key.rpartition(".")[2]):
        if name in _VALUES:
            return _VALUES[name]
    if allowed := keywords(release).get(leaf.key, {}).get("enum"):
        return allowed[0], allowed[-1]
    return _BY_TYPE[leaf.type]


def edges(leaf: Leaf) -> tuple[int, ...]:
    """Numbers that are likely to be clamped."""
    return (0, -1) if leaf.path[0] == "spec" and leaf.type in ("integer", "int-or-string") else ()


def with_value(document: Json, leaf: Leaf, value: Any, release: str, kind: str) -> Json:
    """A copy of `document` with `value` at the leaf, and whatever the structs on the way to it require."""
    copy: Json = _with(document, Struct(ROOTS[kind]), leaf.path, value, release)
    return copy


def _with(tree: Any, shape: Shape, path: Steps, value: Any, release: str) -> Any:
    if not path:
        return value
    first, *rest = path
    match shape:
        case ListOf(item):
            items = list(tree or ())
            return [_with(items[0] if items else None, item, tuple(rest), value, release), *items[1:]]
        case MapOf(inner):
            entries = tree or {}
            return {**entries, first: _with(entries.get(str(first)), inner, tuple(rest), value, release)}
        case Struct(name):
            fields = tree if tree is not None else _required(name, str(first), release)
            inner = definition(release, name).fields[str(first)]
            return {**fields, first: _with(fields.get(str(first)), inner, tuple(rest), value, release)}
    raise AssertionError(path)


def _required(name: str, field: str, release: str) -> Json:
    """The fields that a new struct needs beside `field`."""
    known = definition(release, name)
    needed = {needed: _example(f"{name}.{needed}", known.fields[needed], release) for needed in known.required}
    return {**needed, **_COMPANIONS.get(name, {}), **_COMPANIONS.get(f"{name}.{field}", {})}


def _example(key: str, shape: Shape, release: str) -> Any:
    match shape:
        case Scalar(type_):
            return values(Leaf((), key, type_), release)[0]
        case ListOf(item):
            return [_example(f"{key}[]", item, release)]
        case MapOf(inner):
            return {FREE_KEY: _example(f"{key}{{}}", inner, release)}
        case Struct(name):
            return _required(name, "", release)
    raise AssertionError(key)


_BY_TYPE: dict[str, tuple[Any, Any]] = {
    "string": ("one", "two"),
    "integer": (3, 4),
    "boolean": (True, False),
    "time": ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    "quantity": ("3", "4"),
    "int-or-string": (3, 4),
    "any": ({"one": 1}, {"two": 2}),
    "struct": ({}, None),
}
# By "group.Definition.field" or by the field's name.
_VALUES: dict[str, tuple[Any, Any]] = {
    "trainer.RuntimePatch.manager": ("example.com/one", "example.com/two"),
    "trainer.ReplicatedJobPatch.name": ("node", "dataset-initializer"),
    "trainer.PodTemplateOverrideTargetJob.name": ("node", "dataset-initializer"),
    "trainer.PodSpecOverrideTargetJob.name": ("node", "dataset-initializer"),
    "trainer.ContainerPatch.name": ("other", "node"),
    "trainer.ContainerOverride.name": ("other", "node"),
    "trainer.DatasetInitializer.storageUri": ("hf://one/data", "hf://two/data"),
    "trainer.ModelInitializer.storageUri": ("hf://one/model", "hf://two/model"),
    "trainer.EnvInjectionTarget.jobName": ("node", "dataset-initializer"),
    "trainer.EnvInjectionTarget.containerNames[]": ("other", "more"),
    "jobset.Coordinator.replicatedJob": ("node", "dataset-initializer"),
    "jobset.Coordinator.jobIndex": (0, 1),
    "jobset.Coordinator.podIndex": (0, 1),
    "jobset.DependsOn.name": ("node", "dataset-initializer"),
    "jobset.FailurePolicy.restartStrategy": ("Recreate", "BlockingRecreate"),
    "jobset.FailurePolicyRule.action": ("FailJobSet", "RestartJobSet"),
    "jobset.FailurePolicyRule.onJobFailureReasons[]": ("BackoffLimitExceeded", "DeadlineExceeded"),
    "targetReplicatedJobs[]": ("node", "dataset-initializer"),
    "jobset.JobSetSpec.suspend": (True, True),
    "jobset.JobSetSpec.managedBy": ("example.com/one", "example.com/two"),
    "restartPolicy": ("Never", "OnFailure"),
}
_COMPANIONS: dict[str, Json] = {
    "core.Container": {"image": "example.com/one:1"},
}
