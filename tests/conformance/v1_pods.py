"""Pods as a kubelet would start them: those that the v1 operators made, and those that a JobSet becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from conformance import Case

_INDEX = "batch.kubernetes.io/job-completion-index"
_JOBSET = "jobset.sigs.k8s.io"
# The container that does the training, by kind; a launcher or worker of MPI has one.
MAIN = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "JAXJob": "jax", "PaddleJob": "paddle"}


@dataclass
class Pod:
    """A pod: `key` is role and index of the pod of v1 that it is, or takes the place of."""

    host: str
    subdomain: str | None
    role: str
    namespace: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: dict[str, Any]
    job: dict[str, Any] = field(default_factory=dict)
    replicated: dict[str, Any] = field(default_factory=dict)
    key: str = ""

    @property
    def containers(self) -> list[dict[str, Any]]:
        """Its containers, without those that run before."""
        return self.spec.get("containers") or []

    def main(self, *names: str) -> dict[str, Any]:
        """The container that does the training: the first of these names that there is, or the first of all."""
        by_name = {container["name"]: container for container in self.containers}
        return next((by_name[name] for name in names if name in by_name), self.containers[0])

    def environment(self, container: dict[str, Any]) -> dict[str, str]:
        """The variables of a container as the kubelet computes them; what only a node knows is a word in angles."""
        values: dict[str, str] = {}
        for variable in container.get("env") or []:
            source = (variable.get("valueFrom") or {}).get("fieldRef")
            if variable.get("value"):
                values[variable["name"]] = expanded(variable["value"], values)
            elif source:
                values[variable["name"]] = self._field(source["fieldPath"])
            else:
                values[variable["name"]] = f"<{variable['valueFrom']}>" if variable.get("valueFrom") else ""
        return values

    def _field(self, path: str) -> str:
        if found := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path):
            return str(getattr(self, found[1]).get(found[2], ""))
        if path == "metadata.namespace":
            return self.namespace
        return f"<pod {self.key}>" if path.startswith("status.podIP") else f"<{path}>"

    def words(self, container: dict[str, Any]) -> tuple[list[str], list[str]]:
        """Command and arguments of a container, with `$(NAME)` replaced."""
        values = self.environment(container)
        command, arguments = (container.get(name) or [] for name in ("command", "args"))
        return [expanded(str(word), values) for word in command], [expanded(str(word), values) for word in arguments]


def expanded(text: str, values: dict[str, str]) -> str:
    """Replace `$(NAME)` where NAME is known; `$$` stands for a dollar sign."""

    def replaced(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return values.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", replaced, text)


def pods_of_v1(case: Case) -> list[Pod]:
    """The pods that the operator made."""
    namespace = case["input"]["metadata"].get("namespace") or "default"
    is_mpi = case["kind"] == "MPIJob"
    return [
        Pod(
            host=pod["hostname"] if is_mpi else pod["name"],
            subdomain=pod["subdomain"] if is_mpi else None,
            role=pod["role"],
            namespace=namespace,
            labels=pod.get("labels") or {},
            annotations=pod.get("annotations") or {},
            spec=pod,
            key=f"{pod['role']}/{pod['index']}",
        )
        for pod in case["pods"]
    ]


def pods_of_jobset(jobset: Case) -> Iterator[Pod]:
    """The pods that JobSet's and Kubernetes' controllers make, initializers left out."""
    name, spec = jobset["metadata"]["name"], jobset["spec"]
    network = spec.get("network") or {}
    subdomain = network.get("subdomain") or name if network.get("enableDNSHostnames", True) else None
    jobs = [(each, replica) for each in spec["replicatedJobs"] for replica in range(each.get("replicas", 1))]
    for number, (replicated, replica) in enumerate(jobs):
        job = replicated["template"]["spec"]
        if not replicated["name"].endswith("-initializer"):
            for index in range(job.get("completions", job.get("parallelism", 1))):
                yield _pod_of(jobset, replicated, (number, replica, index), subdomain)


def _pod_of(jobset: Case, replicated: Case, place: tuple[int, int, int], subdomain: str | None) -> Pod:
    number, replica, index = place
    name, job = jobset["metadata"]["name"], replicated["template"]["spec"]
    template = deepcopy(job["template"])
    metadata = template.get("metadata") or {}
    made = {
        f"{_JOBSET}/jobset-name": name,
        f"{_JOBSET}/replicatedjob-name": replicated["name"],
        f"{_JOBSET}/replicatedjob-replicas": str(replicated.get("replicas", 1)),
        f"{_JOBSET}/job-index": str(replica),
        f"{_JOBSET}/job-global-index": str(number),
        f"{_JOBSET}/restart-attempt": "0",
        _INDEX: str(index),
    }
    spec = template["spec"]
    for container in (*(spec.get("containers") or []), *(spec.get("initContainers") or [])):
        own = container.get("env") or []
        if all(variable["name"] != "JOB_COMPLETION_INDEX" for variable in own):
            container["env"] = [*own, {"name": "JOB_COMPLETION_INDEX", "value": str(index)}]
    return Pod(
        host=f"{name}-{replicated['name']}-{replica}-{index}",
        subdomain=subdomain,
        role=replicated["name"],
        namespace=jobset["metadata"].get("namespace") or "default",
        labels={**(metadata.get("labels") or {}), **made},
        annotations={**(metadata.get("annotations") or {}), **made},
        spec=spec,
        job=job,
        replicated=replicated,
    )


class Addresses:
    """Replaces each address of a pod in a text by the pod's key; `unknown` has those that lead nowhere."""

    def __init__(
        self, pods: list[Pod], *, reaches: Callable[[str, Pod], bool], former: frozenset[str] = frozenset()
    ) -> None:
        """`reaches` says whether a pod finds a bare host name; `former` are host names that no longer exist."""
        self._pods = {pod.host: pod for pod in pods}
        self._reaches, self._former = reaches, former
        self.unknown: list[str] = []
        hosts = sorted({*self._pods, *former}, key=len, reverse=True)
        self._host = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, hosts))})((?:\.[a-z0-9][a-z0-9-]*)*)(?![\w-])")

    def replaced(self, value: Any, seen_from: Pod) -> Any:
        """Return a text, or all texts of a list or mapping, with keys for addresses."""
        if isinstance(value, dict):
            return {key: self.replaced(item, seen_from) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.replaced(item, seen_from) for item in value]
        return self._host.sub(lambda found: self._key(found, seen_from), value) if isinstance(value, str) else value

    def _key(self, found: re.Match[str], seen_from: Pod) -> str:
        pod, domain = self._pods.get(found[1]), [part for part in found[2].split(".") if part]
        if pod is not None:
            is_whole = pod.subdomain is None or (bool(domain) and domain[0] == pod.subdomain)
            rest = domain[1:] if pod.subdomain is not None and is_whole else domain
            in_cluster = [pod.namespace, "svc", "cluster", "local"]
            if rest in ([], in_cluster[:1], in_cluster[:2], in_cluster) and (
                is_whole or self._reaches(found[1], seen_from)
            ):
                return f"<pod {pod.key}>"
        self.unknown.append(found[0])
        return f"<nowhere {found[0]}>"
