"""The kinds of Training Operator v1 and the MPI Operator, which replicated job runs which of their pods, and their labels.

Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go (release-1.9), kubeflow/mpi-operator
pkg/controller/mpi_job_controller.go (v0.8.0), kubernetes-sigs/jobset api/jobset/v1alpha2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import opening
from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, names
from trainc.api.records import dataclass, pattern, replace

LABELS = "training.kubeflow.org/"
# A v1 pod: its role in lower case, and its index within the role.
Pod = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job. `container` is the required name of its main container; MPI uses the first container."""

    name: str
    api: str
    replicas: str
    roles: tuple[str, ...]
    container: str
    port_name: str
    port: int
    restart: str

    @property
    def is_mpi(self) -> bool:
        """Return whether the MPI Operator runs it."""
        return self.name == "MPIJob"


# Of each kind: its fields, with the words for their types, those of an MPI implementation, and what is said of others.
DATA: Json = opening.read_data(__file__, "kinds.json")
KINDS = {(row["api"], row["name"]): Kind(**{**row, "roles": tuple(row["roles"])}) for row in DATA["kinds"]}
# Masters come first because they are rank 0. TF_CONFIG and MPI count each role separately, so any order would do.
_ORDER = ("Chief", "Master", "Launcher", "PS", "Worker", "Evaluator")
_MPI_RESTARTS = {"Launcher": "OnFailure", "Worker": "Never"}


def kind_of(document: Json) -> Kind | None:
    """The kind of a document that can be migrated; None for any other."""
    return KINDS.get((str(document.get("apiVersion")), str(document.get("kind"))))


@dataclass(frozen=True, slots=True)
class Role:
    """The pods of one replica spec. `path` is its position in the job."""

    name: str
    replicas: int
    restart: str
    template: Json
    path: Path

    @property
    def lower(self) -> str:
        """The name in pods, labels and TF_CONFIG."""
        return self.name.lower()

    @property
    def pods(self) -> tuple[Pod, ...]:
        """Its pods."""
        return tuple((self.lower, index) for index in range(self.replicas))

    @property
    def containers(self) -> list[dict[str, Any]]:
        """The containers of its pods."""
        containers: list[dict[str, Any]] = self.template["spec"]["containers"]
        return containers


@dataclass(frozen=True, slots=True)
class Job:
    """A job that v1 would run. `roles` are those in the job, in rank order.

    `name` stands in front of its pods' names. Where only the cluster knows it, as in a Katib trial, it is `$(JOBSET_NAME)`.
    """

    kind: Kind
    name: str
    namespace: str | None
    metadata: Json
    spec: Json
    roles: tuple[Role, ...]

    @property
    def policy(self) -> Json:
        """The run policy."""
        policy: Json = self.spec.get("runPolicy") or {}
        return policy

    @property
    def size(self) -> int:
        """The number of pods."""
        return sum(role.replicas for role in self.roles)

    def role(self, name: str) -> Role | None:
        """The role of that name."""
        return next((role for role in self.roles if role.name == name), None)

    def main(self, role: Role) -> int:
        """The position of the main container among those of a role; 0 where the MPI Operator takes the first one."""
        return next((i for i, c in enumerate(role.containers) if c.get("name") == self.kind.container), 0)

    def main_of(self, role: Role) -> dict[str, Any]:
        """The main container of a role."""
        return role.containers[self.main(role)]

    def port(self, role: Role) -> int:
        """Where the main container of a role listens."""
        ports = self.main_of(role).get("ports") or ()
        numbers = (p["containerPort"] for p in ports if p.get("name") == self.kind.port_name)
        return next(numbers, self.kind.port)


def job_of(kind: Kind, document: Json) -> Job:
    """A document that has no problems, read."""
    metadata, spec = document["metadata"], document["spec"]
    # TFJob alone takes roles in any case, and any other word as it is.
    names = {name.lower(): name for name in kind.roles}
    roles = []
    for key, value in spec[kind.replicas].items():
        name = names.get(key.lower(), key)
        restart = value.get("restartPolicy") or kind.restart or _MPI_RESTARTS[name]
        roles.append(Role(name, value.get("replicas", 1), restart, value["template"], ("spec", kind.replicas, key)))
    roles.sort(key=lambda role: (_ORDER.index(role.name) if role.name in _ORDER else len(_ORDER), role.name))
    return Job(kind, metadata["name"], metadata.get("namespace"), metadata, spec, tuple(roles))


