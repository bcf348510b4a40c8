"""The names in documents: the outline of a file, the fields that a schema has, and where each name is defined and used.

Runtimes are named by TrainJobs; replicated jobs, containers and volumes of a runtime by itself and by the patches of
the TrainJobs that use it; files and folders by overlays and trainc.yaml.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias

from trainc.api.documents import Document, catalog, files
from trainc.api.editing import edits
from trainc.api.findings import Path
from trainc.api.kube import POD_SPEC, Json, documents, mapping, names, releases, value_at
from trainc.api.records import dataclass
from trainc.features.authoring.lsp.snapshot import Schema, Snapshot

# The outline of a file: its documents, and in each what has a name or holds one that has.


Role: TypeAlias = Literal["document", "field", "item"]
# What nobody looks for in an outline.
_LEFT_OUT = ("apiVersion", "kind", "name", "namespace")


@dataclass(frozen=True, slots=True)
class OutlineSymbol:
    """A document, a field or a named item; `name_range` is what to select of it."""

    name: str
    detail: str
    role: Role
    range: edits.Range
    name_range: edits.Range
    children: Sequence[OutlineSymbol] = ()


_MOST_FIELDS = 10_000
# The fields in each mapping or list, by its path.
_Inside: TypeAlias = dict[Path, list[edits.Field]]


def symbols(text: str) -> list[OutlineSymbol]:
    """The outline of a text; documents that cannot be read as YAML are left out, and so is what nobody looks through."""
    outline: list[OutlineSymbol] = []
    room = _MOST_FIELDS
    for tree in edits.trees(text):
        fields = {field.path: field for field in islice(tree.fields(), room + 1)}
        outline += _of_document(tree, fields)
        room -= len(fields)
        if room < 0:
            end = edits.Range(tree.extent.end, tree.extent.end)
            outline.append(OutlineSymbol("...", f"the first {_MOST_FIELDS:,} fields are shown", "document", end, end))
            break
    return outline


def _of_document(tree: edits.Tree, fields: Mapping[Path, edits.Field]) -> Iterator[OutlineSymbol]:
    kind, name = (_text(fields, path) for path in (("kind",), ("metadata", "name")))
    inside: _Inside = {}
    for field in fields.values():
        inside.setdefault(field.path[:-1], []).append(field)
    below = _below(inside, ())
    for first in inside.get((), ())[:1]:
        yield OutlineSymbol(name or kind or "document", kind if name else "", "document", tree.extent, first.key, below)


def _below(inside: _Inside, path: Path) -> list[OutlineSymbol]:
    return [symbol for field in inside.get(path, ()) for symbol in _symbols(inside, field)]


def _symbols(inside: _Inside, field: edits.Field) -> Iterator[OutlineSymbol]:
    step = field.path[-1]
    if isinstance(step, int):
        key = documents.ITEM_KEYS.get(str(field.path[-2]), "name") if len(field.path) > 1 else "name"
        name_field = next((inner for inner in inside.get(field.path, ()) if inner.path[-1] == key and inner.text), None)
        if name_field is not None:
            yield OutlineSymbol(name_field.text, "", "item", field.extent, name_field.value, _below(inside, field.path))
    elif step not in _LEFT_OUT:
        detail = field.text.partition("\n")[0][:60] if field.kind == "scalar" else ""
        yield OutlineSymbol(str(step), detail, "field", field.extent, field.key, _below(inside, field.path))


def _text(fields: Mapping[Path, edits.Field], path: Path) -> str:
    field = fields.get(path)
    return field.text if field is not None and field.kind == "scalar" else ""


# What a JSON Schema says of the field at a path: which fields there are below it, and what may stand there.


OVERLAY, SETTINGS = "Overlay", "trainc.yaml"
_NOUNS = {"object": "mapping", "array": "list", "integer": "whole number", "boolean": "true or false"}


def root_of(snapshot: Snapshot, document: Mapping[str, Any]) -> Schema | None:
    """The schema of a document of the file, by its kind; None for kinds that trainc has none of."""
    if snapshot.file.rpartition("/")[2] == SETTINGS and "kind" not in document:
        return snapshot.schema(SETTINGS)
    return snapshot.schema(str(document.get("kind")))


def schema_at(root: Schema, path: Path) -> Schema | None:
    """The schema of what stands at `path`; None where nothing may."""
    here = _resolved(root, root)
    for step in path:
        child = _child(here, step)
        if child is None:
            return None
        here = _resolved(root, child)
    return here


def fields_of(schema: Schema, root: Schema) -> dict[str, Schema]:
    """The fields that a mapping may have, by name."""
    fields = dict(schema.get("properties", {}))
    for choice in _choices(schema):
        fields |= {
            name: field for name, field in fields_of(_resolved(root, choice), root).items() if name not in fields
        }
    return {name: _resolved(root, field) if isinstance(field, Mapping) else {} for name, field in fields.items()}


def values_of(schema: Schema) -> Sequence[str]:
    """The values that there are to choose from, if the schema names them."""
    if schema.get("type") == "boolean":
        return ("true", "false")
    if "const" in schema:
        return (str(schema["const"]),)
    choices = schema.get("enum") or schema.get("examples") or ()
    return [str(value) for value in choices] or [v for choice in _choices(schema) for v in values_of(choice)]


def kind_of(schema: Schema) -> str:
    """The type in words: `list of mappings` is told as `list`, an amount of a resource as `quantity`."""
    if schema.get("format"):
        return str(schema["format"])
    if values := values_of(schema):
        return " | ".join(values)
    kinds = schema.get("type", ())
    return " or ".join(_NOUNS.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _child(schema: Schema, step: str | int) -> Schema | None:
    for candidate in (schema, *_choices(schema)):
        if isinstance(step, int):
            child = candidate.get("items")
        else:  # A key may be the author's own: a label, a resource, a code.
            patterns = candidate.get("patternProperties", {}).items()
            by_pattern = (inner for pattern, inner in patterns if re.search(pattern, step))
            child = candidate.get("properties", {}).get(step, next(by_pattern, candidate.get("additionalProperties")))
        if isinstance(child, Mapping):
            return child
    return None


def _choices(schema: Schema) -> Iterator[Schema]:
    for word in ("anyOf", "oneOf"):
        yield from (choice for choice in schema.get(word, ()) if isinstance(choice, Mapping))


def _resolved(root: Schema, schema: Schema) -> Schema:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    target: Any = root
    for step in reference.removeprefix("#/").split("/"):
        target = target[step]
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


# What is named, then whose it is: ("container", "ClusterTrainingRuntime", "", "torch", "node", "trainer").
Symbol: TypeAlias = tuple[str, ...]

RUNTIME, JOB, CONTAINER, VOLUME, TRAINJOB = "runtime", "replicated job", "container", "volume", "TrainJob"
# In paths, `*` is any entry of a list or mapping. Where a JobSet's spec names its jobs, given there or used.
_IN_JOBSET: tuple[tuple[Path, bool], ...] = (
    (("replicatedJobs", "*", "name"), True),
    (("replicatedJobs", "*", "dependsOn", "*", "name"), False),
    (("successPolicy", "targetReplicatedJobs", "*"), False),
    (("failurePolicy", "rules", "*", "targetReplicatedJobs", "*"), False),
    (("coordinator", "replicatedJob"), False),
)
_IN_POD: tuple[tuple[str, Path], ...] = (
    (VOLUME, ("volumes", "*", "name")),
    (CONTAINER, ("initContainers", "*", "name")),
    (CONTAINER, ("containers", "*", "name")),
    (VOLUME, ("initContainers", "*", "volumeMounts", "*", "name")),
    (VOLUME, ("containers", "*", "volumeMounts", "*", "name")),
)
_FILES_OF_OVERLAYS: tuple[Path, ...] = (("resources", "*"), ("runtimes", "*"), ("patches", "*", "path"))
_FILES_OF_SETTINGS = ("sources", "runtimes", "overlay", "policies", "output", "cluster")


@dataclass(frozen=True, slots=True)
class Mention:
    """A name at `path` of a document; `defines` where it is given rather than used."""

    symbol: Symbol
    document: Document
    path: Path
    defines: bool

    @property
    def name(self) -> str:
        """The name itself."""
        return self.symbol[-1]


def mentions(document: Document) -> Iterator[Mention]:
    """Every name that a document gives or uses."""
    data, kind = document.data, document.data.get("kind")
    name = value_at(data, ("metadata", "name"))
    if kind in names.RUNTIME_KINDS:
        scope = scope_of(data, kind, name)
        yield Mention((RUNTIME, *scope), document, ("metadata", "name"), defines=True)
        yield from _in_jobset(document, scope, ("spec", "template", "spec"))
    elif kind == "JobSet":
        yield from _in_jobset(document, scope_of(data, "JobSet", name), ("spec",))
    elif kind in ("TrainJob", "TrainingJob"):
        yield Mention((TRAINJOB, str(name)), document, ("metadata", "name"), defines=True)
        yield from _in_trainjob(document)
    elif kind == "Overlay":
        for path, target in _values_at(data, ("patches", "*", "target")):
            kind, name = (mapping(target).get(key) for key in ("kind", "name"))
            if name and kind == "TrainJob":
                yield Mention((TRAINJOB, str(name)), document, (*path, "name"), defines=False)
            elif name and kind in names.RUNTIME_KINDS:
                scope = scope_of({"metadata": target}, kind, name)
                yield Mention((RUNTIME, *scope), document, (*path, "name"), defines=False)


def scope_of(data: Json, kind: Any, name: Any) -> Symbol:
    """The runtime that a document calls so: its kind, its namespace if it has one, and its name."""
    namespace = "" if kind == "ClusterTrainingRuntime" else value_at(data, ("metadata", "namespace"))
    return str(kind), str(namespace or ""), str(name)


def runtime_scope(job: Json) -> Symbol:
    """The runtime that a TrainJob names."""
    reference = mapping(value_at(job, ("spec", "runtimeRef")))
    return scope_of(job, reference.get("kind") or "ClusterTrainingRuntime", reference.get("name"))


def _in_jobset(document: Document, scope: Symbol, base: Path) -> Iterator[Mention]:
    for path, defines in _IN_JOBSET:
        for name_path, name in _values_at(document.data, (*base, *path)):
            yield Mention((JOB, *scope, str(name)), document, name_path, defines)
    for name_path, name in _values_at(document.data, (*base, *_IN_JOBSET[0][0])):
        yield from _in_pod(document, (*scope, str(name)), (*name_path[:-1], *POD_SPEC), defines=True)


def _in_trainjob(document: Document) -> Iterator[Mention]:
    data, scope = document.data, runtime_scope(document.data)
    for path, _ in _values_at(data, ("spec", "runtimeRef", "name")):
        yield Mention((RUNTIME, *scope), document, path, defines=False)
    patched = ("runtimePatches", "*", "trainingRuntimeSpec", "template", "spec", "replicatedJobs", "*", "name")
    step_names = [(path, (*path[:-1], *POD_SPEC), name) for path, name in _values_at(data, ("spec", *patched))]
    for field, below in (("podTemplateOverrides", ("spec",)), ("podSpecOverrides", ())):
        targets = _values_at(data, ("spec", field, "*", "targetJobs", "*", "name"))
        step_names += [(path, (*path[:3], *below), name) for path, name in targets]
    for path, pod, name in step_names:
        yield Mention((JOB, *scope, str(name)), document, path, defines=False)
        yield from _in_pod(document, (*scope, str(name)), pod, defines=False)


def _in_pod(document: Document, job: Symbol, base: Path, *, defines: bool) -> Iterator[Mention]:
    for role, path in _IN_POD:
        for name_path, name in _values_at(document.data, (*base, *path)):
            gives = defines if role == CONTAINER else path[0] == "volumes"
            yield Mention((role, *job, str(name)), document, name_path, gives)


def mentioned(document: Document, path: Path) -> Mention | None:
    """The name that stands at a path of a document, if one does."""
    return next((mention for mention in mentions(document) if mention.path == path), None)


def definitions(snapshot: Snapshot, mention: Mention) -> list[Mention]:
    """Where a name is given: in the document itself, or in the runtimes of the workspace, or in trainc's catalog."""
    scope, here = mention.symbol[1:4], mention.document
    # A volume that a patch adds is known to that patch's TrainJob only.
    kinds = (*names.RUNTIME_KINDS, "JobSet")
    around = [d for d in snapshot.workspace if d.data.get("kind") in kinds or mention.symbol[0] == TRAINJOB]
    other_documents = [d for d in around if (d.file, d.data) != (here.file, here.data)]
    mentions_around = (other for document in (here, *other_documents) for other in mentions(document))
    defining = [other for other in mentions_around if other.defines and other.symbol == mention.symbol]
    if defining or scope[0] != "ClusterTrainingRuntime":
        return defining
    shipped = _shipped(snapshot, scope[2])
    candidates = mentions(shipped) if shipped else ()
    return [other for other in candidates if other.defines and other.symbol == mention.symbol]


