"""One document: converted from its dialect, checked against its release's schema, and located in diagnostics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from marshal import dumps, loads

from trainc.findings import Diagnostic, Finding, Path, Source, format_path, has_errors, remove, write
from trainc.findings.text import join_words, near_names
from trainc.ir.release import Release
from trainc.kube import names
from trainc.kube.documents import Json, mapping, path_exists, value_at, with_value
from trainc.kube.names import KINDS
from trainc.kube.strategic_merge import Copies
from trainc.options import Options, Semantics
from trainc.project.dialects import Dialect, DialectContext, claimed_by, dialect_of
from trainc.project.dialects.dialect import (
    LABELED,
    Conversion,
    Move,
    NamingConvention,
    check_with_removed_fields,
    move_finding,
    original_path,
)
from trainc.reading.document import Document, label_of
from trainc.schema import check
from trainc.schema.rules import runtime_rules
from trainc.schema.shapes import MOST_LISTED
from trainc.startup import suppress
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import Any

# Fields of a valid document that never affect the output. Each is reported; none is dropped silently.
#
# Sources: kubeflow/trainer pkg/runtime/core/trainingruntime.go uses only labels and annotations of a template's or a
# patch's metadata, and pkg/webhooks sets the time of a patch. The other fields are set by the API server.


_CODE = "FieldIgnored"
# Fields that the API server sets.
_RECORD = tuple(
    "creationTimestamp deletionGracePeriodSeconds deletionTimestamp generation managedFields resourceVersion"
    " selfLink uid".split()
)
_OF_THE_TRAINJOB = ("finalizers", "generateName", "ownerReferences")
_AMOUNTS = {"limits": "limits: {nvidia.com/gpu: 8}", "requests": "requests: {cpu: 16, memory: 64Gi}"}
_OTHER_METADATA = ("finalizers", "name", "namespace")


def ignored_fields(document: Json, kind: str) -> Iterator[Finding]:
    """Yield a finding for each such field of a document that passed its schema."""
    if kind != "TrainJob":
        template = document["spec"].get("template") or {}
        yield from _ignored_metadata(template.get("metadata"), ("spec", "template", "metadata"), "template")
        return
    yield from _own_metadata(document)
    for index, patch in enumerate(document["spec"].get("runtimePatches") or ()):
        path: Path = ("spec", "runtimePatches", index)
        if "time" in patch:
            message = "time has no effect: controllers use it to record when they saw the patch"
            yield Finding(_CODE, "info", message, remove(), (*path, "time"))
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        metadata_path = (*path, "trainingRuntimeSpec", "template", "metadata")
        yield from _ignored_metadata(template.get("metadata"), metadata_path, "patch")
    for index, override in enumerate(document["spec"].get("podTemplateOverrides") or ()):
        yield from _ignored_metadata(
            override.get("metadata"), ("spec", "podTemplateOverrides", index, "metadata"), "override"
        )


def empty_amounts(document: Json) -> Iterator[Finding]:
    """Yield a warning if resourcesPerNode, or its limits or requests, has no value: the API server drops it silently."""
    trainer = (document.get("spec") or {}).get("trainer") or {}
    resources = trainer.get("resourcesPerNode", {})
    path: Path = ("spec", "trainer", "resourcesPerNode")
    empty = [path] if resources is None else [(*path, kind) for kind in _AMOUNTS if resources.get(kind, ()) is None]
    for field in empty:
        message = f"{field[-1]} has no value and is ignored: the pods get no resources from it"
        hint = f"write the amounts below it, as in {_AMOUNTS.get(str(field[-1]), _AMOUNTS['limits'])}, or remove it"
        yield Finding(_CODE, "warning", message, hint, field)


def _own_metadata(document: Json) -> Iterator[Finding]:
    metadata = document["metadata"]
    record = [field for field in _RECORD if metadata.get(field) is not None]
    if record:
        hint = "remove it: `kubectl get` adds it to objects of a cluster"
        message = f"{join_words(record, 'and')}: ignored, because the API server sets it"
        yield Finding(_CODE, "info", message, hint, ("metadata",))
    if document.get("status"):
        message = "status is ignored: the controller in the cluster sets it"
        yield Finding(_CODE, "info", message, remove(), ("status",))
    for field in _OF_THE_TRAINJOB:
        if metadata.get(field):
            message = f"{field} of a TrainJob has no effect: it is not copied to the objects made from the TrainJob"
            yield Finding(_CODE, "warning", message, remove(f"remove {field}"), ("metadata", field))


def _ignored_metadata(metadata: Json | None, path: Path, owner: str) -> Iterator[Finding]:
    for field in _OTHER_METADATA:
        if (metadata or {}).get(field):
            message = (
                f"{field} in the metadata of a {owner} has no effect: all releases use only labels and annotations"
            )
            yield Finding(_CODE, "warning", message, remove(f"remove {field}"), (*path, field))


@dataclass(frozen=True, slots=True)
class ValidDocument:
    """A document that passed its schema.

    `data` is defaulted and in Trainer's own API; `document` is what was read. `dialect` is None for Trainer's own API;
    for others, `moves` maps paths in `data` to paths in `document`.
    """

    document: Document
    data: Json
    dialect: Dialect | None = None
    moves: tuple[Move, ...] = ()

    @property
    def label(self) -> str:
        """The name in diagnostics, such as "TrainJob team-a/llm"."""
        return label_of({**self.data, "kind": self.document.data.get("kind")})

    @property
    def key(self) -> tuple[str, str]:
        """Its namespace, empty without one, and its name."""
        metadata = self.data["metadata"]
        return metadata.get("namespace", ""), metadata["name"]

    @property
    def naming(self) -> NamingConvention:
        """The naming convention for jobs and containers in runtimes of this dialect."""
        return LABELED if self.dialect is None else self.dialect.naming

    def behavior(self, release: Release) -> Release:
        """Return the release's facts for a runtime of this dialect: in older ones, initializers mount any volume."""
        return release if self.dialect is None else replace(release, initializer_needs_mount=False)

    def original_path(self, path: Path) -> Path:
        """Return the path in the original document of the field at `path` in `data`."""
        return original_path(path, self.moves)

    def locate(self, path: Path) -> Source | None:
        """Return the position in the file of the field at `path` in `data`."""
        return self.document.locate(self.original_path(path))

    def diagnose(self, finding: Finding) -> Diagnostic:
        """Return a finding about this document as a diagnostic with its label and position."""
        return self.document.diagnose(move_finding(finding, self.moves), self.label)

    def diagnose_built(self, finding: Finding) -> Diagnostic:
        """Return a finding about an object built from this document: its path is in the object, its position here."""
        return Diagnostic(
            finding.code,
            finding.severity,
            finding.message,
            finding.hint,
            finding.about,
            format_path(finding.path),
            self.document.locate(("metadata", "name")),
        )


