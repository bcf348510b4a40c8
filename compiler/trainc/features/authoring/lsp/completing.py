"""What can be written under the cursor: fields and values from the schema, and the names of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.documents import catalog, opening, yaml_reader
from trainc.api.editing import edits, variable_names
from trainc.api.findings import Path
from trainc.api.kube import POD_SPEC, Json, devices, mapping, names, objects, releases, value_at
from trainc.api.records import dataclass, pattern
from trainc.api.settings import Limits
from trainc.features.authoring.lsp.names import OVERLAY, SETTINGS, fields_of, kind_of, runtime_of, schema_at, values_of
from trainc.features.authoring.lsp.snapshot import Schema, Snapshot, Typing, typing_at

DATA = opening.read_data(__file__, "data.json")


def suggested_variables() -> list[str]:
    """Return the variables that a job may set, sorted."""
    # The runtime sets the others of torchrun's.
    known = {name for name in variable_names()["known"] if not name.startswith("PET_")}
    return sorted(known | {f"PET_{name}" for name in DATA["torchrun"]})


def meaning_of(name: str) -> str:
    """Return what reads a variable, and what it means; empty for a variable that no known program reads."""
    if name not in DATA["meanings"] and name not in suggested_variables():
        return ""
    reader = next((reader for prefix, reader in DATA["readers"].items() if name.startswith(prefix)), "")
    return ": ".join(filter(None, (f"read by {reader}" if reader else "", DATA["meanings"].get(name, ""))))


def suggested_values(name: str) -> tuple[str, ...]:
    """Return values of a variable, if there are few of them or some are common."""
    return (
        tuple(variable_names()["words"].get(name, ()))
        or tuple(DATA["values"].get(name, ()))
        or (("0", "1") if name.endswith(tuple(DATA["switches"])) else ())
    )


Role: TypeAlias = Literal["field", "value", "name"]

_KINDS = ("TrainJob", *names.RUNTIME_KINDS)
_LINE = pattern(r"^(kind|name|namespace|  name|  namespace)\s*:\s*[\"']?([^\s\"'#]+)")
_JOBS = "replicatedJobs"


@dataclass(frozen=True, slots=True)
class Completion:
    """Something that can stand in a range; `detail` says what it is, `about` more of it."""

    label: str
    role: Role
    range: edits.Range
    text: str
    detail: str = ""
    about: str = ""


def completions(snapshot: Snapshot, position: edits.Position) -> list[Completion]:
    """The completions at a position; the editor filters them by what is typed."""
    lines = snapshot.lines
    typing = typing_at(lines, position)
    if typing is None:
        return []
    span = edits.Range(edits.Position(position.line, typing.start), position)
    document = _document(lines, position.line, typing)
    root = _root(snapshot, document)
    if typing.awaits == "key":
        inside = schema_at(root, typing.path) if root is not None else None
        listed = inside is not None and "items" in inside and "properties" not in inside
        if listed or inside is None or root is None:
            return [*_name_completions(snapshot, document, typing, span), *_key_completions(snapshot, typing, span)]
        return [*_field_completions(inside, root, typing, span), *_key_completions(snapshot, typing, span)]
    schema = schema_at(root, typing.path) if root is not None else None
    values = values_of(schema) if schema else ()
    fixed = [Completion(value, "value", span, _plain(value, schema)) for value in values]
    return [*fixed, *_name_completions(snapshot, document, typing, span)]


def _document(lines: Sequence[str], number: int, typing: Typing) -> Json:
    """The document around what is being typed, without that; where it cannot be read, what its first fields say."""
    end = next((n for n in range(number, len(lines)) if lines[n].startswith("---")), len(lines))
    other_lines = [*lines[typing.first : number], typing.line, *lines[number + 1 : end]]
    documents, _ = yaml_reader.read_documents(yaml_reader.encode("\n".join(other_lines)), "", Limits())
    if documents:
        return documents[0].data
    matches = [match for line in other_lines if (match := _LINE.match(line))]
    metadata = {match[1].strip(): match[2] for match in reversed(matches) if match[1].startswith(" ")}
    return {**{match[1]: match[2] for match in matches if not match[1].startswith(" ")}, "metadata": metadata}


def _root(snapshot: Snapshot, document: Json) -> Schema | None:
    name = snapshot.file.rpartition("/")[2]
    if name == SETTINGS:
        return snapshot.schema(SETTINGS)
    if name == "overlay.yaml" or document.get("kind") == OVERLAY:
        return snapshot.schema(OVERLAY)
    return snapshot.schema(str(document.get("kind"))) or snapshot.schema("TrainJob")


def _field_completions(schema: Schema, root: Schema, typing: Typing, span: edits.Range) -> Iterator[Completion]:
    required, rooms = schema.get("required", ()), {"object": "  ", "array": "- "} if typing.indent >= 0 else {}
    for name, inner in fields_of(schema, root).items():
        if name not in typing.siblings and name != "status":
            detail = ", ".join(filter(None, (kind_of(inner), "required" if name in required else "")))
            room = rooms.get(str(inner.get("type")))  # for the value
            text = f"{name}: " if room is None else f"{name}:\n{' ' * typing.indent}{room}"
            yield Completion(name, "field", span, text, detail, str(inner.get("description", "")))


def _key_completions(snapshot: Snapshot, typing: Typing, span: edits.Range) -> Iterator[Completion]:
    """Keys that are the author's own, of which some are known: resources, and labels of nodes and of the queue."""
    nodes = _nodes(snapshot)
    if typing.path[-1:] in (("limits",), ("requests",), ("resourcesPerNode",)):
        offered = {name for node in nodes for name in mapping(value_at(node, ("status", "allocatable")))}
        for name in dict.fromkeys(("cpu", "memory", *sorted(_texts(offered - {"pods"})), *sorted(devices.KNOWN))):
            yield Completion(name, "name", span, f"{name}: ", "resource")
    if typing.path[-1:] == ("nodeSelector",):
        for name in sorted(_texts({name for node in nodes for name in _labels(node)})):
            yield Completion(name, "name", span, f"{name}: ", "label of nodes")
    if typing.path[-2:] == ("metadata", "labels"):
        yield Completion(names.QUEUE_LABEL, "name", span, f"{names.QUEUE_LABEL}: ", "the Kueue queue")