def references(snapshot: Snapshot, mention: Mention) -> list[Mention]:
    """Everywhere that a name is used, in the whole workspace."""
    all_mentions = (other for document in snapshot.workspace for other in mentions(document))
    return [other for other in all_mentions if not other.defines and other.symbol == mention.symbol]


def runtime_of(snapshot: Snapshot, job: Json) -> Document | None:
    """The runtime that a TrainJob's document names, as it is written."""
    scope = runtime_scope(job)
    for document in snapshot.workspace:
        data = document.data
        if scope == scope_of(data, data.get("kind"), value_at(data, ("metadata", "name"))):
            return document
    return _shipped(snapshot, scope[2]) if scope[0] == "ClusterTrainingRuntime" else None


def _shipped(snapshot: Snapshot, name: str) -> Document | None:
    options = next((built.session.options for built in snapshot.built), None)
    answer = catalog.find(name, (options.release if options else None) or releases.NEWEST_RELEASE)
    return answer if isinstance(answer, Document) else None


def named_files(snapshot: Snapshot, document: Document) -> Iterator[tuple[Path, str]]:
    """The paths of files that an overlay or trainc.yaml names, each with where it is named; from `root`."""
    data, folder = document.data, os.path.dirname(document.file)
    patterns: Sequence[Path] = ()
    if data.get("kind") == "Overlay":
        patterns = _FILES_OF_OVERLAYS
    elif document.file.rpartition("/")[2] == SETTINGS:
        holders: tuple[Path, ...] = ((), ("environments", "*"))
        patterns = [(*holder, key, *item) for holder in holders for key in _FILES_OF_SETTINGS for item in ((), ("*",))]
    for path, text in (reference for pattern in patterns for reference in _values_at(data, pattern)):
        if isinstance(text, str):
            target = os.path.normpath(os.path.join(folder, text))
            inside = os.path.join(target, files.OVERLAY_FILE)
            yield path, inside if os.path.isfile(os.path.join(snapshot.root, inside)) else target


def _values_at(data: Any, path: Path, base: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What stands at a path, each with the path of its own."""
    if not path:
        yield base, data
    elif path[0] == "*":
        entries = enumerate(data) if isinstance(data, list) else mapping(data).items()
        for step, value in entries:
            yield from _values_at(value, path[1:], (*base, step))
    elif (value := value_at(data, path[:1])) is not None:
        yield from _values_at(value, path[1:], (*base, path[0]))
