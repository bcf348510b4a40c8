"""Labels: what selects pods by the labels that v1 gave them, or reads one, in terms of those that JobSet gives them.

Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go (release-1.9), kubeflow/mpi-operator
pkg/controller/mpi_job_controller.go (v0.8.0), kubernetes-sigs/jobset api/jobset/v1alpha2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.features.migrate.v1.job import Job
from trainc.features.migrate.v1.kinds import LABELS
from trainc.features.migrate.v1.layout import Group, Layout, Pod, counted
from trainc.findings import Finding
from trainc.kube.documents import Json
from trainc.startup.patterns import pattern

_JOBSET = "jobset.sigs.k8s.io/jobset-name"
_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
_JOB_NAME = f"{LABELS}job-name"
_REFERENCE = pattern(rf"metadata\.labels\['{LABELS}(?P<label>[a-z-]+)'\]")


def labels_of(job: Job, pod: Pod) -> dict[str, str]:
    """The labels that v1 gives a pod."""
    role, index = pod
    labels = {"job-name": job.name, "operator-name": job.kind.operator}
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
    role, index = pod
    roles = {role.lower for role in job.roles}
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
        return {"name": value["name"], **_index(group, held)}
    return {"name": value["name"], "value": held[0]}


def _read_label(value: Json) -> str | None:
    reference = (value.get("valueFrom") or {}).get("fieldRef") or {}
    found = _REFERENCE.fullmatch(str(reference.get("fieldPath")))
    return None if found is None else str(found["label"])


def _label_values(layout: Layout, group: Group, label: str) -> list[str]:
    """What a label of v1 held in each pod of a group."""
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
                yield Finding("CannotMigrate", "error", message, hint, path)


def _index(group: Group, held: Sequence[str]) -> dict[str, Any]:
    first = int(held[0])
    # The MPI Operator counts workers from 1 where the launcher works too; a completion index begins at 0.
    return counted(group, first if group.by_job or len(group.pods) == 1 else 0)


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
    index = layout.groups[-1].index_label
    keys = {"job-name": _JOBSET, "replica-type": _REPLICATED_JOB, "job-role": _REPLICATED_JOB, "replica-index": index}
    return keys.get(name.removeprefix(LABELS), name) if name.startswith(LABELS) else name


def _selector(selector: Json, layout: Layout) -> dict[str, Any]:
    requirements = list(_requirements(selector))
    legacy = [requirement for requirement in requirements if requirement["key"].startswith(LABELS)]
    if not legacy:
        return dict(selector)
    labels = {k: v for k, v in (selector.get("matchLabels") or {}).items() if not k.startswith(LABELS)}
    kept = [r for r in selector.get("matchExpressions") or () if not r["key"].startswith(LABELS)]
    for requirement in _new_requirements(legacy, layout):
        if requirement["operator"] == "In" and len(requirement["values"]) == 1:
            labels[requirement["key"]] = requirement["values"][0]
        else:
            kept.append(requirement)
    return {**({"matchLabels": labels} if labels else {}), **({"matchExpressions": kept} if kept else {})}


def _requirements(selector: Json) -> Iterator[Json]:
    for key, value in (selector.get("matchLabels") or {}).items():
        yield {"key": key, "operator": "In", "values": [value]}
    yield from selector.get("matchExpressions") or ()


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
    value, operator = labels.get(requirement["key"]), requirement["operator"]
    values = [str(wanted) for wanted in requirement.get("values") or ()]
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(operator, False)
