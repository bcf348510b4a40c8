"""Fragments: parts of a runtime or TrainJob without the rest, as documentation shows them, completed to a document.

A fragment has neither apiVersion nor kind. One of its keys identifies its parent: the fragment's place is the path at
which that key belongs, without the levels that the fragment itself includes. Everything else that the document requires
is filled in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.findings import Diagnostic, Finding, Path, Source, format_path, has_errors
from trainc.findings.codes import codes
from trainc.ir.entrypoints import entrypoints
from trainc.kube import names
from trainc.kube.documents import POD_SPEC, Json
from trainc.kube.releases import NEWEST_RELEASE, RELEASES
from trainc.options import Options
from trainc.pipeline.compiler import Lowered, Result, assemble, check_lowered
from trainc.pipeline.index import referenced_key
from trainc.pipeline.lowering import lower_job, prepare
from trainc.pipeline.session import Session
from trainc.pipeline.valid_document import ValidDocument, check_document
from trainc.plugins import registry
from trainc.project.dialects import OME, V2ALPHA1, DialectContext
from trainc.reading.document import Document
from trainc.schema import check
from trainc.schema.field_homes import has_field
from trainc.startup.records import dataclass, replace

_RUNTIME, _TRAINJOB = "ClusterTrainingRuntime", "TrainJob"
_SPEC: Path = ("spec",)
_JOBSET: Path = ("spec", "template", "spec")
_JOB: Path = (*_JOBSET, "replicatedJobs", 0)
_POD: Path = (*_JOB, *POD_SPEC)
_LABELS: Path = ("metadata", "labels")

# Keys that only Trainer has: one of them identifies a fragment, whatever its other keys are.
_TRAINER_KEYS: tuple[tuple[str, str, Path], ...] = (
    ("mlPolicy", _RUNTIME, _SPEC),
    ("podGroupPolicy", _RUNTIME, _SPEC),
    ("replicatedJobs", _RUNTIME, _JOBSET),
    *((field, _TRAINJOB, _SPEC) for field in ("runtimeRef", "runtimePatches", "podTemplateOverrides")),
)
# Keys that other kinds of files have too: they identify a fragment only if all its other keys fit as well.
_COMMON_KEYS: tuple[tuple[str, str, Path], ...] = (
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
_SKELETONS: Mapping[str, Json] = {
    _RUNTIME: {"metadata": {"name": "fragment"}, "spec": {"template": {"spec": {}}}},
    _TRAINJOB: {"metadata": {"name": "fragment"}, "spec": {"runtimeRef": {"name": "fragment"}}},
}
_JOB_SKELETON: Json = {
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
        path = format_path(self.path).replace("[0]", "[]")
        return f"part of a {parent}'s {path}" if path else f"part of a {parent}"

    def complete(self, api_version: str, kind: str) -> Document:
        """Return the fragment completed to a whole document of an API; fields that were filled in have no position."""
        inner, outer = self.path[len(_JOB) :], self.path[: len(_JOB)]
        skeleton: Json = {"apiVersion": api_version, **_SKELETONS[self.kind], "kind": kind}
        if outer == _JOB:
            job = _merge_at(_JOB_SKELETON, inner, self.document.data)
            data = _merge_at(skeleton, _JOB[:-1], [job])
        else:
            data = _merge_at(skeleton, self.path, self.document.data)
        return Document(data, self.document.file, lambda path: self._locate(path, data))

    def own_diagnostics(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the diagnostics of the whole document that are about the fragment, with its label and its own paths."""
        parent = format_path(self.path)
        return [
            replace(d, object=self.label, path=d.path.removeprefix(parent).removeprefix("."))
            for d in diagnostics
            if d.source is not None
        ]

    def _locate(self, path: Path, data: Json) -> Source | None:
        inner = path[len(self.path) :]
        held = _existing_steps(self.document.data, inner)
        if path[: len(self.path)] != self.path or _existing_steps(data, path) > len(self.path) + held:
            return None
        return self.document.locate(inner)


def fragment_of(document: Document) -> Fragment | None:
    """Return a document as a fragment, or None if it has apiVersion or kind, or is not part of a Trainer document."""
    data = document.data
    if not data or "apiVersion" in data or "kind" in data:
        return None
    if all("/" in key for key in data) and any(key.startswith(f"{names.TRAINER_GROUP}/") for key in data):
        return Fragment(document, _RUNTIME, _LABELS)
    for keys, shared in ((_TRAINER_KEYS, False), (_COMMON_KEYS, True)):
        for above, level in _levels(data):
            for key, kind, parent in keys:
                root = parent[: len(parent) - len(above)]
                fits = key in level and (*root, *above) == parent
                if fits and (
                    not shared
                    or all(any(has_field(kind, (*root, name), release) for release in RELEASES) for name in data)
                ):
                    return Fragment(document, kind, root)
    return None


