"""Fragments: parts of a runtime or TrainJob without the rest, as documentation shows them, completed to a document.

A fragment has neither apiVersion nor kind. One of its keys identifies its parent: the fragment's place is the path at
which that key belongs, without the levels that the fragment itself includes. Everything else that the document requires
is filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainc.api import names
from trainc.api.documents import Json
from trainc.api.releases import RELEASES
from trainc.api.schema import known_in
from trainc.diagnostics import Diagnostic, Path, Source, format_path
from trainc.reading.document import Document
from trainc.startup.records import dataclass, replace

_RUNTIME, _TRAINJOB = "ClusterTrainingRuntime", "TrainJob"
_SPEC: Path = ("spec",)
_JOBSET: Path = ("spec", "template", "spec")
_JOB: Path = (*_JOBSET, "replicatedJobs", 0)
_POD: Path = (*_JOB, "template", "spec", "template", "spec")
_LABELS: Path = ("metadata", "labels")

# Keys that only Trainer has: one of them identifies a fragment, whatever its other keys are.
_OWN: tuple[tuple[str, str, Path], ...] = (
    ("mlPolicy", _RUNTIME, _SPEC),
    ("podGroupPolicy", _RUNTIME, _SPEC),
    ("replicatedJobs", _RUNTIME, _JOBSET),
    *((field, _TRAINJOB, _SPEC) for field in ("runtimeRef", "runtimePatches", "podTemplateOverrides")),
)
# Keys that other kinds of files have too: they identify a fragment only if all its other keys fit as well.
_SHARED: tuple[tuple[str, str, Path], ...] = (
    ("numNodes", _RUNTIME, ("spec", "mlPolicy")),
    ("numNodes", _TRAINJOB, ("spec", "trainer")),
    ("resourcesPerNode", _TRAINJOB, ("spec", "trainer")),
    ("coscheduling", _RUNTIME, ("spec", "podGroupPolicy")),
    ("volcano", _RUNTIME, ("spec", "podGroupPolicy")),
    *((field, _RUNTIME, _JOBSET) for field in ("successPolicy", "failurePolicy", "startupPolicy")),
    *((field, _RUNTIME, _POD[:-2]) for field in ("parallelism", "completions", "backoffLimit")),
    *((field, _RUNTIME, _POD) for field in ("containers", "initContainers")),
)
# Levels of a document under which the identifying key may be.
_LEVELS = ("spec", "template", "trainer")

# What is filled in around a fragment so that it can be validated.
_AROUND: Mapping[str, Json] = {
    _RUNTIME: {"metadata": {"name": "fragment"}, "spec": {"template": {"spec": {}}}},
    _TRAINJOB: {"metadata": {"name": "fragment"}, "spec": {"runtimeRef": {"name": "fragment"}}},
}
_AROUND_JOB: Json = {
    "name": "node",
    "template": {"spec": {"template": {"spec": {"containers": [{"name": "node", "image": "example.com/image"}]}}}},
}


@dataclass(frozen=True, slots=True)
class Fragment:
    """A document that is the part at `path` of a document of `kind`."""

    document: Document
    kind: str
    path: Path

    @property
    def label(self) -> str:
        """The name in diagnostics, such as "part of a runtime's spec.mlPolicy"."""
        parent = "TrainJob" if self.kind == _TRAINJOB else "runtime"
        place = format_path(self.path).replace("[0]", "[]")
        return f"part of a {parent}'s {place}" if place else f"part of a {parent}"

    def in_place(self, api_version: str, kind: str) -> Document:
        """Return the fragment completed to a whole document of an API; fields that were filled in have no position."""
        inner, outer = self.path[len(_JOB) :], self.path[: len(_JOB)]
        around: Json = {"apiVersion": api_version, **_AROUND[self.kind], "kind": kind}
        if outer == _JOB:
            job = _with(_AROUND_JOB, inner, self.document.data)
            whole = _with(around, _JOB[:-1], [job])
        else:
            whole = _with(around, self.path, self.document.data)
        return Document(whole, self.document.file, lambda path: self._locate(path, whole))

    def own(self, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the diagnostics of the whole document that are about the fragment, with its label and its own paths."""
        above = format_path(self.path)
        return [
            replace(d, object=self.label, path=d.path.removeprefix(above).removeprefix("."))
            for d in found
            if d.source is not None
        ]

    def _locate(self, path: Path, whole: Json) -> Source | None:
        own = path[len(self.path) :]
        held = _held(self.document.data, own)
        if path[: len(self.path)] != self.path or _held(whole, path) > len(self.path) + held:
            return None
        return self.document.locate(own)


def fragment_of(document: Document) -> Fragment | None:
    """Return a document as a fragment, or None if it has apiVersion or kind, or is not part of a Trainer document."""
    data = document.data
    if not data or "apiVersion" in data or "kind" in data:
        return None
    if all("/" in key for key in data) and any(key.startswith(f"{names.TRAINER_GROUP}/") for key in data):
        return Fragment(document, _RUNTIME, _LABELS)
    for tells, known in ((_OWN, False), (_SHARED, True)):
        for above, level in _levels(data):
            for key, kind, place in tells:
                root = place[: len(place) - len(above)]
                fits = key in level and (*root, *above) == place
                if fits and (not known or all(_known(kind, (*root, name)) for name in data)):
                    return Fragment(document, kind, root)
    return None


def _levels(data: Json) -> Iterator[tuple[Path, Json]]:
    """Yield the document and the mappings inside it that may have an identifying key, outermost first."""
    waiting: list[tuple[Path, Json]] = [((), data)]
    while waiting:
        path, level = waiting.pop(0)
        yield path, level
        waiting += [((*path, name), level[name]) for name in _LEVELS if isinstance(level.get(name), Mapping)]


def _known(kind: str, path: Path) -> bool:
    return any(known_in(kind, path, release) for release in RELEASES)


def _with(tree: Any, path: Path, own: Any) -> Any:
    """Return `tree` with `own` merged into it at `path`."""
    if path:
        return {**tree, path[0]: _with(tree.get(path[0], {}), path[1:], own)}
    if not isinstance(tree, Mapping) or not isinstance(own, Mapping):
        return own
    return {**tree, **{key: _with(tree[key], (), value) if key in tree else value for key, value in own.items()}}


def _held(value: Any, path: Path) -> int:
    """Return how many steps of `path` exist in `value`."""
    for count, step in enumerate(path):
        there = (isinstance(value, Mapping) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and step < len(value)
        )
        if not there:
            return count
        value = value[step]
    return len(path)
