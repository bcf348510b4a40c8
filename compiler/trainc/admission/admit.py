"""JobSet's admission as a separate pipeline: what the API server stores for a JobSet, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from marshal import dumps, loads
from sys import intern

from trainc.admission.creation import (
    bake_defaults,
    check_creation,
    jobset_version,
    objects_for_pods,
    pod_refusals,
    post_admission_checks,
)
from trainc.compilation import Compilation, CompiledJob
from trainc.findings import CompileError, Diagnostic, Finding, Severity, format_path, has_errors, sort_diagnostics
from trainc.ir.release import Release, release_facts
from trainc.kube.documents import Json, identity_of, items, mapping, pod_spec_of
from trainc.kube.jobset import JobSet
from trainc.kube.names import JOBSET_API, LABEL_LIMIT, is_dns1035_label, is_dns1123_label, is_label_value
from trainc.kube.quantity import parse_quantity
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options, Semantics
from trainc.reading.document import Document, label_of
from trainc.schema import check
from trainc.startup.records import replace
from trainc.startup.typing import Any

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
    return None if findings else dumps(_interned(stored))


def _interned(value: Any) -> Any:
    """Return a copy in which equal texts are one, as they then are in all that is loaded of it."""
    if isinstance(value, dict):
        return {intern(key): _interned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_interned(item) for item in value]
    return intern(value) if value.__class__ is str else value


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
    for _, diagnostics in check_each_rendered(documents, options, cluster):
        yield from diagnostics


def check_each_rendered(
    documents: Sequence[Document],
    options: Options,
    cluster: Sequence[Json] = (),
    is_meant: Callable[[Document], bool] = lambda _: True,
) -> Iterator[tuple[Document, list[Diagnostic]]]:
    """Yield each JobSet among `documents` that is meant, with what `check_rendered` says of it."""
    from trainc.lints.registry import lint_rendered

    release = release_facts(options.release or NEWEST_RELEASE)
    objects = [document.data for document in documents]
    later: Severity = "error" if options.semantics == "gitops" else "warning"
    around = objects_for_pods([*cluster, *objects])
    by_namespace: dict[str, list[Json]] = {}
    for one in objects:
        by_namespace.setdefault(identity_of(one)[0], []).append(one)
    for document in documents:
        if (document.data.get("kind"), document.data.get("apiVersion")) != ("JobSet", JOBSET_API):
            continue
        if not is_meant(document):
            continue
        stored, findings = validate_admission(document.data, release, later)
        findings += pod_refusals((stored,), around, later)
        if not has_errors(findings):
            findings += lint_rendered(stored, by_namespace[identity_of(document.data)[0]], options)
        if options.kubernetes is not None:
            from trainc.schema.kubernetes import kubernetes_findings

            findings += kubernetes_findings(stored, options.kubernetes, release.minor)
        yield document, [*map(document.diagnose, findings)]


# The outline of a JobSet: the parts that admission rules depend on, so that the result for one job can be reused.
#
# It omits values that the rules do not restrict: valid names and labels, a container's command, arguments and image, and
# the values of its variables. Name lengths and numbers of pods, which have only upper limits, are replaced by upper bounds,
# and amounts of resources, of which only requests and limits are compared, by a small and a large one.

_CONTAINERS = ("initContainers", "containers")
_COUNTS = ("parallelism", "completions")
_MOST_COUNTED = 999
# Name lengths are rounded up to a multiple of this number.
_STEP = 8
_WORD = "word"
_COMPUTE = ("cpu", "memory")
_SMALL, _LARGE = "1", "2"


def outline_of(jobset: Json) -> bytes | None:
    """Return the outline, which is a JobSet, as bytes that are equal for equal outlines; None for unusual JobSets."""
    try:
        spec = jobset["spec"]
        if not isinstance(spec["replicatedJobs"], list):
            return None
        jobs = [_job(job, "coordinator" not in spec) for job in spec["replicatedJobs"]]
        metadata = _without_names(jobset["metadata"])
        # Version 2 of the format has no references, so equal objects have equal bytes even if they share parts.
        return dumps({**jobset, "metadata": metadata, "spec": {**spec, "replicatedJobs": jobs}}, 2)
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def with_words(outline: bytes, jobset: Json) -> dict[str, Any]:
    """Return the processed outline as a new object, with the omitted values and counts of a JobSet filled in."""
    restored: dict[str, Any] = loads(outline)  # noqa: S302 - what `dumps` wrote
    _restore(restored["metadata"], jobset["metadata"], ("name", "namespace", "labels"))
    for job, original in zip(
        restored["spec"].get("replicatedJobs") or (), jobset["spec"]["replicatedJobs"], strict=True
    ):
        template, original_template = job["template"], original["template"]
        _restore_labels(template, original_template)
        spec, original_spec = template["spec"], original_template["spec"]
        spec |= {name: original_spec[name] for name in _COUNTS if _is_small(original_spec.get(name))}
        _restore_labels(spec["template"], original_spec["template"])
        _restore_containers(spec["template"]["spec"], original_spec["template"]["spec"])
    return restored


def _restore(restored: dict[str, Any], original: Json, fields: Iterable[str]) -> None:
    for field in fields:
        if value := original.get(field):
            restored[field] = value if isinstance(value, str) else value.copy()


def _restore_labels(restored: Json, original: Json) -> None:
    if (metadata := original.get("metadata")) and metadata.get("labels"):
        _restore(restored["metadata"], metadata, ("labels",))


def _restore_containers(restored: Json, original: Json) -> None:
    for kind in _CONTAINERS:
        for container, original_container in zip(restored.get(kind) or (), original.get(kind) or (), strict=True):
            _restore(container, original_container, ("command", "args", "image"))
            if (amounts := original_container.get("resources")) and _amounts(amounts):
                _restore(container["resources"], amounts, ("requests", "limits"))
            for variable, original_variable in zip(
                container.get("env") or (), original_container.get("env") or (), strict=True
            ):
                _restore(variable, original_variable, ("value",))


def _without_names(metadata: Json) -> Json:
    """Return the JobSet's metadata without its names. Raises ValueError if one is invalid."""
    drawn, name = _without_label_values(metadata), metadata["name"]
    length = min(-(-len(name) // _STEP) * _STEP, LABEL_LIMIT)
    if not is_dns1035_label(name) or len(name) > length:
        raise ValueError(name)
    if "namespace" in metadata:
        drawn["namespace"] = _namespace(metadata["namespace"])
    return {**drawn, "name": "a" * length}


@lru_cache(maxsize=256)
def _namespace(name: str) -> str:
    if not is_dns1123_label(name) or len(name) > LABEL_LIMIT:
        raise ValueError(name)
    return _WORD


def _without_label_values(metadata: Json) -> dict[str, Any]:
    """Return metadata without the values of its labels. Raises ValueError if one is invalid."""
    labels = metadata.get("labels")
    return {**metadata, "labels": {key: _label(value) for key, value in labels.items()}} if labels else {**metadata}


@lru_cache(maxsize=1024)
def _label(value: str) -> str:
    if not is_label_value(value):
        raise ValueError(value)
    return _WORD


def _job(job: Json, counts: bool) -> Json:
    template = job["template"]
    spec = template["spec"]
    pod = spec["template"]
    fields = pod["spec"]
    drawn = {kind: [_container(container) for container in fields[kind]] for kind in _CONTAINERS if fields.get(kind)}
    if spec.get("manualSelector"):
        raise ValueError("the values of labels matter")
    if fields.get("resources"):
        raise ValueError("the amounts of the containers are added up")
    # The highest numbers of pods with the same number of digits, unless something refers to a pod's index.
    bounded = counts and "successPolicy" not in spec and "maxFailedIndexes" not in spec
    small = [name for name in _COUNTS if bounded and _is_small(spec.get(name))]
    bounds = {name: 10 ** len(str(spec[name])) - 1 for name in small}
    spec = {**spec, **bounds, "template": {**_with_labels(pod), "spec": {**fields, **drawn}}}
    return {**job, "template": {**_with_labels(template), "spec": spec}}


def _with_labels(template: Json) -> Json:
    metadata = template.get("metadata")
    return {**template, "metadata": _without_label_values(metadata)} if metadata else template


def _is_small(count: object) -> bool:
    return type(count) is int and 0 < count <= _MOST_COUNTED


def _container(container: Mapping[str, Any]) -> Json:
    drawn = dict(container)
    for field in ("command", "args"):
        if arguments := container.get(field):
            if type(arguments) is not list or not all(type(word) is str for word in arguments):
                raise TypeError(arguments)
            drawn[field] = [_WORD]
    if image := container.get("image"):
        drawn["image"] = _word(image)
    if (resources := container.get("resources")) and (amounts := _amounts(resources)):
        drawn["resources"] = {**resources, **amounts}
    if env := container.get("env"):
        drawn["env"] = [
            {**variable, "value": _word(variable["value"])} if variable.get("value") else variable for variable in env
        ]
    return drawn


def _amounts(resources: Json) -> dict[str, dict[str, str]] | None:
    """Return the resources with small and large amounts, or None if more than their order may matter."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not all(_is_plain(name, amount) for amounts in (limits, requests) for name, amount in amounts.items()):
        return None
    drawn = {name: _LARGE if amount == limits.get(name) else _SMALL for name, amount in requests.items()}
    for name, amount in drawn.items():
        if (
            amount == _SMALL
            and name in limits
            and parse_quantity(requests[name]).nanos >= parse_quantity(limits[name]).nanos
        ):
            return None
    outlined = {"limits": dict.fromkeys(limits, _LARGE), "requests": drawn}
    return {kind: amounts for kind, amounts in outlined.items() if amounts}


@lru_cache(maxsize=1024)
def _is_plain(name: str, amount: object) -> bool:
    """Return whether it is cores, bytes or devices, in the form in which they are stored."""
    if type(amount) is not str or not (name in _COMPUTE or "/" in name):
        return False
    quantity = parse_quantity(amount)
    return str(quantity) == amount and quantity.nanos > 0 and (name in _COMPUTE or quantity.is_whole)


def _word(word: Any) -> str:
    if type(word) is not str:
        raise TypeError(word)
    return _WORD