def check_document(
    document: Document, release: str, options: Options, context: DialectContext
) -> tuple[ValidDocument | None, list[Diagnostic], list[Finding]]:
    """Convert and check a document for which `is_trainer_document` is true.

    Returns the valid document, or None and at least one error; last, what the schema found, for `valid_part`.
    """
    dialect = dialect_of(document.data)
    if wrong := list(_wrong_dialect(document.data, dialect, options)):
        more: list[Diagnostic] = []
        if [finding.code for finding in wrong] == ["UnknownAPIVersion"]:
            # With the version that was most likely meant, so that other problems are reported too.
            meant = replace(document, data={**document.data, "apiVersion": _right_version(document.data)})
            _, more, _ = check_document(meant, release, options, context)
        return None, [*(document.diagnose(f) for f in wrong), *(d for d in more if d.severity == "error")], []
    if (size := _stored_bytes(document.data)) > _MOST_BYTES:
        message = f"the object has {size:,} bytes as JSON; an API server stores at most {_MOST_BYTES:,}"
        hint = "move long texts and lists into a file of the image or of a volume"
        return None, [document.diagnose(Finding("DocumentTooLarge", "error", message, hint))], []
    if dialect is None:
        converted = Conversion(document.data)
    else:
        converted = dialect.convert(document.data, dialect.kinds[document.data["kind"]], context)
    data, findings = _schema(converted.data, dialect, release, options)
    diagnostics = [document.diagnose(finding) for finding in converted.findings]
    diagnostics += [
        (dialect is None and _about_empty(document, finding))
        or document.diagnose(move_finding(finding, converted.moves))
        for finding in findings
    ]
    valid = None if has_errors(diagnostics) else ValidDocument(document, data, dialect, converted.moves)
    return valid, diagnostics, findings


