"""The situation of a step: the documents, the job and its Info, and how a reference into them becomes an input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from trainc.api.field_path import FieldPath, Item, at, exists, named
from trainc.diagnostics import Path
from trainc.explain.model import Input, InputDocument, Origin
from trainc.ir.info import Info
from trainc.ir.podset import PodSet
from trainc.ir.trainjob import TrainJob
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class InTrainJob:
    """A field of the TrainJob."""

    path: Path


@dataclass(frozen=True, slots=True)
class InRuntime:
    """A field of the runtime's document."""

    path: Path


@dataclass(frozen=True, slots=True)
class InJobSet:
    """A field of the JobSet as it is at the time: stands for whatever that was taken from."""

    path: FieldPath


@dataclass(frozen=True, slots=True)
class InTemplate:
    """A field of the JobSet as the runtime and its patches had it, whatever the TrainJob put in its place."""

    path: FieldPath


@dataclass(frozen=True, slots=True)
class Because:
    """No document says it: the rule that decides instead."""

    rule: str


Ref: TypeAlias = InTrainJob | InRuntime | InJobSet | InTemplate | Because


@dataclass(frozen=True, slots=True)
class Situation:
    """What a step had before it, and `path` and `value` of the leaf that it set."""

    trainjob: InputDocument
    runtime: InputDocument
    job: TrainJob
    info: Info
    origin_of: Callable[[FieldPath], Origin | None]
    template_origin_of: Callable[[FieldPath], Origin | None]
    path: FieldPath = ()
    value: object = None

    @property
    def pod_set(self) -> PodSet | None:
        """The pod set of the replicated job that the leaf lies in."""
        inside = len(self.path) > 2 and self.path[1] == "replicatedJobs"
        return self.info.pod_set(str(self.path[2])) if inside else None

    def inputs(self, refs: Iterable[Ref]) -> tuple[Input, ...]:
        """The references as inputs, without repetitions."""
        found: dict[tuple[str, Path, str], Input] = {}
        for ref in refs:
            for given in self._resolved(ref):
                found.setdefault((given.object, given.index, given.rule), given)
        return tuple(found.values())

    def _resolved(self, ref: Ref) -> tuple[Input, ...]:
        if isinstance(ref, Because):
            return (Input("", (), (), None, rule=ref.rule),)
        if isinstance(ref, InJobSet | InTemplate):
            origin = self.origin_of(ref.path) if isinstance(ref, InJobSet) else self.template_origin_of(ref.path)
            if origin is None or origin.inputs:
                return origin.inputs if origin else ()
            return (Input("JobSet", ref.path, (), origin.value, rule=origin.rule),)
        document = self.trainjob if isinstance(ref, InTrainJob) else self.runtime
        return (input_of(document, ref.path),)


def input_of(document: InputDocument, index: Path) -> Input:
    """A field of a document as an input; the default's rule where the document as read does not have it."""
    written = document.written(index)
    if exists(document.raw, written):
        path, value = named(document.raw, written), at(document.raw, written)
        return Input(document.label, path, written, value, document.locate(written))
    if index == ("metadata", "namespace"):
        return Input("", (), (), at(document.data, index), rule="--namespace, for a TrainJob that names none")
    return Input("", (), (), at(document.data, index), rule=default_rule(document, index))


def default_rule(document: InputDocument, index: Path) -> str:
    """What an API default is called: the kind and the field, whichever item of a list it is in."""
    return f"default of {document.label.partition(' ')[0]} {schema_path(index)}"


def schema_path(path: FieldPath) -> str:
    """A path with every list item as `[]`."""
    return "".join("[]" if isinstance(s, int | Item) else f".{s}" for s in path).removeprefix(".")


def jobset_path(pod_set: PodSet, container: str, *rest: str | int) -> FieldPath:
    """The path in the JobSet of a field of a container."""
    job = ("spec", "replicatedJobs", Item(pod_set.name), "template", "spec", "template", "spec")
    return (*job, "containers", Item(container), *rest)
