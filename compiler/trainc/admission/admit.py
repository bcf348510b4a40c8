"""JobSet's admission as a separate pipeline: what the API server stores for a JobSet, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from marshal import dumps, loads
from typing import TYPE_CHECKING, Any

from trainc.admission.creation import check_creation
from trainc.admission.defaults import bake_defaults
from trainc.admission.jobset import read_jobset
from trainc.admission.outline import outline_of, with_words
from trainc.admission.post_admission import objects_for_pods, pod_refusals, post_admission_checks
from trainc.admission.versions import jobset_version
from trainc.compilation import Compilation, CompiledJob
from trainc.findings import CompileError, Diagnostic, Finding, Path, Severity, format_path, has_errors, sort_diagnostics
from trainc.ir.release import Release, release_facts
from trainc.kube.documents import Json, items, mapping, pod_spec_of
from trainc.kube.names import JOBSET_API
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options, Semantics
from trainc.reading.document import Document, label_of
from trainc.schema import check
from trainc.startup.records import replace

if TYPE_CHECKING:
    from trainc.admission.updates import Submitted

_KIND = "JobSet"
_UNKNOWN_FIELD = "UnknownField"


def admit(jobset: dict[str, Any], options: Options = Options()) -> Compilation:
    """Return the JobSet as the API server would store it, with the JobSet minor of `options.release`.

    The diagnostics are warnings: unknown fields that the API server drops, and what JobSet accepts but fails on later.
    Raises CompileError with all reasons why the API server or JobSet's webhook would refuse it.
    """
    release = options.release or NEWEST_RELEASE
    _require_jobset(jobset)
    stored, findings = validate_admission(jobset, release_facts(release), "warning")
    _keep_empty_values(stored, jobset)
    pods = list(pod_refusals((stored,), {}, "warning"))
    diagnostics = _place(jobset, findings + pods)
    if has_errors(diagnostics):
        raise CompileError(diagnostics)
    metadata = stored["metadata"]
    job = CompiledJob(metadata.get("namespace", ""), metadata["name"], (stored,))
    return Compilation((job,), sort_diagnostics(diagnostics))


def _keep_empty_values(stored: Json, written: Json) -> None:
    """Put `value: ""` of variables back into `stored`, which is modified: Go omits it, but the API server keeps it.

    JobSet's webhook answers with a patch that only adds and replaces. Source: kubernetes-sigs/controller-runtime
    pkg/webhook/admission/defaulter_custom.go (dropSchemeRemovals), v0.24.
    """
    for job, own_job in _pairs(stored.get("spec"), written.get("spec"), "replicatedJobs"):
        pod, own_pod = pod_spec_of(job), pod_spec_of(own_job)
        for kind in ("initContainers", "containers"):
            for container, own_container in _pairs(pod, own_pod, kind):
                for variable, own in _pairs(container, own_container, "env"):
                    if own.get("value") == "" and "value" not in variable:
                        variable["value"] = ""


def _pairs(stored: Any, written: Any, field: str) -> Iterator[tuple[Any, Any]]:
    """Pair the items of a list before and after admission, which keeps their number and order."""
    return zip(items(mapping(stored).get(field)), items(mapping(written).get(field)), strict=False)


def validate_admission(
    jobset: Mapping[str, Any], release: Release, later: Severity, *, prune: bool = True
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the JobSet as the API server would store it, and all findings about it, with paths in it.

    `later` is the severity of a failure after admission. If any finding is an error, nothing would be stored.
    """
    outline = outline_of(jobset)
    stored = None if outline is None else _stored(outline, release.minor, release.jobset, prune)
    if stored is not None:
        return with_words(stored, jobset), []
    return _judged(jobset, release.minor, release.jobset, later, prune=prune)


@lru_cache(maxsize=256)
def _stored(outline: bytes, minor: str, version: str, prune: bool) -> bytes | None:
    """Return what is stored for JobSets with this outline, or None if they have findings."""
    stored, findings = _judged(loads(outline), minor, version, "error", prune=prune)  # noqa: S302 - what `dumps` wrote
    return None if findings else dumps(stored, 2)


