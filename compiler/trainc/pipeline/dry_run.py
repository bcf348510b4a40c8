"""Dry runs: unused runtimes, and fragments of runtimes, are compiled with the smallest TrainJob that could use them.

They exist so that a runtime's problems are reported before the first TrainJob refers to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api import names
from trainc.api.releases import NEWEST_RELEASE
from trainc.api.schema import check
from trainc.diagnostics import Diagnostic, Finding, Path, has_errors
from trainc.dialects import OME, V2ALPHA1, DialectContext
from trainc.ir.entrypoints import entrypoints
from trainc.ir.release import release_facts
from trainc.lints.registry import lint
from trainc.options import Options
from trainc.pipeline.assemble import assemble
from trainc.pipeline.compiler import Result, prepare
from trainc.pipeline.fragments import Fragment, fragment_of
from trainc.pipeline.lowering import lower_job
from trainc.pipeline.resolve import wanted_key
from trainc.pipeline.session import Place, Session
from trainc.pipeline.valid_document import ValidDocument, check_document
from trainc.plugins import engine
from trainc.plugins.registry import plugins_for
from trainc.reading.document import Document
from trainc.startup.records import replace


def check_unused_runtimes(session: Session) -> Iterator[list[Diagnostic]]:
    """Yield the diagnostics of each valid runtime to which no TrainJob of the input refers, one list per runtime."""
    used = {wanted_key(job.data) for job in session.jobs}
    for key, runtime in session.index.runtimes.items():
        if key not in used:
            yield check_runtime(runtime, session)


def check_runtime(runtime: ValidDocument, session: Session) -> list[Diagnostic]:
    """Return the diagnostics that TrainJobs of one valid runtime would get because of it."""
    return session.rules(_dry_run(runtime, session.options, session.place), False)


def check_fragments(documents: Sequence[Document], options: Options) -> Iterator[Diagnostic]:
    """Yield the diagnostics of each fragment among `documents`, and an info that says what it is a part of."""
    for document in documents:
        fragment = fragment_of(document)
        if fragment is not None:
            yield from _best_reading(fragment, options)


def _best_reading(fragment: Fragment, options: Options) -> list[Diagnostic]:
    """Return the diagnostics in the API with the fewest errors, because a fragment has no apiVersion.

    If several APIs have equally few, Trainer's own comes first.
    """
    readings: list[tuple[bool, int, list[Diagnostic]]] = []
    for api, kind in _apis(fragment, options):
        valid, found = _reading(fragment, api, kind, options)
        errors = sum(d.severity == "error" for d in found)
        readings.append((not valid, errors, [_describe_fragment(fragment, api), *found]))
        if not errors:
            break
    return min(readings, key=lambda reading: reading[:2])[2]


def _apis(fragment: Fragment, options: Options) -> Iterator[tuple[str, str]]:
    """Yield (API, kind of the whole document in it) for each API in which a fragment may be written."""
    yield names.TRAINER_API, fragment.kind
    for dialect in (V2ALPHA1, OME) if options.semantics == "gitops" else ():
        yield dialect.api_versions[0], next(k for k, kind in dialect.kinds.items() if kind == fragment.kind)


def _reading(fragment: Fragment, api: str, kind: str, options: Options) -> tuple[bool, list[Diagnostic]]:
    """Return whether the fragment is valid as part of a document of this API and kind, and its diagnostics."""
    whole = fragment.in_place(api, kind)
    checked, found = check_document(whole, options.release or NEWEST_RELEASE, options, DialectContext())
    own = fragment.own(found)
    if checked is None or checked.data["kind"] == "TrainJob":
        return not has_errors(own), own
    return True, [*own, *fragment.own(_dry_run(checked, options))]


def _describe_fragment(fragment: Fragment, api: str) -> Diagnostic:
    read_as = "" if api == names.TRAINER_API else f" as a {api} document"
    return Diagnostic(
        "Fragment",
        "info",
        f"this is {fragment.label} and is only checked{read_as}; a fragment is not compiled",
        "to compile it, write the whole document",
        fragment.label,
        source=fragment.document.locate(()),
    )


def _dry_run(runtime: ValidDocument, options: Options, place: Place | None = None) -> list[Diagnostic]:
    """Return what the smallest TrainJob of a runtime would report. It is also built if `place` is given."""
    minor = options.release or NEWEST_RELEASE
    smallest = smallest_job(runtime, options)
    data = check(smallest, "TrainJob", minor)[0]
    job = lower_job(data)
    info, findings = prepare(job, runtime, release_facts(minor), options)
    findings += engine.validate(job, info, plugins_for(job, info))
    if not has_errors(findings):
        findings += lint(job, info)
    trained = next((entrypoint.path for entrypoint in entrypoints(job, info) if entrypoint.trains), None)
    found = [runtime.place(_of_runtime(finding, trained)) for finding in findings]
    if place is not None and not has_errors(found):
        objects = assemble(job, info, (), options)
        # A TrainJob may still set the trainer's image; for all other containers there is MissingImage.
        known = [(label, f) for label, f in objects.object_findings if f.path[-1:] != ("image",)]
        objects = replace(objects, object_findings=tuple(known))
        result = Result(ValidDocument(Document.of(smallest), data), [], runtime, job, info, objects)
        found += [runtime.place(_of_runtime(finding, trained)) for finding in objects.findings]
        found += place(result, runtime, (), options) if result.object_findings else ()
    # Infos describe the output, and a dry run has none.
    return [diagnostic for diagnostic in found if diagnostic.severity != "info"]


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


def _of_runtime(finding: Finding, trained: Path | None) -> Finding:
    """Attribute a finding to the runtime, and turn an error into a warning if a real TrainJob can avoid it."""
    if finding.about == "trainjob":
        finding = replace(finding, path=(), source_path=None, about="runtime")
    open_yet = finding.code == "GangMinMemberTooLarge" or (finding.code == "MissingImage" and finding.path == trained)
    return replace(finding, severity="warning") if open_yet else finding
