"""Fragments: a piece of a runtime or TrainJob that stands alone, as documentation shows them, put in its parent's place.

A fragment has neither apiVersion nor kind. What it is a piece of is told by one of its keys: where that key belongs,
less the levels that the fragment brings itself, is its place. What the parent needs besides is supplied.
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

# Trainer's own words: one of them tells, whatever stands beside it.
_OWN: tuple[tuple[str, str, Path], ...] = (
    ("mlPolicy", _RUNTIME, _SPEC),
    ("podGroupPolicy", _RUNTIME, _SPEC),
    ("replicatedJobs", _RUNTIME, _JOBSET),
    *((field, _TRAINJOB, _SPEC) for field in ("runtimeRef", "runtimePatches", "podTemplateOverrides")),
)
# Words that other files have, too: they tell only where all others beside them fit.
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
# Levels of a document under which the telling key is looked for.
_LEVELS = ("spec", "template", "trainer")

# What a piece needs around it to be judged.
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
    """A document that is a piece of another: what stands at `path` of a document of `kind`."""

    document: Document
    kind: str
    path: Path

    @property
    def label(self) -> str:
        """What diagnostics call it: "part of a runtime's spec.mlPolicy"."""
        parent = "TrainJob" if self.kind == _TRAINJOB else "runtime"
        place = format_path(self.path).replace("[0]", "[]")
        return f"part of a {parent}'s {place}" if place else f"part of a {parent}"

    def in_place(self, api_version: str, kind: str) -> Document:
        """The whole document that the fragment is a piece of, as `kind` of an API; what was supplied has no position."""
        inner, outer = self.path[len(_JOB) :], self.path[: len(_JOB)]
        around: Json = {"apiVersion": api_version, **_AROUND[self.kind], "kind": kind}
        if outer == _JOB:
            job = _with(_AROUND_JOB, inner, self.document.data)
            whole = _with(around, _JOB[:-1], [job])
        else:
            whole = _with(around, self.path, self.document.data)
        return Document(whole, self.document.file, lambda path: self._locate(path, whole))

    def own(self, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Of what was found in the whole document, what is about the fragment: with its name and its own paths."""
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
    """The fragment that a document is; None for a document with apiVersion or kind, and for what is no piece of ours."""
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
    """The document and the mappings under the levels that lead to a telling key, the outermost first."""
    waiting: list[tuple[Path, Json]] = [((), data)]
    while waiting:
        path, level = waiting.pop(0)
        yield path, level
        waiting += [((*path, name), level[name]) for name in _LEVELS if isinstance(level.get(name), Mapping)]


def _known(kind: str, path: Path) -> bool:
    return any(known_in(kind, path, release) for release in RELEASES)


def _with(tree: Any, path: Path, own: Any) -> Any:
    """`tree` with `own` at `path`, over what is there."""
    if path:
        return {**tree, path[0]: _with(tree.get(path[0], {}), path[1:], own)}
    if not isinstance(tree, Mapping) or not isinstance(own, Mapping):
        return own
    return {**tree, **{key: _with(tree[key], (), value) if key in tree else value for key, value in own.items()}}


def _held(value: Any, path: Path) -> int:
    """How many steps of `path` exist in `value`."""
    for count, step in enumerate(path):
        there = (isinstance(value, Mapping) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and step < len(value)
        )
        if not there:
            return count
        value = value[step]
    return len(path)
