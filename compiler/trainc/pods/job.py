"""Jobs: counts, indexes, restarts, and the pod template.

Source: kubernetes pkg/apis/batch/validation/validation.go, validateJobSpec, at 1.36, after
pkg/apis/batch/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, mapping
from trainc.kube.names import is_domain_prefixed_path, length
from trainc.pods import mistakes
from trainc.pods.annotations import check_metadata
from trainc.pods.checks import number, one_of, struct
from trainc.pods.template import check_template

_COUNTS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
# The labels that the API server generates for the selector. Source: pkg/registry/batch/job/strategy.go,
# generateSelector.
_GENERATED_LABELS = tuple(
    f"{prefix}{name}" for prefix in ("", "batch.kubernetes.io/") for name in ("controller-uid", "job-name")
)
_RESTARTS = ("OnFailure", "Never")
_MOST_INDEXED = 100_000
_MOST_OF_MANY = 10_000
_LONGEST_MANAGER = 63

_FIELDS = struct({**dict.fromkeys(_COUNTS, number(0)), "completionMode": one_of("Indexed", "NonIndexed")})


def validate_job(job: Json, path: Path = ()) -> list[Finding]:
    """Return why the API server would reject Jobs with a template `{"metadata": ..., "spec": ...}` from a JobSet.

    The template must include the defaults of JobSet's webhook; those of batch/v1 are implied. Paths start with `path`.
    All findings are errors. Values of the wrong type are ignored, because the schema stage reports them.
    """
    return list(_problems(job, path))


def _problems(job: Json, path: Path) -> Iterator[Finding]:
    spec, place = mapping(job.get("spec")), (*path, "spec")
    template = mapping(spec.get("template"))
    yield from check_metadata(mapping(job.get("metadata")), (*path, "metadata"))
    yield from _FIELDS(spec, place)
    yield from _indexes(spec, place)
    yield from _rare(spec, template, place)
    yield from _restarts(spec, template, place)
    yield from check_template(template, (*place, "template"))


def _indexes(spec: Json, path: Path) -> Iterator[Finding]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failed = spec.get("maxFailedIndexes")
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        yield mistakes.missing((*path, "backoffLimitPerIndex"), "maxFailedIndexes needs it")
    if spec.get("completionMode") != "Indexed":
        yield from _without_indexes(spec, path)
        return
    if completions is None and parallelism is not None:
        message = "an Indexed Job sets parallelism, but not completions"
        place = (*path, "completions")
        hint = "set completions to the same number"
        yield Finding("CompletionsMissing", "error", message, hint=hint, path=place, source_path=(*path, "parallelism"))
    if isinstance(parallelism, int) and parallelism > _MOST_INDEXED:
        yield mistakes.out_of_range((*path, "parallelism"), parallelism, 0, _MOST_INDEXED)
    if isinstance(failed, int):
        most = min(completions, _MOST_INDEXED) if isinstance(completions, int) else _MOST_INDEXED
        if failed > max(most, 0):
            yield mistakes.out_of_range((*path, "maxFailedIndexes"), failed, 0, max(most, 0))
    if isinstance(completions, int) and completions > _MOST_INDEXED and spec.get("backoffLimitPerIndex") is not None:
        if failed is None:
            yield mistakes.missing((*path, "maxFailedIndexes"), f"more than {_MOST_INDEXED} completions need it")
        for name in ("parallelism", "maxFailedIndexes"):
            yield from number(0, _MOST_OF_MANY)(spec.get(name), (*path, name))


def _without_indexes(spec: Json, path: Path) -> Iterator[Finding]:
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(name) is not None:
            message = f"{name} counts per index, but the pods of this Job have no index"
            hint = "set completionMode: Indexed"
            yield Finding("BackoffLimitPerIndexNeedsIndexed", "error", message, hint=hint, path=(*path, name))
    if spec.get("successPolicy") is not None:
        message = "a success policy counts indexes, but the pods of this Job have no index"
        yield mistakes.bad_policy((*path, "successPolicy"), message, "set completionMode: Indexed")


def _rare(spec: Json, template: Json, path: Path) -> Iterator[Finding]:
    manager = spec.get("managedBy")
    if isinstance(manager, str):
        yield from _manager(manager, (*path, "managedBy"))
    if any(spec.get(name) is not None for name in ("podFailurePolicy", "successPolicy", "podReplacementPolicy")):
        from trainc.pods.job_policies import check_policies

        yield from check_policies(spec, template, path)
    if spec.get("selector") is not None or spec.get("manualSelector") is True:
        yield from _selector(spec, path)
    for key in mapping(mapping(template.get("metadata")).get("labels")):
        if key in _GENERATED_LABELS and spec.get("manualSelector") is not True:
            place = (*path, "template", "metadata", "labels", key)
            yield mistakes.misplaced(place, f"the label {key} is set by the API server", "remove it")


def _manager(value: str, path: Path) -> Iterator[Finding]:
    if not is_domain_prefixed_path(value):
        message = f"{value!r} is not the name of a controller"
        yield Finding(
            "InvalidManagedBy",
            "error",
            message,
            hint="write <domain>/<name>, such as kueue.x-k8s.io/multikueue",
            path=path,
        )
    elif length(value) > _LONGEST_MANAGER:
        yield mistakes.too_long(path, length(value), _LONGEST_MANAGER)


def _selector(spec: Json, path: Path) -> Iterator[Finding]:
    """Check the selector: the API server generates one, unless manualSelector is set."""
    selector = mapping(spec.get("selector"))
    if spec.get("manualSelector") is True:
        if spec.get("selector") is None:
            yield mistakes.missing((*path, "selector"), "manualSelector: true needs it; or remove manualSelector")
        else:
            yield from _matches_template(spec, path)
    elif selector.get("matchLabels") or selector.get("matchExpressions"):
        message, hint = "the selector of a Job is set by the API server", "remove selector"
        yield mistakes.misplaced((*path, "selector"), message, hint)


def _matches_template(spec: Json, path: Path) -> Iterator[Finding]:
    from trainc.pods.selectors import label_selector

    selector, place = spec["selector"], (*path, "selector")
    yield from label_selector(selector, place)
    labels = mapping(mapping(mapping(spec.get("template")).get("metadata")).get("labels"))
    for key, value in mapping(mapping(selector).get("matchLabels")).items():
        # JobSet adds its own labels to the pods.
        if labels.get(key) != value and not str(key).startswith("jobset.sigs.k8s.io/"):
            message = f"the pods of the Job do not have the label {key}: {value}"
            hint = "add it to the labels of the template, or remove selector and manualSelector"
            yield mistakes.bad_selector((*place, "matchLabels", key), message, hint)


def _restarts(spec: Json, template: Json, path: Path) -> Iterator[Finding]:
    policy = mapping(template.get("spec")).get("restartPolicy")
    place = (*path, "template", "spec", "restartPolicy")
    if policy in (None, ""):
        yield mistakes.missing(place, "the pods of a Job need OnFailure or Never")
    elif isinstance(policy, str) and policy not in _RESTARTS:
        message = f"a Job's pods cannot have restartPolicy {policy!r}"
        yield Finding(
            "InvalidRestartPolicy", "error", message, hint="use restartPolicy: Never or OnFailure", path=place
        )
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        message = f"podFailurePolicy needs restartPolicy Never, but it is {policy!r}"
        hint = "set restartPolicy: Never in the pod template"
        yield Finding("PodFailurePolicyNeedsNever", "error", message, hint=hint, path=place)