def _judged(
    jobset: Mapping[str, Any], minor: str, version: str, later: Severity, *, prune: bool
) -> tuple[dict[str, Any], list[Finding]]:
    # The webhook sets defaults before the CRD's validation, which may require them.
    baked = bake_defaults(jobset, version)
    stored, findings = check(baked, _KIND, minor, prune=prune)
    view, facts = read_jobset(baked), jobset_version(version)
    # Not about a value for which the schema already has a finding.
    places = {finding.path for finding in findings}
    more = check_creation(view, facts) + post_admission_checks(view, facts, later)
    return stored, findings + [f for f in more if f.path not in places and f.path[:-1] not in places]


def refusals(old: dict[str, Any], new: dict[str, Any], options: Options = Options()) -> list[Diagnostic]:
    """Return the reasons why the API server would refuse to replace the stored JobSet `old` with `new`, if any.

    `new` is the body of a PUT: the CRD's defaults are applied to it, but not those of JobSet's CREATE webhook.
    Raises CompileError if one of them is not a JobSet.
    """
    from trainc.admission.updates import update_refusals

    release = options.release or NEWEST_RELEASE
    _require_jobset(old)
    _require_jobset(new)
    before, _ = as_submitted(old, release)
    after, findings = as_submitted(new, release)
    errors = [f for f in findings if f.severity == "error"]
    errors.extend(update_refusals(before, after, release_facts(release).jobset))
    return sort_diagnostics(_place(new, errors))


def as_submitted(jobset: Json, release: str) -> tuple[Submitted, list[Finding]]:
    """Return the body of a PUT in the two forms that are compared, and the findings of the CRD's schema."""
    from trainc.admission.updates import Submitted

    typed, findings = check(jobset, _KIND, release, prune=True)
    unknown = [f.path for f in findings if f.code == _UNKNOWN_FIELD]
    return Submitted(_fill_defaults(_without(jobset, unknown), typed), typed), findings


def _fill_defaults(document: Any, typed: Any) -> Any:
    """Return `document` with the defaults of its typed form; zero values remain as written."""
    if isinstance(document, dict) and isinstance(typed, dict):
        nested = {k: _fill_defaults(v, typed.get(k)) for k, v in document.items() if isinstance(v, (dict, list))}
        return {**typed, **document, **nested}
    if isinstance(document, list) and isinstance(typed, list) and len(document) == len(typed):
        return [_fill_defaults(left, right) for left, right in zip(document, typed, strict=True)]
    return document


def _without(value: Any, paths: Sequence[Path]) -> Any:
    """Return `value` without the fields at `paths`. Unchanged parts are shared with the input."""
    if not paths:
        return value
    inside: dict[str | int, list[Path]] = {}
    for first, *rest in paths:
        inside.setdefault(first, []).append(tuple(rest))
    members = enumerate(value) if isinstance(value, list) else value.items()
    kept = {k: _without(v, inside.get(k, [])) for k, v in members if () not in inside.get(k, [])}
    return list(kept.values()) if isinstance(value, list) else kept


def _require_jobset(document: Any) -> None:
    """Raise CompileError for anything that is not a JobSet of the supported version."""
    kind, api = (document.get("kind"), document.get("apiVersion")) if isinstance(document, dict) else (None, None)
    if (kind, api) != (_KIND, JOBSET_API):
        message = f"this is {api} {kind}, not {JOBSET_API} {_KIND}" if kind else "this is not a Kubernetes object"
        raise CompileError([Diagnostic("NotAJobSet", "error", message, f"pass one {_KIND} of {JOBSET_API}")])


def _place(jobset: Mapping[str, Any], findings: Sequence[Finding]) -> list[Diagnostic]:
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
    return check_creation(read_jobset(jobset), jobset_version(version))


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
        yield from map(document.place, findings)