def stuck(path: Path, message: str, hint: str) -> Finding:
    """Why a job cannot be migrated."""
    return Finding("CannotMigrate", "error", message, hint, path)


def changes(path: Path, message: str, hint: str) -> Finding:
    """An info about something that is expressed differently from v1, or had no effect there."""
    return Finding("MigrationChanges", "info", message, hint, path)


def differs(path: Path, message: str, hint: str) -> Finding:
    """A warning about something that v1 did and a JobSet does not, which requires a decision."""
    return Finding("MigrationDiffers", "warning", message, hint, path)


# The layout: which replicated job of a JobSet runs which v1 pods, so that every pod can compute its own rank.
#
# A pod knows its completion index, the index of its Job within the replicated job, and that within the JobSet. If the
# templates are equal, a master and its workers form one job, whose completion index is the rank. Otherwise the
# workers are Jobs of one pod each, and the index within the JobSet is the rank.

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
_GLOBAL_INDEX = "jobset.sigs.k8s.io/job-global-index"


@dataclass(frozen=True, slots=True)
class Group:
    """One replicated job: pods of one template, in order.

    `before` counts the Jobs of the groups before it. `by_job` says that each pod is a Job of its own.
    """

    name: str
    role: Role
    pods: tuple[Pod, ...]
    before: int = 0
    is_trainer: bool = False
    by_job: bool = False

    @property
    def index_label(self) -> str:
        """The label that distinguishes its pods."""
        return JOB_INDEX if self.by_job else COMPLETION_INDEX

    def host(self, job: str, position: int) -> str:
        """The host name of one of its pods."""
        return names.pod_host(job, self.name, *((position, 0) if self.by_job else (0, position)))


@dataclass(frozen=True, slots=True)
class Layout:
    """All groups of a job."""

    job: Job
    groups: tuple[Group, ...]

    @property
    def is_single(self) -> bool:
        """Return whether one replicated job holds all pods, so that the TrainJob itself can specify what they run."""
        return len(self.groups) == 1 and not self.job.kind.is_mpi

    @property
    def roles(self) -> list[Role]:
        """The roles whose templates the pods use; the first one of identical roles."""
        return list({group.role.name: group.role for group in self.groups}.values())

    def hosts(self) -> dict[Pod, str]:
        """The address of every pod, valid throughout its namespace, by its v1 identity."""
        job, placed = self.job.name, ((group, pod) for group in self.groups for pod in enumerate(group.pods))
        return {pod: f"{group.host(job, index)}.{job}" for group, (index, pod) in placed}

    def host(self, role: str) -> str:
        """The address of the first pod that v1 had in a role."""
        return self.hosts()[role, 0]


def index_source(group: Group, first: int) -> dict[str, Any]:
    """An environment variable source for `first` plus the position of the pod in its group."""
    if len(group.pods) == 1:
        return {"value": str(first)}
    assert first == 0 or (group.by_job and first == group.before)
    label = _GLOBAL_INDEX if first else JOB_INDEX
    path = f"metadata.labels['{label}']" if group.by_job else names.COMPLETION_INDEX
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def layout_of(job: Job) -> Layout:
    """The groups of a job, according to its kind, with shortened names if pod names would be too long."""
    layout = Layout(job, tuple(_groups(job)))
    if excess(layout) <= 0 or job.kind.is_mpi:
        return layout
    # `node` is n, `worker` is w, `worker-rest` is r.
    return Layout(job, tuple(replace(group, name=group.name.rpartition("-")[2][0]) for group in layout.groups))


# The name of a job that only the cluster knows; its pods read it from their label.
UNKNOWN_NAME = "$(JOBSET_NAME)"
NAME_VARIABLE = {
    "name": "JOBSET_NAME",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}},
}


def excess(layout: Layout) -> int:
    """The number of characters by which the longest pod name, with its five random characters, is too long."""
    longest = max(len(group.host(layout.job.name, len(group.pods) - 1)) for group in layout.groups)
    return longest + len("-abcde") - names.LABEL_LIMIT


