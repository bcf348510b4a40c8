"""Lints for pods that cannot connect: names that do not resolve, and interfaces that do not reach other pods."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Severity, remove, write
from trainc.ir.entrypoints import pod_path, variable_path
from trainc.ir.info import Info, PodSet
from trainc.ir.trainjob import TrainJob
from trainc.lints.training import policy_of

_LOOPBACK = frozenset(("lo", "=lo", "lo0"))
_INTERFACES = frozenset(("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES"))
# Variables from which programs other than torchrun read the address of rank 0.
_ADDRESSES = frozenset(
    ("JAX_COORDINATOR_ADDRESS", "COORDINATOR_ADDRESS", "MASTER_ADDR", "CHIEF_IP", "MAIN_PROCESS_IP", "DMLC_PS_ROOT_URI")
)
_READ = _INTERFACES | _ADDRESSES
_AT_HOME = ("localhost", "127.0.0.1", "0.0.0.0", "::1")  # noqa: S104


def network(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings for what prevents the pods of a job from connecting. Runs on sized jobs."""
    policy = policy_of(info)
    pods = sum(p.count * p.replicas for p in info.pod_sets if p.role or p.ancestor == "trainer")
    if pods < 2 or not policy:
        return
    if (info.template.get("network") or {}).get("enableDNSHostnames") is False:
        path = ("spec", "template", "spec", "network", "enableDNSHostnames")
        message = f"the pods get no DNS names, but the rendezvous of {policy} for all {pods} pods is one"
        yield Finding(
            "NoHostnames", "error", message, hint=remove("remove it, or write true"), path=path, about="runtime"
        )
    for index, pod_set in enumerate(info.pod_sets):
        if pod_set.role or pod_set.ancestor == "trainer":
            yield from _host_network(job, info, pod_set)
            yield from _without_index(info, pod_set, index)
            yield from _variables(job, info, pod_set, policy, pods)


def _host_network(job: TrainJob, info: Info, pod_set: PodSet) -> Iterator[Finding]:
    spec = info.pod_spec(pod_set.name)
    if spec.get("hostNetwork") is not True or spec.get("dnsPolicy", "ClusterFirst") not in ("ClusterFirst", "Default"):
        return
    if (spec.get("dnsConfig") or {}).get("nameservers"):
        return  # The pod uses its own name servers.
    path, about = pod_path(job, info, pod_set.name, "hostNetwork")
    message = "pods with hostNetwork use the DNS of the host, which does not know pods: the host name of rank 0 does not resolve"
    hint = write("ClusterFirstWithHostNet", " to the same pod template", field="dnsPolicy", verb="add")
    yield Finding("HostNetworkWithoutDNS", "error", message, hint=hint, path=path, about=about)


def _without_index(info: Info, pod_set: PodSet, index: int) -> Iterator[Finding]:
    job_spec = info.template["replicatedJobs"][index]["template"].get("spec") or {}
    if job_spec.get("completionMode") == "NonIndexed" and pod_set.count > 1:
        path = ("spec", "template", "spec", "replicatedJobs", index, "template", "spec", "completionMode")
        message = "pods without an index have no rank and no host name for the rendezvous"
        yield Finding(
            "PodsWithoutIndex", "error", message, hint=remove("remove it, or write Indexed"), path=path, about="runtime"
        )


def _variables(job: TrainJob, info: Info, pod_set: PodSet, policy: str, pods: int) -> Iterator[Finding]:
    for container in pod_set.containers:
        for variable in [v for v in container.env if v["name"] in _READ]:
            name, value = str(variable["name"]), variable.get("value")
            if isinstance(value, str) and (found := _unreachable(name, value, policy, job.name)):
                code, severity, why = found
                path, about = variable_path(job, info, pod_set, container.name, name)
                message = f"{name} is {value}, {why}: the {pods} pods cannot find each other"
                hint = remove(f"remove {name}: the runtime sets up the rendezvous")
                yield Finding(code, severity, message, hint=hint, path=path, about=about)


def _unreachable(name: str, value: str, policy: str, job: str) -> tuple[str, Severity, str] | None:
    """Return (code, severity, reason) if pods cannot connect with this value of a variable, or None."""
    if name in _INTERFACES:
        return ("LoopbackInterface", "error", "which cannot reach other pods") if value in _LOOPBACK else None
    if value.startswith(_AT_HOME):
        # torchrun overrides MASTER_ADDR for its workers.
        if policy == "torch" and name == "MASTER_ADDR":
            return None
        severity: Severity = "error" if name == "JAX_COORDINATOR_ADDRESS" and policy == "jax" else "warning"
        return "LoopbackInterface", severity, "which is a different address in each pod"
    from trainc.lints.rendezvous import is_v1_host

    if is_v1_host(value, job):
        return "FormerHostName", "warning", "a name of Training Operator v1 that no pod has"
    return None