def _levels(data: Json) -> Iterator[tuple[Path, Json]]:
    """Yield the document and the mappings inside it that may have an identifying key, outermost first."""
    waiting: deque[tuple[Path, Json]] = deque([((), data)])
    while waiting:
        path, level = waiting.popleft()
        yield path, level
        waiting += [((*path, name), level[name]) for name in _LEVELS if isinstance(level.get(name), Mapping)]


def _merge_at(tree: Any, path: Path, part: Any) -> Any:
    """Return `tree` with `part` merged into it at `path`."""
    if path:
        return {**tree, path[0]: _merge_at(tree.get(path[0], {}), path[1:], part)}
    if not isinstance(tree, Mapping) or not isinstance(part, Mapping):
        return part
    return {**tree, **{key: _merge_at(tree[key], (), value) if key in tree else value for key, value in part.items()}}


def _existing_steps(value: Any, path: Path) -> int:
    """Return how many steps of `path` exist in `value`."""
    for count, step in enumerate(path):
        there = (isinstance(value, Mapping) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and step < len(value)
        )
        if not there:
            return count
        value = value[step]
    return len(path)


# Dry runs: unused runtimes, and fragments of runtimes, are compiled with the smallest TrainJob that could use them.
#
# They exist so that a runtime's problems are reported before the first TrainJob refers to it.


def check_unused_runtimes(session: Session) -> Iterator[list[Diagnostic]]:
    """Yield the diagnostics of each valid runtime to which no TrainJob of the input refers, one list per runtime."""
    used = {referenced_key(job.data) for job in session.jobs}
    for key, runtime in session.index.runtimes.items():
        if key not in used:
            yield check_runtime(runtime, session)


def check_used_images(session: Session) -> Iterator[Diagnostic]:
    """Yield what is wrong with images of runtimes in use, which its jobs may hide with images of their own."""
    used = {referenced_key(job.data) for job in session.jobs}
    for runtime in (runtime for key, runtime in session.index.runtimes.items() if key in used):
        template = {"kind": "JobSet", **runtime.data["spec"]["template"]}
        for _, finding in session.judge_runtimes([template]) if session.judge_runtimes else ():
            yield runtime.diagnose(replace(finding, path=("spec", "template", *finding.path)))


def check_runtime(runtime: ValidDocument, session: Session) -> list[Diagnostic]:
    """Return the diagnostics that TrainJobs of one valid runtime would get because of it."""
    alone = Session(session.options, diagnose_objects=session.diagnose_objects, judge_runtimes=session.judge_runtimes)
    found = list(_dry_run(runtime, alone, builds=True))
    if (
        found and session.options.plugins
    ):  # What plugins of others find in the stand-in is about jobs, which have not come.
        found = [d for d in found if d.code in codes()]
    return session.rules(found, False)


def check_fragments(documents: Sequence[Document], options: Options) -> Iterator[Diagnostic]:
    """Yield the diagnostics of each fragment among `documents`, and an info that says what it is a part of."""
    for document in documents:
        fragment = fragment_of(document)
        if fragment is not None:
            yield from _best_diagnostics(fragment, options)


def _best_diagnostics(fragment: Fragment, options: Options) -> list[Diagnostic]:
    """Return the diagnostics in the API with the fewest errors, because a fragment has no apiVersion.

    If several APIs have equally few, Trainer's own comes first.
    """
    readings: list[tuple[bool, int, list[Diagnostic]]] = []
    for api, kind in _apis(fragment, options):
        valid, diagnostics = _check_as(fragment, api, kind, options)
        errors = sum(d.severity == "error" for d in diagnostics)
        readings.append((not valid, errors, [_describe_fragment(fragment, api), *diagnostics]))
        if not errors:
            break
    return min(readings, key=lambda reading: reading[:2])[2]


def _apis(fragment: Fragment, options: Options) -> Iterator[tuple[str, str]]:
    """Yield (API, kind of the whole document in it) for each API in which a fragment may be written."""
    yield names.TRAINER_API, fragment.kind
    for dialect in (V2ALPHA1, OME) if options.semantics == "gitops" else ():
        yield dialect.api_versions[0], next(k for k, kind in dialect.kinds.items() if kind == fragment.kind)