def _groups(job: Job) -> Iterator[Group]:
    roles = [role for role in job.roles if role.replicas]
    if job.kind.is_mpi:
        yield from _mpi(job, roles)
    elif job.kind.name == "PaddleJob":
        yield from _paddle(roles)
    elif len(roles) == 1 or (job.kind.name in ("PyTorchJob", "XGBoostJob") and _alike(roles)):
        yield Group(names.NODE, roles[0], tuple(pod for role in roles for pod in role.pods), is_trainer=True)
    elif job.kind.name == "TFJob":
        # The end of the chief or master, or else of the workers, is that of the job.
        deciding = min(roles, key=lambda role: (role.name not in ("Chief", "Master"), role.name != "Worker"))
        yield from (Group(role.lower, role, role.pods, is_trainer=role is deciding) for role in roles)
    else:
        master, worker = roles
        yield Group(master.lower, master, master.pods, is_trainer=True)
        yield Group(worker.lower, worker, worker.pods, before=1, by_job=True)


def _alike(roles: Iterable[Role]) -> bool:
    """Return whether the pods of these roles differ only by index."""
    first, *others = roles
    fields = str(first.template).replace("\\'", "'")
    tells_apart = any(f"labels['{LABELS}{name}']" in fields for name in ("replica-type", "replica-index", "job-role"))
    return not tells_apart and all((o.template, o.restart) == (first.template, first.restart) for o in others)


def _paddle(roles: list[Role]) -> Iterator[Group]:
    """The launcher serves the rendezvous only where PADDLE_MASTER is its own IP: rank 0 stands in a job of its own."""
    first, *others = roles
    if first.replicas == 1:
        yield Group(first.lower if others else names.NODE, first, first.pods, is_trainer=True)
    else:
        yield Group(first.lower, first, first.pods[:1], is_trainer=True)
        yield Group(f"{first.lower}-rest", first, first.pods[1:], before=1, by_job=True)
    number = 1 if first.replicas == 1 else 2
    yield from (Group(role.lower, role, role.pods, number) for role in others)


def _mpi(job: Job, roles: list[Role]) -> Iterator[Group]:
    """The launcher, and the hosts under the name that Trainer has for them.

    Where the launcher works too, the index label of workers began at 1: who reads it reads the index in the JobSet.
    """
    for number, role in enumerate(roles):
        launches = role.name == "Launcher"
        reads_index = bool(job.spec.get("runLauncherAsWorker")) and f"{LABELS}replica-index" in str(role.template)
        name = names.LAUNCHER if launches else names.NODE
        yield Group(name, role, role.pods, number, is_trainer=launches, by_job=reads_index and not launches)


# A name of a host, and what follows its first label.
_HOST = pattern(r"(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_-]+)(?P<behind>\.[A-Za-z0-9_-]+)?")


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names of a job's pods, old and new; `subdomain` may stand behind an old name, and is part of the new."""

    new: Mapping[str, str]
    subdomain: str

    def __call__(self, text: str) -> str:
        """`text` with old names replaced by new ones."""
        return _HOST.sub(self._rename, text)

    def found_in(self, text: str) -> list[str]:
        """The old names in `text`, sorted."""
        return sorted({match["name"] for match in _HOST.finditer(text)} & set(self.new))

    def _rename(self, match: re.Match[str]) -> str:
        new, behind = self.new.get(match["name"]), match["behind"] or ""
        return match[0] if new is None else new if behind == self.subdomain else new + behind


def renaming(layout: Layout) -> Renaming:
    """The new addresses of a job's pods."""
    job = layout.job.name
    new = {f"{job}-{role}-{index}": host for (role, index), host in layout.hosts().items()}
    if layout.job.kind.is_mpi:
        # Pods of an MPIJob share one Service of the job's name; those of others have one each.
        return Renaming({**new, f"{job}-launcher": new[f"{job}-launcher-0"]}, f".{job}")
    return Renaming(new, "")


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
        roles = {v1_role.lower for v1_role in job.roles}
        if job.kind.name == "TFJob":
            is_master = role in ("chief", "master") if roles & {"chief", "master"} else pod == ("worker", 0)
        else:
            leads = job.kind.name in ("PyTorchJob", "JAXJob") and "master" not in roles and index == 0
            is_master = role == "master" or leads
        labels |= {"job-role": "master"} if is_master else {}
    return {f"{LABELS}{name}": value for name, value in labels.items()}


