"""Labels: what selects pods by the labels that v1 gave them, or reads one, in terms of those that JobSet gives them.

Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go (release-1.9), kubeflow/mpi-operator
pkg/controller/mpi_job_controller.go (v0.8.0), kubernetes-sigs/jobset api/jobset/v1alpha2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.findings import Finding, Path
from trainc.api.kube import Json
from trainc.api.records import pattern
from trainc.features.migrate.v1.job import COMPLETION_INDEX, KINDS, LABELS, Group, Job, Layout, Pod, counted, stuck

_JOBSET = "jobset.sigs.k8s.io/jobset-name"
_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
_JOB_NAME = f"{LABELS}job-name"
_REFERENCE = pattern(rf"metadata\.labels\['{LABELS}(?P<label>[a-z-]+)'\]")


def labels_of(job: Job, pod: Pod) -> dict[str, str]:
    """The labels that v1 gives a pod."""
    role, index = pod
    operator = "mpi-operator" if job.kind.is_mpi else f"{job.kind.name.lower()}-controller"
    labels = {"job-name": job.name, "operator-name": operator}
    if job.kind.is_mpi:
        shift = 1 if job.spec.get("runLauncherAsWorker") else 0
        labels |= {"job-role": role}
        if role == "worker" or shift:
            labels["replica-index"] = str(index + shift if role == "worker" else 0)
    else:
        labels |= {"replica-type": role, "replica-index": str(index)}
        if _is_master(job, pod):
            labels["job-role"] = "master"
    return {f"{LABELS}{name}": value for name, value in labels.items()}


def _is_master(job: Job, pod: Pod) -> bool:
    (role, index), roles = pod, {role.lower for role in job.roles}
    if job.kind.name == "TFJob":
        return role in ("chief", "master") if roles & {"chief", "master"} else pod == ("worker", 0)
    return role == "master" or (job.kind.name in ("PyTorchJob", "JAXJob") and "master" not in roles and index == 0)


def variable(value: Json, layout: Layout, group: Group) -> Json:
    """A variable that reads a label of v1, made to hold what it held; any other as it is."""
    label = _read_label(value)
    if label is None:
        return value
    held = _label_values(layout, group, label)
    if label == "replica-index" and held[0].isdigit():
        # The MPI Operator counts workers from 1 where the launcher works too; a completion index begins at 0.
        first = int(held[0]) if group.by_job or len(group.pods) == 1 else 0
        return {"name": value["name"], **counted(group, first)}
    return {"name": value["name"], "value": held[0]}


def _read_label(value: Json) -> str | None:
    reference = (value.get("valueFrom") or {}).get("fieldRef") or {}
    match = _REFERENCE.fullmatch(str(reference.get("fieldPath")))
    return None if match is None else str(match["label"])


def _label_values(layout: Layout, group: Group, label: str) -> list[str]:
    return [labels_of(layout.job, pod).get(LABELS + label, "") for pod in group.pods]


def unreadable(layout: Layout) -> Iterator[Finding]:
    """Variables that read a label which differs between pods of one template, and is not an index."""
    for group in layout.groups:
        for at, container in enumerate(group.role.containers):
            for index, value in enumerate(container.get("env") or ()):
                label = _read_label(value)
                if label in (None, "replica-index") or len(set(_label_values(layout, group, str(label)))) == 1:
                    continue
                message = f"{value['name']} reads the label {LABELS}{label}, which only the first pod has"
                hint = "read the label training.kubeflow.org/replica-index instead, which is 0 in the first pod"
                path = (*group.role.path, "template", "spec", "containers", at, "env", index)
                yield stuck(path, message, hint)


def rewrite_selectors(value: Any, layout: Layout) -> Any:
    """A pod's affinity, spread or volumes with every selector and field of v1 labels in terms of JobSet's."""
    if isinstance(value, list):
        return [rewrite_selectors(inner, layout) for inner in value]
    if not isinstance(value, Mapping):
        return value
    changed = {key: rewrite_selectors(inner, layout) for key, inner in value.items()}
    if isinstance(value.get("labelSelector"), Mapping):
        changed["labelSelector"] = _selector(value["labelSelector"], layout)
    for key in ("matchLabelKeys", "mismatchLabelKeys"):
        if value.get(key):
            changed[key] = [_key(name, layout) for name in value[key]]
    if isinstance(value.get("fieldPath"), str):
        changed["fieldPath"] = _REFERENCE.sub(
            lambda m: f"metadata.labels['{_key(LABELS + m['label'], layout)}']", value["fieldPath"]
        )
    return changed


def _key(name: str, layout: Layout) -> str:
    """The label of JobSet that tells apart what a label of v1 did."""
    keys = {**_NEW, "job-name": _JOBSET, "replica-index": layout.groups[-1].index_label}
    return keys.get(name.removeprefix(LABELS), name) if name.startswith(LABELS) else name


def _selector(selector: Json, layout: Layout) -> dict[str, Any]:
    labels, expressions = selector.get("matchLabels") or {}, selector.get("matchExpressions") or ()
    requirements = [*({"key": key, "operator": "In", "values": [labels[key]]} for key in labels), *expressions]
    legacy = [requirement for requirement in requirements if requirement["key"].startswith(LABELS)]
    if not legacy:
        return dict(selector)
    labels = {key: value for key, value in labels.items() if not key.startswith(LABELS)}
    kept = [requirement for requirement in expressions if not requirement["key"].startswith(LABELS)]
    for requirement in _new_requirements(legacy, layout):
        if requirement["operator"] == "In" and len(requirement["values"]) == 1:
            labels[requirement["key"]] = requirement["values"][0]
        else:
            kept.append(requirement)
    return {**({"matchLabels": labels} if labels else {}), **({"matchExpressions": kept} if kept else {})}


def pod_labels(labels: Mapping[str, str], layout: Layout) -> tuple[Group, dict[str, str]]:
    """The labels of the pods that v1 gave `labels`, and their group; those of the first pod if no pod had them."""
    legacy_labels = {key: value for key, value in labels.items() if key.startswith(LABELS)}.items()
    chosen = [g for g in layout.groups if any(legacy_labels <= labels_of(layout.job, pod).items() for pod in g.pods)]
    made = _selector({"matchLabels": labels}, layout)
    if chosen and "matchExpressions" not in made:
        return chosen[0], dict(made["matchLabels"])
    first = next(group for group in layout.groups if group.is_trainer)
    return first, {_REPLICATED_JOB: first.name, first.index_label: "0"}


def _new_requirements(legacy: Sequence[Json], layout: Layout) -> Iterator[Json]:
    """Requirements that choose the pods of this job that `legacy` does, and of other jobs those that are alike."""
    named = [requirement for requirement in legacy if requirement["key"] == _JOB_NAME]
    yield from ({**requirement, "key": _JOBSET} for requirement in named)
    if len(named) == len(legacy):
        return
    chosen = {
        pod
        for group in layout.groups
        for pod in group.pods
        if all(_holds(requirement, labels_of(layout.job, pod)) for requirement in legacy if requirement not in named)
    }
    touched = [group for group in layout.groups if chosen & set(group.pods)]
    whole = all(chosen >= set(group.pods) for group in touched)
    if not touched:
        # No pod has a label that is there and is not there.
        yield {"key": _JOBSET, "operator": "Exists"}
        yield {"key": _JOBSET, "operator": "DoesNotExist"}
    elif len(touched) == len(layout.groups) and whole:
        yield from () if named else ({"key": _JOBSET, "operator": "Exists"},)
    else:
        yield {"key": _REPLICATED_JOB, "operator": "In", "values": [group.name for group in touched]}
        if not whole:
            group = touched[0]
            positions = [str(index) for index, pod in enumerate(group.pods) if pod in chosen]
            yield {"key": group.index_label, "operator": "In", "values": positions}


def _holds(requirement: Json, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement["key"]), [str(each) for each in requirement.get("values") or ()]
    holds = {"In": value in values, "NotIn": value not in values, "Exists": value is not None}
    return {**holds, "DoesNotExist": value is None}.get(requirement["operator"], False)


# Other documents that select jobs or pods by the names of v1, which match nothing after the migration.


# The label of JobSet that tells apart what a label of v1 did; for any other it is the name of the JobSet.
_NEW = {"replica-type": _REPLICATED_JOB, "job-role": _REPLICATED_JOB, "replica-index": COMPLETION_INDEX}
_INTEGRATION = "jobset.x-k8s.io/jobset"
_LABEL = pattern(rf"{LABELS.replace('.', '[.]')}(?P<name>[a-z-]+)")
# In Prometheus, labels look like __meta_kubernetes_pod_label_training_kubeflow_org_job_name.
_METRIC_LABEL = pattern(r"label_training_kubeflow_org_(?P<name>[a-z_]+)")
_FRAMEWORK = pattern(rf"\bkubeflow[.]org/(?:{'|'.join(sorted(k.name.lower() for k in KINDS.values()))})\b")


def findings_about(document: Json) -> Iterator[Finding]:
    """A warning for each place of a document, other than a job, that names a label or a kind of v1.

    Its own labels are no such place: they select nothing.
    """
    for path, selected, new in _traces({field: value for field, value in document.items() if field != "metadata"}, ()):
        message = f"this {document.get('kind')} selects {selected}, which migrated jobs do not have"
        yield Finding("LegacyLabelSelected", "warning", message, f"select {new} instead", path)


def _traces(value: Any, path: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield each v1 name: where it is, what it is, and what replaces it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            inside = (*path, str(key))
            yield from ((inside, *named) for named in _named(str(key)))
            yield from _traces(inner, inside)
    elif isinstance(value, list):
        is_ready = _INTEGRATION in value
        for index, inner in enumerate(value):
            if not (is_ready and isinstance(inner, str)):
                yield from _traces(inner, (*path, index))
    elif isinstance(value, str):
        yield from ((path, *named) for named in _named(value))


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Yield the v1 names in a text, each once, since a ConfigMap may contain a whole file."""
    if "kubeflow" not in text:
        return
    labels = (match["name"] for match in _LABEL.finditer(text))
    metrics = (match["name"].replace("_", "-") for match in _METRIC_LABEL.finditer(text))
    for name in dict.fromkeys((*labels, *metrics)):
        yield f"the label {LABELS}{name}", _NEW.get(name, _JOBSET)
    if _INTEGRATION not in text:
        for framework in dict.fromkeys(match[0] for match in _FRAMEWORK.finditer(text)):
            yield framework, f"{_INTEGRATION}, in Kueue's integrations too,"
