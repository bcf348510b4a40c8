"""Whether the pods that a migrated job becomes are those that the v1 operators made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

from conformance import Case
from conformance.v1_pods import MAIN, Addresses, Pod, pods_of_jobset, pods_of_v1
from trainc import CompileError, Options, compile_trainjob, migrate
from trainc.kube.quantity import canonical
from trainc.reading.catalog import find

OPTIONS = Options(release="2.3")
# What only v1's operator mounts, and what trainc's plugin for MPI mounts in their place.
_VOLUMES_OF_MPI = {"ssh-auth", "mpi-job-config", "mpi-ssh-auth", "mpi-hostfile"}
_OF_CONTAINERS = (
    "envFrom workingDir securityContext lifecycle livenessProbe readinessProbe startupProbe tty stdin stdinOnce "
    "volumeDevices restartPolicy resizePolicy"
).split()
_OF_PODS = {
    **dict.fromkeys(("hostNetwork", "hostIPC", "hostPID", "shareProcessNamespace"), False),
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "enableServiceLinks": True,
    **dict.fromkeys(
        "nodeSelector tolerations serviceAccountName imagePullSecrets securityContext priorityClassName runtimeClassName "
        "hostAliases automountServiceAccountToken overhead preemptionPolicy readinessGates os nodeName "
        "activeDeadlineSeconds".split()
    ),
}
# Who a process is, by kind: any of these says it.
_RANKS = {
    "PyTorchJob": ("RANK", "PET_NODE_RANK"),
    "XGBoostJob": ("RANK", "DMLC_TASK_ID"),
    "JAXJob": ("PROCESS_ID", "JAX_PROCESS_ID"),
}
_OF_TORCHRUN = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
_LAUNCHER = re.compile(r"torchrun|torch\.distributed\.(run|launch)")
# Nothing that a job does depends on these.
_PASSED_OVER = {"POD_IP_DUMMY", "PYTHONUNBUFFERED", "K_MPI_JOB_ROLE"}


def judge_pods(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare pods and life cycle; what a diagnostic names may differ."""
    for case in cases:
        yield case["id"], different_pods(case, answer(case))


def answer(case: Case, **choices: Any) -> Case:
    """The manifests and diagnostics of a job that is migrated and compiled, or why it is refused."""
    try:
        moved = migrate([case["input"]], OPTIONS, **choices)
        (job,) = (document for document in moved.documents if document["kind"] == "TrainJob")
        runtimes = [document for document in moved.documents if document["kind"] == "TrainingRuntime"]
        shipped = find(job["spec"]["runtimeRef"]["name"], "2.3")
        compiled = compile_trainjob(job, runtimes or ([shipped.data] if hasattr(shipped, "data") else []), OPTIONS)
    except CompileError as error:
        return {"refused": [str(diagnostic) for diagnostic in error.diagnostics if diagnostic.severity == "error"]}
    others = [document for document in moved.documents if document["kind"] == "ConfigMap"]
    told = [f"{d.code} {d.path}: {d.message} {d.hint}" for d in (*moved.diagnostics, *compiled.diagnostics)]
    return {"manifests": compiled.manifests + others, "told": "\n".join(told)}


def different_pods(case: Case, given: Case, excused: frozenset[str] = frozenset()) -> list[str]:
    """What is different, each with the field in front; fields in `excused` may be."""
    if "refused" in given:
        # v1 runs a few jobs that no JobSet can express: to say so is no wrong answer.
        return []
    if case["refused"]:
        return [f"accepted: v1 refuses it: {case['refused'][0]}"]
    comparison = _Comparison(case, given)
    return [f"{name}: {text}" for name, text in dict.fromkeys(comparison.differences()) if name not in excused]


_Difference = tuple[str, str]