def _plain(value: str, schema: Schema | None) -> str:
    """A value as YAML reads it back: a release in quotes."""
    is_text = schema is not None and schema.get("type") != "boolean"
    return f'"{value}"' if is_text and (value in ("true", "false") or value[:1].isdigit()) else value


def _name_completions(snapshot: Snapshot, document: Json, typing: Typing, span: edits.Range) -> Iterator[Completion]:
    """The known names of the expected kind."""
    path = typing.path
    for ending, detail, find in _NAMES:
        last = path[-len(ending) :]
        if len(last) == len(ending) and all(map(lambda pattern_step, step: pattern_step in ("*", step), ending, last)):
            for name in dict.fromkeys(_texts(find(snapshot, document, path))):
                about = meaning_of(name) if ending[0] == "env" else ""
                yield Completion(name, "name", span, _plain(name, {}), detail, about)
            return


_Names: TypeAlias = Callable[[Snapshot, Json, Path], Iterable[Any]]


def _runtimes(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Any]:
    kind = value_at(document, ("spec", "runtimeRef", "kind"))
    for other in snapshot.workspace:
        if other.data.get("kind") in ((kind,) if kind in names.RUNTIME_KINDS else names.RUNTIME_KINDS):
            yield value_at(other.data, ("metadata", "name"))
    if kind != "TrainingRuntime":
        used = (built.session.options.release for built in snapshot.built)
        yield from catalog.names(next(filter(None, used), releases.NEWEST_RELEASE))


def _template(snapshot: Snapshot, document: Json) -> Json:
    """The JobSet template that a document is about: its own, or that of its runtime."""
    if document.get("kind") == "JobSet":
        return document
    if document.get("kind") in ("TrainJob", "TrainingJob"):
        runtime = runtime_of(snapshot, document)
        document = runtime.data if runtime is not None else {}
    return mapping(value_at(document, ("spec", "template")))


def _jobs(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Any]:
    for job in objects(value_at(_template(snapshot, document), ("spec", _JOBS))):
        yield job.get("name")


def _pods(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Json]:
    """The pods of the job that a path is inside, or of all of them where it does not say."""
    job_names: set[Any] = set()
    for end, step in enumerate(path):
        if step == _JOBS and end + 1 < len(path):
            job_names.add(value_at(document, (*path[: end + 2], "name")))
        if step in ("podTemplateOverrides", "podSpecOverrides") and end + 1 < len(path):
            targets = objects(value_at(document, (*path[: end + 2], "targetJobs")))
            job_names |= {target.get("name") for target in targets}
    for job in objects(value_at(_template(snapshot, document), ("spec", _JOBS))):
        if not job_names or job.get("name") in job_names:
            yield mapping(value_at(job, POD_SPEC))


def _containers(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Any]:
    field = next((step for step in reversed(path) if step in ("containers", "initContainers")), "containers")
    for pod in _pods(snapshot, document, path):
        yield from (container.get("name") for container in objects(pod.get(str(field))))