# Of etcd (server/embed/config.go), where custom resources are JSON; what follows has hundreds of bytes for each field.
_MOST_BYTES = 1_572_864


def _stored_bytes(data: Any) -> int:
    """Return how many bytes an object has as JSON; 0 for one that has far fewer than are stored."""
    with suppress(ValueError):
        if len(dumps(data, 2)) * 2 > _MOST_BYTES:
            import json

            return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    return 0


def _about_empty(document: Document, finding: Finding) -> Diagnostic | None:
    """Return what is said of a missing field that is there without a value, or in such a one that an overlay has filled."""
    written = document.before or document
    for path in (finding.path, finding.path[:-1]) if finding.code == "MissingRequired" else ():
        if path and path_exists(written.data, path) and value_at(written.data, path) is None:
            hint = finding.hint
            if path == ("spec",):
                hint = "write its fields below it, indented, such as `runtimeRef: {name: torch-distributed}`"
            return written.diagnose(replace(finding, message=f"{path[-1]} is empty", hint=hint, path=path))
    return None


# How often fields are changed: what is left may be refused for another reason.
_MOST_ROUNDS = 6
# Fields without which there is nothing left to check.
_NEEDED = frozenset(
    (("spec",), ("metadata",), ("metadata", "namespace"), ("spec", "runtimeRef"), ("kind",), ("apiVersion",))
)
_NAME: Path = ("metadata", "name")
_SEVERAL_NODES = 2
_LARGEST = 1_000_000_000


def valid_part(
    document: Document, findings: Sequence[Finding], release: str, options: Options
) -> tuple[ValidDocument, frozenset[str]] | None:
    """Return what is left of a document that its schema refused, and the names on the paths of what is missing or guessed.

    A value of the wrong type is read as the right one where that is clear (`"4"` as 4, `true` as "true"), and what the
    schema refuses otherwise is left out. Returns None if the rest is not valid either, if there is too much of it, or for a
    dialect, whose paths are those of another document.
    """
    if dialect_of(document.data) is not None or list(_wrong_dialect(document.data, None, options)):
        return None
    name = str(mapping(document.data.get("metadata")).get("name") or "")
    edited = _EditedCopy(document.data)
    if name:
        edited.set(_NAME, "any")
    guessed: set[str] = set()
    changed: set[Path] = set()
    wrong = [finding for finding in findings if finding.severity == "error" and not (name and finding.path == _NAME)]
    for _ in range(_MOST_ROUNDS):
        if len(wrong) >= MOST_LISTED:
            return None
        for finding in wrong:
            path = finding.path
            meant = _convert_value(edited.data, path) if finding.code == "WrongType" and path not in changed else None
            changed.add(path)
            if meant is None or path[-1] == "numNodes":
                guessed.update(map(str, path))
            if meant is not None:
                edited.set(path, meant)
            elif not edited.remove(path):
                return None
        data, findings = _check(_with_namespace(edited.data, options.namespace), None, release, options.semantics)
        wrong = [finding for finding in findings if finding.severity == "error"]
        if not wrong:
            valid_name = name.lower().replace("_", "-").strip("-.") or "any"
            return ValidDocument(document, with_value(data, _NAME, valid_name)), frozenset(guessed)
    return None


def _convert_value(data: Json, path: Path) -> str | int | None:
    """Return a value of the type that was meant by one of the wrong type, or None if that is not clear."""
    value = value_at(data, path)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value) if abs(value) < _LARGEST else None
    if isinstance(value, str) and value.isdecimal() and len(value) < len(str(_LARGEST)):
        return int(value)
    return _SEVERAL_NODES if path[-1] == "numNodes" and isinstance(value, str) else None


class _EditedCopy:
    """A document of which only what is changed is copied, and only once, however many changes there are."""

    def __init__(self, data: Json) -> None:
        self._copies = Copies()
        self.data = self._copies.of(data)

    def set(self, path: Path, value: Any) -> None:
        """Write another value to an existing field."""
        self._parent_of(path)[path[-1]] = value

    def remove(self, path: Path) -> bool:
        """Remove the field at `path`, or what misses it; return False if that is needed.

        A list with an item that cannot be kept is removed as a whole, so that the places of other items stay right.
        """
        while path and not (isinstance(path[-1], str) and path_exists(self.data, path)):
            path = path[:-1]
        if not path or path in _NEEDED:
            return False
        del self._parent_of(path)[path[-1]]
        return True

    def _parent_of(self, path: Path) -> Any:
        parent = self.data
        for step in path[:-1]:
            parent[step] = self._copies.of(parent[step])
            parent = parent[step]
        return parent


