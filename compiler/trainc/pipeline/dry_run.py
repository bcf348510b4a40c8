"""Dry runs: runtimes that no TrainJob uses, and pieces of runtimes, compiled as far as their own words go.

What there is to say of a runtime should not wait for the first TrainJob that asks for it.
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
    """One list for each valid runtime that no TrainJob of the input asks for: what its TrainJobs would meet."""
    used = {wanted_key(job.data) for job in session.jobs}
    for key, runtime in session.index.runtimes.items():
        if key not in used:
            yield check_runtime(runtime, session)


def check_runtime(runtime: ValidDocument, session: Session) -> list[Diagnostic]:
    """What the TrainJobs of one valid runtime would meet."""
    return session.rules(_dry_run(runtime, session.options, session.place), False)


def check_fragments(documents: Sequence[Document], options: Options) -> Iterator[Diagnostic]:
    """What there is to say of each fragment among `documents`, and what it is a piece of."""
    for document in documents:
        fragment = fragment_of(document)
        if fragment is not None:
            yield from _best_reading(fragment, options)


def _best_reading(fragment: Fragment, options: Options) -> list[Diagnostic]:
    """A fragment does not say its API: it is read in the one that finds least wrong with it, Trainer's own first."""
    readings: list[tuple[bool, int, list[Diagnostic]]] = []
    for api, kind in _apis(fragment, options):
        valid, found = _reading(fragment, api, kind, options)
        errors = sum(d.severity == "error" for d in found)
        readings.append((not valid, errors, [_describe_fragment(fragment, api), *found]))
        if not errors:
            break
    return min(readings, key=lambda reading: reading[:2])[2]


def _apis(fragment: Fragment, options: Options) -> Iterator[tuple[str, str]]:
    """The APIs that a fragment may be written in, each with what it calls the kind of the whole."""
    yield names.TRAINER_API, fragment.kind
    for dialect in (V2ALPHA1, OME) if options.semantics == "gitops" else ():
        yield dialect.api_versions[0], next(k for k, kind in dialect.kinds.items() if kind == fragment.kind)


def _reading(fragment: Fragment, api: str, kind: str, options: Options) -> tuple[bool, list[Diagnostic]]:
    """Whether the fragment is valid as a piece of an API's document, and what there is to say of it."""
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
    """What the smallest TrainJob of a runtime would meet; it is built as well where `place` can place the findings."""
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
        # A TrainJob may yet name the image; MissingImage speaks of all others.
        known = [(label, f) for label, f in objects.object_findings if f.path[-1:] != ("image",)]
        objects = replace(objects, object_findings=tuple(known))
        result = Result(ValidDocument(Document.of(smallest), data), [], runtime, job, info, objects)
        found += [runtime.place(_of_runtime(finding, trained)) for finding in objects.findings]
        found += place(result, runtime, (), options) if result.object_findings else ()
    # An info tells of what is made, and nothing is made here.
    return [diagnostic for diagnostic in found if diagnostic.severity != "info"]


def smallest_job(runtime: ValidDocument, options: Options) -> dict[str, Any]:
    """The TrainJob that says least and uses a runtime."""
    metadata, policy = runtime.data["metadata"], runtime.data["spec"].get("mlPolicy") or {}
    elastic = "elasticPolicy" in (policy.get("torch") or {})
    return {
        "apiVersion": names.TRAINER_API,
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": metadata.get("namespace") or options.namespace or "default"},
        "spec": {
            "runtimeRef": {"name": metadata.get("name") or "runtime", "kind": runtime.data["kind"]},
            # Flux asks every job for its size; an elastic policy has one itself.
            "trainer": {} if elastic else {"numNodes": policy.get("numNodes", 1)},
        },
    }


def _of_runtime(finding: Finding, trained: Path | None) -> Finding:
    """A finding as one about the runtime, since the job says nothing; what a job may yet mend is no error."""
    if finding.about == "trainjob":
        finding = replace(finding, path=(), source_path=None, about="runtime")
    open_yet = finding.code == "GangMinMemberTooLarge" or (finding.code == "MissingImage" and finding.path == trained)
    return replace(finding, severity="warning") if open_yet else finding