def _volumes(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Any]:
    """Those of the runtime's pods, and those that the same patch adds."""
    end = next((i for i in range(len(path) - 1, -1, -1) if path[i] in ("containers", "initContainers")), len(path))
    for pod in (mapping(value_at(document, path[:end])), *_pods(snapshot, document, path)):
        yield from (volume.get("name") for volume in objects(pod.get("volumes")))


def _texts(candidates: Iterable[object]) -> Iterator[str]:
    return (name for name in candidates if isinstance(name, str) and name.isprintable() and name)


def _queues(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Any]:
    """Those of the cluster, and those that other documents use."""
    yield from _named_in("LocalQueue")(snapshot, document, path)
    labels = (value_at(other.data, ("metadata", "labels")) for other in snapshot.workspace)
    yield from sorted(
        set(_texts(own_labels.get(names.QUEUE_LABEL) for own_labels in labels if isinstance(own_labels, Mapping)))
    )


def _values(snapshot: Snapshot, document: Json, path: Path) -> Iterable[str]:
    return suggested_values(str(value_at(document, (*path[:-1], "name"))))


def _nodes(snapshot: Snapshot) -> Sequence[Json]:
    return list(snapshot.cluster.of("Node").values()) if snapshot.cluster is not None else []


def _labels(node: Json) -> Json:
    return mapping(value_at(node, ("metadata", "labels")))


def _label_values(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Any]:
    yield from sorted({str(_labels(node).get(str(path[-1]), "")) for node in _nodes(snapshot)})


def _objects_of(snapshot: Snapshot, document: Json, kind: str) -> Iterator[Json]:
    """The objects of a kind in the cluster, of the namespace of a document if it says which, and in the input."""
    namespace = value_at(document, ("metadata", "namespace"))
    if snapshot.cluster is not None:
        of_kind = sorted(snapshot.cluster.of(kind).items())
        yield from (item for (where, _), item in of_kind if namespace is None or where in ("", namespace))
    yield from (item.data for item in snapshot.workspace if item.data.get("kind") == kind)


def _named_in(*kinds: str) -> _Names:
    def find(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Any]:
        for kind in kinds:
            yield from (value_at(item, ("metadata", "name")) for item in _objects_of(snapshot, document, kind))

    return find


def _keys_in(kind: str) -> _Names:
    def find(snapshot: Snapshot, document: Json, path: Path) -> Iterator[Any]:
        name = value_at(document, (*path[:-1], "name"))
        for item in _objects_of(snapshot, document, kind):
            if value_at(item, ("metadata", "name")) == name:
                yield from (key for part in ("data", "stringData") for key in mapping(item.get(part)))

    return find


def _fixed(*values: str) -> _Names:
    return lambda *_: values


# The end of a path, `*` for an item of a list; what is there; which names there are.
_NAMES: tuple[tuple[Path, str, _Names], ...] = (
    (("runtimeRef", "name"), "runtime", _runtimes),
    (("runtimeRef", "kind"), "kind of runtime", _fixed(*names.RUNTIME_KINDS)),
    (("labels", names.QUEUE_LABEL), "Kueue queue", _queues),
    ((_JOBS, "*", "name"), "replicated job", _jobs),
    (("targetJobs", "*", "name"), "replicated job", _jobs),
    (("dependsOn", "*", "name"), "replicated job", _jobs),
    (("targetReplicatedJobs", "*"), "replicated job", _jobs),
    (("coordinator", "replicatedJob"), "replicated job", _jobs),
    (("volumeMounts", "*", "name"), "volume", _volumes),
    (("env", "*", "name"), "environment variable", _fixed(*suggested_variables())),
    (("env", "*", "value"), "value", _values),
    (("secretKeyRef", "key"), "key of the Secret", _keys_in("Secret")),
    (("configMapKeyRef", "key"), "key of the ConfigMap", _keys_in("ConfigMap")),
    *((tuple(path), kind, _named_in(kind)) for kind, paths in DATA["namedBy"].items() for path in paths),
    (("metadata", "namespace"), "namespace", _named_in("Namespace")),
    (("nodeSelector", "*"), "label of nodes", _label_values),
    (("containers", "*", "name"), "container", _containers),
    (("initContainers", "*", "name"), "container", _containers),
    (("target", "name"), "document", _named_in(*_KINDS)),
    (("target", "kind"), "kind", _fixed(*_KINDS)),
    (("apiVersion",), "", _fixed(names.TRAINER_API)),
    (("kind",), "", _fixed(*_KINDS)),
)
