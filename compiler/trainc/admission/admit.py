"""JobSet's admission as a separate pipeline: what the API server stores for a JobSet, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from marshal import dumps, loads
from typing import Any

from trainc.admission.creation import check_creation
from trainc.admission.outline import outline_of, with_words
from trainc.admission.post_admission import objects_for_pods, pod_refusals, post_admission_checks
from trainc.admission.versions import bake_defaults, jobset_version
from trainc.compilation import Compilation, CompiledJob
from trainc.findings import CompileError, Diagnostic, Finding, Severity, format_path, has_errors, sort_diagnostics
from trainc.ir.release import Release, release_facts
from trainc.kube.documents import Json, items, mapping, pod_spec_of
from trainc.kube.jobset import JobSet
from trainc.kube.names import JOBSET_API
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options, Semantics
from trainc.reading.document import Document, label_of
from trainc.schema import check
from trainc.startup.records import replace

_KIND = "JobSet"


def admit(jobset: dict[str, Any], options: Options = Options()) -> Compilation:
    """Return the JobSet as the API server would store it, with the JobSet minor of `options.release`.

    The diagnostics are warnings: unknown fields that the API server drops, and what JobSet accepts but fails on later.
    Raises CompileError with all reasons why the API server or JobSet's webhook would refuse it.
    """
    release = options.release or NEWEST_RELEASE
    require_jobset(jobset)
    stored, findings = validate_admission(jobset, release_facts(release), "warning")
    _keep_empty_values(stored, jobset)
    pods = list(pod_refusals((stored,), {}, "warning"))
    diagnostics = place_findings(jobset, findings + pods)
    if has_errors(diagnostics):
        raise CompileError(diagnostics)
    metadata = stored["metadata"]
    job = CompiledJob(metadata.get("namespace", ""), metadata["name"], (stored,))
    return Compilation((job,), sort_diagnostics(diagnostics))


def _keep_empty_values(stored: Json, submitted: Json) -> None:
    """Put `value: ""` of variables back into `stored`, which is modified: Go omits it, but the API server keeps it.

    JobSet's webhook answers with a patch that only adds and replaces. Source: kubernetes-sigs/controller-runtime
    pkg/webhook/admission/defaulter_custom.go (dropSchemeRemovals), v0.24.
    """
    for job, submitted_job in _pairs(stored.get("spec"), submitted.get("spec"), "replicatedJobs"):
        pod, submitted_pod = pod_spec_of(job), pod_spec_of(submitted_job)
        for kind in ("initContainers", "containers"):
            for container, submitted_container in _pairs(pod, submitted_pod, kind):
                for variable, submitted_variable in _pairs(container, submitted_container, "env"):
                    if submitted_variable.get("value") == "" and "value" not in variable:
                        variable["value"] = ""


def _pairs(stored: Any, submitted: Any, field: str) -> Iterator[tuple[Any, Any]]:
    """Pair the items of a list before and after admission, which keeps their number and order."""
    return zip(items(mapping(stored).get(field)), items(mapping(submitted).get(field)), strict=False)


def validate_admission(
    jobset: Mapping[str, Any], release: Release, later: Severity, *, prune: bool = True
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the JobSet as the API server would store it, and all findings about it, with paths in it.

    `later` is the severity of a failure after admission. If any finding is an error, nothing would be stored.
    """
    outline = outline_of(jobset)
    stored = None if outline is None else _stored_outline(outline, release.minor, release.jobset, prune)
    if stored is not None:
        return with_words(stored, jobset), []
    return _validate(jobset, release.minor, release.jobset, later, prune=prune)


@lru_cache(maxsize=256)
def _stored_outline(outline: bytes, minor: str, version: str, prune: bool) -> bytes | None:
    """Return what is stored for JobSets with this outline, or None if they have findings."""
    stored, findings = _validate(loads(outline), minor, version, "error", prune=prune)  # noqa: S302 - what `dumps` wrote
    return None if findings else dumps(stored, 2)


def _validate(
    jobset: Mapping[str, Any], minor: str, version: str, later: Severity, *, prune: bool
) -> tuple[dict[str, Any], list[Finding]]:
    # The webhook sets defaults before the CRD's validation, which may require them.
    baked = bake_defaults(jobset, version)
    stored, findings = check(baked, _KIND, minor, prune=prune)
    view, facts = JobSet.read(baked), jobset_version(version)
    # Not about a value for which the schema already has a finding.
    reported = {finding.path for finding in findings}
    findings_after = check_creation(view, facts) + post_admission_checks(view, facts, later)
    return stored, findings + [f for f in findings_after if f.path not in reported and f.path[:-1] not in reported]


def require_jobset(document: Any) -> None:
    """Raise CompileError for anything that is not a JobSet of the supported version."""
    kind, api = (document.get("kind"), document.get("apiVersion")) if isinstance(document, dict) else (None, None)
    if (kind, api) != (_KIND, JOBSET_API):
        message = f"this is {api} {kind}, not {JOBSET_API} {_KIND}" if kind else "this is not a Kubernetes object"
        raise CompileError([Diagnostic("NotAJobSet", "error", message, f"pass one {_KIND} of {JOBSET_API}")])


def place_findings(jobset: Mapping[str, Any], findings: Sequence[Finding]) -> list[Diagnostic]:
    """Return the findings about a JobSet as diagnostics without a source position."""
    label = label_of(jobset)
    return [Diagnostic(f.code, f.severity, f.message, f.hint, label, format_path(f.path)) for f in findings]


def admit_compiled(
    jobset: dict[str, Any], release: Release, semantics: Semantics
) -> tuple[dict[str, Any], list[Finding]]:
    """Return a compiled JobSet as it goes to git, and the findings of admission, with paths in the JobSet.

    `gitops` includes the defaults, so that a second client-side apply removes nothing, and reports as errors what would
    be refused or would fail later. `controller` changes nothing, and reports only warnings.
    """
    gitops = semantics == "gitops"
    stored, findings = validate_admission(jobset, release, "error" if gitops else "warning", prune=False)
    if gitops:
        return stored, findings
    return jobset, [replace(f, severity="warning") if f.severity == "error" else f for f in findings]


def creation_refusals(jobset: Json, version: str) -> list[Finding]:
    """Return why this JobSet minor would refuse `jobset`, which has the webhook's defaults; empty if it would not."""
    return check_creation(JobSet.read(jobset), jobset_version(version))


def check_rendered(
    documents: Sequence[Document], options: Options, cluster: Sequence[Json] = ()
) -> Iterator[Diagnostic]:
    """Yield the diagnostics of admission for each JobSet among `documents`, and those for names that match nothing.

    A failure after admission is an error under `gitops` and a warning under `controller`. `cluster` are objects of the
    cluster; those among `documents` count as well.
    """
    from trainc.lints.registry import lint_rendered

    release = release_facts(options.release or NEWEST_RELEASE)
    objects = [document.data for document in documents]
    later: Severity = "error" if options.semantics == "gitops" else "warning"
    around = objects_for_pods([*cluster, *objects])
    for document in documents:
        if (document.data.get("kind"), document.data.get("apiVersion")) != ("JobSet", JOBSET_API):
            continue
        stored, findings = validate_admission(document.data, release, later)
        findings += pod_refusals((stored,), around, later)
        if not has_errors(findings):
            findings += lint_rendered(stored, objects, options)
        if options.kubernetes is not None:
            from trainc.schema.kubernetes import kubernetes_findings

            findings += kubernetes_findings(stored, options.kubernetes, release.minor)
        yield from map(document.diagnose, findings)