def variable(value: Json, layout: Layout, group: Group) -> Json:
    """A variable that reads a label of v1, made to hold what it held; any other as it is."""
    label = _read_label(value)
    if label is None:
        return value
    old_values = _label_values(layout, group, label)
    if label == "replica-index" and old_values[0].isdigit():
        # The MPI Operator counts workers from 1 where the launcher works too; a completion index begins at 0.
        first = int(old_values[0]) if group.by_job or len(group.pods) == 1 else 0
        return {"name": value["name"], **index_source(group, first)}
    return {"name": value["name"], "value": old_values[0]}


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
    new_expressions = [requirement for requirement in expressions if not requirement["key"].startswith(LABELS)]
    for requirement in _new_requirements(legacy, layout):
        if requirement["operator"] == "In" and len(requirement["values"]) == 1:
            labels[requirement["key"]] = requirement["values"][0]
        else:
            new_expressions.append(requirement)
    parts = {"matchLabels": labels, "matchExpressions": new_expressions}
    return {key: part for key, part in parts.items() if part}


def pod_labels(labels: Mapping[str, str], layout: Layout) -> tuple[Group, dict[str, str]]:
    """The labels of the pods that v1 gave `labels`, and their group; those of the first pod if no pod had them."""
    legacy_labels = {key: value for key, value in labels.items() if key.startswith(LABELS)}.items()
    chosen = [g for g in layout.groups if any(legacy_labels <= labels_of(layout.job, pod).items() for pod in g.pods)]
    new_selector = _selector({"matchLabels": labels}, layout)
    if chosen and "matchExpressions" not in new_selector:
        return chosen[0], dict(new_selector["matchLabels"])
    first = next(group for group in layout.groups if group.is_trainer)
    return first, {_REPLICATED_JOB: first.name, first.index_label: "0"}


def _new_requirements(legacy: Sequence[Json], layout: Layout) -> Iterator[Json]:
    """Requirements that choose the pods of this job that `legacy` does, and of other jobs those that are alike."""
    name_requirements = [requirement for requirement in legacy if requirement["key"] == _JOB_NAME]
    yield from ({**requirement, "key": _JOBSET} for requirement in name_requirements)
    others = [requirement for requirement in legacy if requirement["key"] != _JOB_NAME]
    if not others:
        return
    chosen = {
        pod
        for group in layout.groups
        for pod in group.pods
        if all(_holds(requirement, labels_of(layout.job, pod)) for requirement in others)
    }
    groups = [group for group in layout.groups if chosen & set(group.pods)]
    complete = all(chosen >= set(group.pods) for group in groups)
    if not groups:
        # No pod has a label that is there and is not there.
        yield {"key": _JOBSET, "operator": "Exists"}
        yield {"key": _JOBSET, "operator": "DoesNotExist"}
    elif len(groups) == len(layout.groups) and complete:
        yield from () if name_requirements else ({"key": _JOBSET, "operator": "Exists"},)
    else:
        yield {"key": _REPLICATED_JOB, "operator": "In", "values": [group.name for group in groups]}
        if not complete:
            group = groups[0]
            positions = [str(index) for index, pod in enumerate(group.pods) if pod in chosen]
            yield {"key": group.index_label, "operator": "In", "values": positions}


def _holds(requirement: Json, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement["key"]), [str(item) for item in requirement.get("values") or ()]
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
            yield from ((inside, *trace) for trace in _legacy_names(str(key)))
            yield from _traces(inner, inside)
    elif isinstance(value, list):
        is_ready = _INTEGRATION in value
        for index, inner in enumerate(value):
            if not (is_ready and isinstance(inner, str)):
                yield from _traces(inner, (*path, index))
    elif isinstance(value, str):
        yield from ((path, *trace) for trace in _legacy_names(value))


def _legacy_names(text: str) -> Iterator[tuple[str, str]]:
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