class _Comparison:
    def __init__(self, case: Case, given: Case) -> None:
        self.case, self.kind, self.told = case, case["kind"], given["told"]
        self.is_mpi = case["kind"] == "MPIJob"
        self.manifests = given["manifests"]
        (self.jobset,) = (each for each in self.manifests if each["kind"] == "JobSet")
        self.former, self.now = pods_of_v1(case), list(pods_of_jobset(self.jobset))
        self.added = self._added_by_the_operator()
        self.ports: set[str | None] = set()

    def differences(self) -> Iterator[_Difference]:
        yield from self._metadata()
        if len(self.former) != len(self.now):
            yield "pods", f"{len(self.now)}, v1 has {len(self.former)}"
            return
        if any(pod.job.get("parallelism", 1) < pod.job.get("completions", 1) for pod in self.now):
            yield "parallelism", "less than completions"
        paired = self._pairs()
        if isinstance(paired, str):
            yield "rank", paired
            return
        for key, pod in paired.items():
            pod.key = key
        self.addresses_before = Addresses(self.former, reaches=lambda *_: True)
        gone = frozenset(pod.host for pod in self.former) - {pod.host for pod in self.now}
        self.addresses_now = Addresses(self.now, reaches=_reaches, former=gone)
        for former in self.former:
            for name, text in self._one(former, paired[former.key]):
                yield name, f"{former.key}: {text}"
        yield from (("address", f"{address} leads nowhere") for address in self.addresses_now.unknown)
        if len(self.ports) > 1:
            yield "address", f"PET_MASTER_PORT differs between pods: {self.ports}"
        if self.is_mpi:
            yield from self._mpi(paired)
        yield from self._life(paired)

    def _metadata(self) -> Iterator[_Difference]:
        metadata = self.case["input"]["metadata"]
        mine = self.jobset["metadata"]
        if mine["name"] != metadata["name"] or (mine.get("namespace") or "default") != (
            metadata.get("namespace") or "default"
        ):
            yield "name", f"{mine.get('namespace')}/{mine['name']}"
        for kind in ("labels", "annotations"):
            for name, value in (metadata.get(kind) or {}).items():
                if (mine.get(kind) or {}).get(name) != value and name not in self.told:
                    yield kind, f"{name} is lost"

    def _added_by_the_operator(self) -> dict[str, set[str]]:
        """The variables that a template of v1 does not have, by pod: the operator's."""
        added = {}
        for pod in self.former:
            container = self._main_before(pod)
            template = next(
                each
                for each in self._replica_spec(pod)["template"]["spec"]["containers"]
                if each["name"] == container["name"]
            )
            own = len(template.get("env") or [])
            added[pod.key] = {variable["name"] for variable in (container.get("env") or [])[own:]}
        return added

    def _replica_spec(self, pod: Pod) -> Case:
        specs = next(
            value
            for name, value in self.case["input"]["spec"].items()
            if name.endswith("ReplicaSpecs") and isinstance(value, dict)
        )
        spec: Case = next(value for role, value in specs.items() if role.lower() == pod.role)
        return spec

    def _main_before(self, pod: Pod) -> Case:
        return pod.containers[0] if self.is_mpi else pod.main(MAIN[self.kind])

    def _main_now(self, former: Pod, pod: Pod) -> Case:
        names = ("node", self._main_before(former)["name"], *(["launcher"] if pod.role == "launcher" else []))
        return pod.main(*names)

    # Which pod takes the place of which.

    def _pairs(self) -> dict[str, Pod] | str:
        before = {pod.key: self._rank(pod.environment(self._main_before(pod))) for pod in self.former}
        if self.is_mpi or self.kind == "PaddleJob" or not any(before.values()):
            return self._by_position()
        now: dict[str, Pod] = {}
        for pod in self.now:
            rank = self._rank(pod.environment(pod.main("node", MAIN[self.kind])))
            if rank is None or rank in now:
                return f"{pod.host} has rank {rank}, {'as another pod' if rank else 'that is none'}"
            now[rank] = pod
        if set(now) != set(before.values()):
            return f"ranks {sorted(now)}, v1 has {sorted(map(str, before.values()))}"
        return {key: now[str(rank)] for key, rank in before.items()}

    def _rank(self, values: dict[str, str]) -> str | None:
        if self.kind == "TFJob" and values.get("TF_CONFIG"):
            task = json.loads(values["TF_CONFIG"])["task"]
            return f"{task['type']}/{int(task['index'])}"
        return next((values[name] for name in _RANKS.get(self.kind, ()) if values.get(name, "").isdigit()), None)

    def _by_position(self) -> dict[str, Pod] | str:
        left, pairs = list(self.now), {}
        for former in self.former:
            same_role = [pod for pod in left if re.sub(r"-?\d+$", "", pod.role).lower() == former.role]
            workers = (
                [pod for pod in left if pod.role != "launcher"] if self.is_mpi and former.role == "worker" else left
            )
            if not (candidates := same_role or workers):
                return f"no pod takes the place of {former.key}"
            pairs[former.key] = candidates[0]
            left.remove(candidates[0])
        return pairs

    # One pod beside the other.

    def _one(self, former: Pod, pod: Pod) -> Iterator[_Difference]:
        before, now = self._main_before(former), self._main_now(former, pod)
        launched = yield from self._command(former, pod, before, now)
        yield from self._variables(former, pod, before, now, launched=launched)
        yield from self._container(before, now)
        others = {each["name"]: each for each in pod.containers if each is not now}
        for container in former.containers:
            if container is not before:
                yield from self._beside(former, pod, container, others.get(container["name"]))
        inits = [each for each in former.spec.get("initContainers") or [] if each["name"] != "init-pytorch"]
        kept = {each["name"]: each for each in pod.spec.get("initContainers") or []}
        if [each["name"] for each in inits] != list(kept):
            yield "initContainers", f"{list(kept)}"
        else:
            for container in inits:
                yield from self._beside(former, pod, container, kept[container["name"]], variables=False)
        yield from self._pod(former, pod)

    def _command(self, former: Pod, pod: Pod, before: Case, now: Case) -> Generator[_Difference, None, bool]:
        words_before, words_now = former.words(before), pod.words(now)
        first = self.addresses_before.replaced(words_before, former)
        second = self.addresses_now.replaced(words_now, pod)
        if first == second or (words_before[0] and words_now[0] and _joined(first) == _joined(second)):
            return False
        program, arguments = _joined(first)[:1], _joined(first)[1:]
        words = _joined(second)
        is_python = bool(program) and re.fullmatch(r"(.*/)?python3?", program[0]) is not None
        starts_alone = is_python and not _LAUNCHER.search(" ".join(arguments))
        is_launched = bool(_LAUNCHER.search(" ".join(words[:3]))) and words[len(words) - len(arguments) :] == arguments
        if self.kind == "PyTorchJob" and starts_alone and is_launched:
            return True
        yield "command", f"{words}, v1 {[*program, *arguments]}"
        return False

    def _variables(self, former: Pod, pod: Pod, before: Case, now: Case, *, launched: bool) -> Iterator[_Difference]:
        raw = pod.environment(now)
        values_before = self.addresses_before.replaced(former.environment(before), former)
        values_now = self.addresses_now.replaced(raw, pod)
        for name, value in values_before.items():
            mine = values_now.get(name)
            is_added = name in self.added[former.key]
            if mine == value or name in _PASSED_OVER:
                continue
            if not is_added:
                yield "env", f"{name} is {mine!r}, v1 {value!r}"
            elif not self._same_meaning(name, value, mine, before, pod, now, launched=launched, values=values_now):
                yield "operator's env", f"{name} is {mine!r}, v1 {value!r}"

    def _same_meaning(
        self,
        name: str,
        value: str,
        mine: str | None,
        before: Case,
        pod: Pod,
        now: Case,
        *,
        launched: bool,
        values: dict[str, str],
    ) -> bool:
        """Whether what the operator said by a variable is said, though not by this value."""
        if launched and name in _OF_TORCHRUN:
            return name != "WORLD_SIZE" or values.get("PET_NNODES") == str(len(self.former))
        if name == "PET_MASTER_PORT":
            self.ports.add(mine)
            return bool(mine) and str(mine).isdigit()
        if name == "PET_NPROC_PER_NODE":
            words = " ".join(_joined(pod.words(now)))
            if launched:
                return mine == "1" or re.search(r"--nproc[-_]per[-_]node[= ]1(?!\d)", words) is not None
            devices: object = ((before.get("resources") or {}).get("limits") or {}).get("nvidia.com/gpu")
            return not value.isdigit() and (mine in {None, "auto", str(devices)} or devices is None)
        if name == "TF_CONFIG":
            return bool(_without_environment(value) == _without_environment(mine))
        if self.is_mpi and value.startswith("/etc/mpi/"):
            return mine in self._files(pod, now)
        return False

    def _container(self, before: Case, now: Case) -> Iterator[_Difference]:
        if before.get("image") != now.get("image"):
            yield "image", f"{now.get('image')}, v1 {before.get('image')}"
        if _amounts(before) != _amounts(now):
            yield "resources", f"{now.get('resources')}, v1 {before.get('resources')}"
        if self._mounts(before) != self._mounts(now):
            yield "volumeMounts", f"{self._mounts(now)}, v1 {self._mounts(before)}"
        for name in _OF_CONTAINERS:
            if (before.get(name) or None) != (now.get(name) or None):
                yield name, f"{now.get(name)}, v1 {before.get(name)}"

    def _beside(
        self, former: Pod, pod: Pod, container: Case, mine: Case | None, *, variables: bool = True
    ) -> Iterator[_Difference]:
        if mine is None:
            yield "container", f"{container['name']} is lost"
            return
        first = self.addresses_before.replaced(former.words(container), former)
        if first != self.addresses_now.replaced(pod.words(mine), pod):
            yield "command", f"{container['name']}: {pod.words(mine)}"
        if variables:
            before = self.addresses_before.replaced(former.environment(container), former)
            now = self.addresses_now.replaced(pod.environment(mine), pod)
            text = json.dumps([container.get("command"), container.get("args")])
            for name, value in before.items():
                is_used = name not in self.added[former.key] or re.search(rf"\$[({{]?{name}\b", text)
                if now.get(name) != value and is_used and name not in _PASSED_OVER:
                    yield "env", f"{container['name']}: {name} is {now.get(name)!r}, v1 {value!r}"
        yield from self._container(container, mine)

    def _mounts(self, container: Case) -> list[str]:
        mounts = (mount for mount in container.get("volumeMounts") or [] if not self._is_of_mpi(mount))
        return sorted(json.dumps({k: v for k, v in mount.items() if v}, sort_keys=True) for mount in mounts)

    def _is_of_mpi(self, volume: Case) -> bool:
        return self.is_mpi and volume["name"] in _VOLUMES_OF_MPI

    def _pod(self, former: Pod, pod: Pod) -> Iterator[_Difference]:
        for name, default in _OF_PODS.items():
            before, now = (each.spec.get(name, default) or default or None for each in (former, pod))
            if before != now:
                yield name, f"{now}, v1 {before}"
        volumes = [
            sorted(
                json.dumps(volume, sort_keys=True)
                for volume in each.spec.get("volumes") or []
                if not self._is_of_mpi(volume)
            )
            for each in (former, pod)
        ]
        if volumes[0] != volumes[1]:
            yield "volumes", f"{volumes[1]}, v1 {volumes[0]}"
        for name in ("options", "nameservers"):
            if (former.spec.get("dnsConfig") or {}).get(name) != (pod.spec.get("dnsConfig") or {}).get(name):
                yield "dnsConfig", name
        if pod.annotations.get("sidecar.istio.io/inject") != former.annotations.get("sidecar.istio.io/inject"):
            yield "annotations", "sidecar.istio.io/inject is lost"
        for name in ("affinity", "topologySpreadConstraints"):
            # A selector may be written otherwise, but it has to choose the same pods.
            before, now = (
                _selected(each.spec.get(name), pods) for each, pods in ((former, self.former), (pod, self.now))
            )
            if (before or None) != (now or None):
                yield name, f"{now}, v1 {before}"

    # MPI.

    def _mpi(self, paired: dict[str, Pod]) -> Iterator[_Difference]:
        launcher = paired["launcher/0"]
        former = next(pod for pod in self.former if pod.role == "launcher")
        container = self._main_now(former, launcher)
        files = self._files(launcher, container)
        wanted = self.addresses_before.replaced(_hosts(self.case["configMap"]["hostfile"]), former)
        hostfile = next((text for path, text in files.items() if path.endswith("hostfile")), "")
        mine = self.addresses_now.replaced(_hosts(hostfile), launcher)
        if mine != wanted:
            yield "hostfile", f"{mine}, v1 {wanted}"
        text = json.dumps([former.containers[0].get("command"), former.containers[0].get("args")])
        for path in set(re.findall(r"/etc/mpi/[a-z_.]+", text)):
            if path not in files and path not in self.told and path.rpartition("/")[2] not in self.told:
                yield "hostfile", f"the command names {path}, which is not there"
        keys = self.case["defaulted"].get("sshAuthMountPath")
        for each in self.former:
            mounted = self._main_now(each, paired[each.key]).get("volumeMounts") or []
            if all(mount["mountPath"].rstrip("/") != keys for mount in mounted):
                yield "ssh", f"{each.key}: nothing is mounted at {keys}"
        waits = self.case["input"]["spec"].get("launcherCreationPolicy") == "WaitForWorkersReady"
        in_order = (self.jobset["spec"].get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
        if (
            waits
            and not (launcher.replicated.get("dependsOn") or in_order)
            and "launcherCreationPolicy" not in self.told
        ):
            yield "launcherCreationPolicy", "is lost"

    def _files(self, pod: Pod, container: Case) -> dict[str, str]:
        """The files of ConfigMaps that a container sees, by path."""
        data = {
            each["metadata"]["name"]: each.get("data") or {} for each in self.manifests if each["kind"] == "ConfigMap"
        }
        volumes = {volume["name"]: volume.get("configMap") or {} for volume in pod.spec.get("volumes") or []}
        files = {}
        for mount in container.get("volumeMounts") or []:
            source = volumes.get(mount["name"], {})
            texts = data.get(source.get("name"), {})
            for item in source.get("items") or [{"key": key, "path": key} for key in texts]:
                if item["key"] in texts:
                    below = "" if mount.get("subPath") else f"/{item['path']}"
                    files[mount["mountPath"].rstrip("/") + below] = texts[item["key"]]
        return files

    # How it starts, restarts and ends.

    def _life(self, paired: dict[str, Pod]) -> Iterator[_Difference]:
        spec, policy = self.jobset["spec"], self.case["input"]["spec"].get("runPolicy") or {}
        jobs = [pod.job for pod in paired.values()]
        restarts = (spec.get("failurePolicy") or {}).get("maxRestarts")
        kept = {
            "suspend": bool(policy.get("suspend")) == bool(spec.get("suspend")),
            "managedBy": policy.get("managedBy") != "kueue.x-k8s.io/multikueue"
            or spec.get("managedBy") == policy["managedBy"],
            "ttlSecondsAfterFinished": policy.get("ttlSecondsAfterFinished")
            in (None, spec.get("ttlSecondsAfterFinished")),
            "activeDeadlineSeconds": all(
                policy.get("activeDeadlineSeconds") in (None, job.get("activeDeadlineSeconds")) for job in jobs
            ),
            "backoffLimit": policy.get("backoffLimit") in (None, restarts, *(job.get("backoffLimit") for job in jobs)),
        }
        yield from ((name, "is lost") for name, is_kept in kept.items() if not is_kept and name not in self.told)
        text = json.dumps(self.manifests)
        has_gang = any(each["kind"] in ("PodGroup", "Workload") for each in self.manifests)
        for name, value in (policy.get("schedulingPolicy") or {}).items():
            is_written = isinstance(value, str) and value != "default" and json.dumps(value) in text
            if not (has_gang or is_written or name in self.told or "schedulingPolicy" in self.told):
                yield "schedulingPolicy", f"{name} is lost"
        for former in self.former:
            if (lost := self._restart(former, paired[former.key], restarts or 0)) and "restartPolicy" not in self.told:
                yield "restartPolicy", f"{former.key}: {lost}"
        yield from self._end(paired)

    def _restart(self, former: Pod, pod: Pod, restarts: int) -> str:
        specs = next(value for name, value in self.case["defaulted"].items() if name.endswith("ReplicaSpecs"))
        policy = next((value["restartPolicy"] for role, value in specs.items() if role.lower() == former.role), None)
        mine, retries = pod.spec.get("restartPolicy", "OnFailure"), pod.job.get("backoffLimit")
        if policy == "Never":
            again = not self.is_mpi and ((restarts > 0 and "maxRestarts" not in self.told) or (retries != 0))
            return f"{mine}, {restarts} restarts and {retries} retries, v1 Never" if mine != "Never" or again else ""
        if policy == "ExitCode":
            told = "ExitCode" in self.told
            return "" if told or (mine == "Never" and pod.job.get("podFailurePolicy")) else f"{mine}, v1 ExitCode"
        if policy in ("OnFailure", "Always"):
            starts_again = mine == "OnFailure" or (retries or 0) > 0 or restarts > 0
            is_told = policy == "OnFailure" or "Always" in self.told
            return "" if starts_again and is_told else f"{mine}, v1 {policy}"
        return ""

    def _end(self, paired: dict[str, Pod]) -> Iterator[_Difference]:
        """Jobs that would wait for pods that never end, such as parameter servers."""
        roles = {pod.role for pod in self.former}
        policy = self.jobset["spec"].get("successPolicy") or {}
        mine = {key: pod.role for key, pod in paired.items()}
        target = set(policy.get("targetReplicatedJobs") or (mine.values() if policy else ()))
        if self.is_mpi and "worker" in roles and target != {mine["launcher/0"]}:
            yield "successPolicy", f"{policy}, in v1 the launcher decides"
        if self.kind == "TFJob" and roles & {"ps", "evaluator"}:
            deciding = roles & {"chief", "master"} or {"worker"}
            ends = {role for key, role in mine.items() if key.split("/")[0] in deciding}
            if not target or not target <= ends:
                yield "successPolicy", f"{policy}, in v1 {sorted(ends)} decide"


def _reaches(host: str, seen_from: Pod) -> bool:
    """A bare host name is found by the pod itself, or with the JobSet's domain among the pod's search domains."""
    searches = (seen_from.spec.get("dnsConfig") or {}).get("searches") or []
    return host == seen_from.host or f"{seen_from.subdomain}.{seen_from.namespace}.svc.cluster.local" in searches


def _joined(words: Sequence[list[str]]) -> list[str]:
    return [word for part in words for word in part]


def _without_environment(text: str | None) -> Any:
    try:
        return {key: value for key, value in json.loads(text or "{}").items() if key != "environment"}
    except ValueError:
        return text


def _amounts(container: Case) -> dict[str, dict[str, str]]:
    """Limits and requests in their canonical form; a limit is also a request."""
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    requests = {**limits, **(resources.get("requests") or {})}
    return {
        name: {resource: canonical(amount) for resource, amount in amounts.items()}
        for name, amounts in (("limits", limits), ("requests", requests))
    }


def _hosts(text: str) -> list[list[str]]:
    lines = (line.strip() for line in text.splitlines())
    return [re.split(r"\s+slots=|:", line) for line in lines if line and not line.startswith("#")]


def _selected(value: Any, pods: list[Pod]) -> Any:
    """The value with each label selector replaced by the pods that it selects."""
    if isinstance(value, list):
        return [_selected(item, pods) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: sorted(pod.key for pod in pods if _matches(item, pod.labels))
        if name == "labelSelector"
        else _selected(item, pods)
        for name, item in value.items()
    }


def _matches(selector: Case | None, labels: dict[str, str]) -> bool:
    if selector is None or any(
        labels.get(name) != value for name, value in (selector.get("matchLabels") or {}).items()
    ):
        return False
    tests: dict[str, Callable[[str | None, list[str]], bool]] = {
        "In": lambda value, values: value in values,
        "NotIn": lambda value, values: value not in values,
        "Exists": lambda value, _: value is not None,
        "DoesNotExist": lambda value, _: value is None,
    }
    expressions = selector.get("matchExpressions") or []
    return all(tests[each["operator"]](labels.get(each["key"]), each.get("values") or []) for each in expressions)