def _check_as(fragment: Fragment, api: str, kind: str, options: Options) -> tuple[bool, list[Diagnostic]]:
    """Return whether the fragment is valid as part of a document of this API and kind, and its diagnostics."""
    document = fragment.complete(api, kind)
    checked, diagnostics, _ = check_document(document, options.release or NEWEST_RELEASE, options, DialectContext())
    reported = fragment.own_diagnostics(diagnostics)
    if checked is None or checked.data["kind"] == "TrainJob":
        return not has_errors(reported), reported
    return True, [*reported, *fragment.own_diagnostics(_dry_run(checked, Session(options), builds=False))]


def _describe_fragment(fragment: Fragment, api: str) -> Diagnostic:
    read_as = "" if api == names.TRAINER_API else f" as a {api} document"
    message = f"this is {fragment.label} and is only checked{read_as}; a fragment is not compiled"
    hint = "to compile it, write the whole document"
    return Diagnostic("Fragment", "info", message, hint, fragment.label, source=fragment.document.locate(()))


def _dry_run(runtime: ValidDocument, session: Session, *, builds: bool) -> list[Diagnostic]:
    """Return what the smallest TrainJob of a runtime would report, either if it `builds` or without its objects.

    A plugin of others that fails at it is a warning: no job of the input is like that.
    """
    failures = (Exception, SystemExit) if session.options.plugins else ()
    try:
        return _smallest_reports(runtime, session, builds)
    except failures as error:
        return [runtime.diagnose(replace(registry.failure(error, session.options.plugins), severity="warning"))]


def _smallest_reports(runtime: ValidDocument, session: Session, builds: bool) -> list[Diagnostic]:
    smallest = smallest_job(runtime, session.options)
    data = check(smallest, "TrainJob", session.release.minor)[0]
    result = Result(ValidDocument(Document.of(smallest), data), runtime, runtime)
    report, job = result.report, lower_job(data)
    info, findings = prepare(job, runtime, session.release, session.options)
    report.add("lowering", findings)
    result.lowered = Lowered.of(job, info, session)
    check_lowered(result.lowered, report)
    trained = next((entrypoint.path for entrypoint in entrypoints(job, info) if entrypoint.trains), None)

    def runtime_diagnostics() -> list[Diagnostic]:
        return [runtime.diagnose(_about_runtime(f, trained)) for group, _ in report.about_documents() for f in group]

    if builds and not has_errors(runtime_diagnostics()):
        objects = assemble(result.lowered, report)
        # A TrainJob may still set the trainer's image; for all other containers there is MissingImage.
        images = {finding for finding in report.about_objects() if finding.path[-1:] == ("image",)}
        report.findings = [finding for finding in report.findings if finding not in images]
        if session.judge_runtimes is not None:
            result.objects = objects
            report.add("policies", [replace(f, about=label) for label, f in session.judge_runtimes(objects.manifests)])
    built = session.diagnose_objects(result) if report.about_objects() else ()
    # The stand-in has a name that nobody knows.
    about_runtime = [replace(d, object=runtime.label, path=f"spec.template.{d.path}") for d in built]
    diagnostics = [*runtime_diagnostics(), *about_runtime]
    # Infos describe the output, and a dry run has none, nor the Secret of a job that somebody would have sealed.
    return [d for d in diagnostics if d.severity != "info" and d.code != "SealedSecretMissing"]


def smallest_job(runtime: ValidDocument, options: Options) -> dict[str, Any]:
    """Return the smallest TrainJob document that can use a runtime."""
    metadata, policy = runtime.data["metadata"], runtime.data["spec"].get("mlPolicy") or {}
    elastic = "elasticPolicy" in (policy.get("torch") or {})
    return {
        "apiVersion": names.TRAINER_API,
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": metadata.get("namespace") or options.namespace or "default"},
        "spec": {
            "runtimeRef": {"name": metadata.get("name") or "runtime", "kind": runtime.data["kind"]},
            # Flux requires every job to set its size; an elastic policy has its own.
            "trainer": {} if elastic else {"numNodes": policy.get("numNodes", 1)},
        },
    }


def _about_runtime(finding: Finding, trained: Path | None) -> Finding:
    """Attribute a finding to the runtime, and turn an error into a warning if a real TrainJob can avoid it."""
    if finding.about == "trainjob":
        finding = replace(finding, path=(), source_path=None, about="runtime")
    avoidable = finding.code == "GangMinMemberTooLarge" or (finding.code == "MissingImage" and finding.path == trained)
    return replace(finding, severity="warning") if avoidable else finding