def _schema(data: Json, dialect: Dialect | None, release: str, options: Options) -> tuple[Json, list[Finding]]:
    document = _with_namespace(data, options.namespace)
    if document["kind"] == "TrainJob" or dialect is not None:
        return _check(document, dialect, release, options.semantics)
    try:
        # Programs compile many jobs against the same runtime, so check it once. Equal values have equal bytes in version 2.
        content: Any = document
        stored = _stored_runtime(dumps(content, 2), release, options.semantics)
    except ValueError:
        stored = None
    if stored is not None:
        return loads(stored), []  # noqa: S302 - what `dumps` wrote
    return _check(document, dialect, release, options.semantics)


@lru_cache(maxsize=64)
def _stored_runtime(document: bytes, release: str, semantics: Semantics) -> bytes | None:
    """Return a runtime as the API server stores it, or None if it has findings."""
    stored, findings = _check(loads(document), None, release, semantics)  # noqa: S302 - what `dumps` wrote
    content: Any = stored
    return None if findings else dumps(content, 2)


def _check(data: Json, dialect: Dialect | None, release: str, semantics: Semantics) -> tuple[Json, list[Finding]]:
    document, kind = data, data["kind"]
    if semantics == "controller":
        data, findings = check(document, kind, release)
    else:
        data, findings = check_with_removed_fields(document, kind, release, older_dialect=dialect is not None)
    # The webhooks' rules are about labels, which older dialects do not have.
    if kind != "TrainJob" and dialect is None and not has_errors(findings):
        findings = [*findings, *runtime_rules(document, release)]
    if not has_errors(findings):
        # The CRDs of the runtimes do not require a spec; in Go it is then empty.
        data = data if "spec" in data else {**data, "spec": {}}
        findings = [*findings, *ignored_fields(data, kind), *empty_amounts(document)]
    return data, findings


def _wrong_dialect(data: Json, dialect: Dialect | None, options: Options) -> Iterator[Finding]:
    """Yield errors for an unknown version or kind, or for a dialect that these semantics do not support."""
    version, kind = data.get("apiVersion"), data.get("kind")
    if dialect is not None:
        if options.semantics == "controller":
            message = f"Trainer {options.release or ''}".rstrip() + f" does not support {version}"
            hint = f"compile with --semantics gitops, or run `trainc migrate` to convert the document to {names.TRAINER_API}"
            yield Finding("DialectNeedsGitOps", "error", message, hint, ("apiVersion",))
        return
    if version != names.TRAINER_API:
        message = _unknown_version(version, kind)
        hint = write(_right_version(data), field="apiVersion")
        yield Finding("UnknownAPIVersion", "error", message, hint, ("apiVersion",))
        if claimed_by(data) is not None:
            return
    if kind not in KINDS:
        near = near_names(str(kind), KINDS, 1, 0.4)
        message = f"kind {kind!r} does not exist in {names.TRAINER_GROUP}" if kind else "kind is missing"
        hint = write(near[0] if near else "TrainJob", field="kind")
        if kind == "OptimizationJob":
            message = "no release of Trainer has OptimizationJob yet"
            hint = "compile the trials of its grid: trainc build FILE"
        yield Finding("UnknownKind", "error", message, hint, ("kind",))


def _unknown_version(version: object, kind: object) -> str:
    if str(version).startswith("kubeflow.org/"):
        return f"apiVersion {version!r} has no {kind}: it is the API of Training Operator v1"
    return f"there is no apiVersion {version!r}" if version else "apiVersion is missing"


def _right_version(data: Json) -> str:
    """Return the version that was most likely meant by a version that does not exist."""
    dialect = claimed_by(data)
    return names.TRAINER_API if dialect is None or dialect.group.endswith("kubeflow.org") else dialect.api_versions[0]


def _with_namespace(data: Json, namespace: str | None) -> Json:
    """Return the document with `namespace`, if it is of a namespaced kind and has no namespace."""
    metadata = data.get("metadata")
    if not namespace or data["kind"] == "ClusterTrainingRuntime" or not isinstance(metadata, dict):
        return data
    return data if metadata.get("namespace") else {**data, "metadata": {**metadata, "namespace": namespace}}
