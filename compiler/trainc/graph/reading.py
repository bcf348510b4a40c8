"""Build a graph from the manifests that will be applied, so that the picture always matches them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from trainc.api import names
from trainc.api.devices import accelerator
from trainc.api.documents import Json, value_at
from trainc.api.quantity import Quantity, pod_requests
from trainc.graph.model import Dependency, Gang, Graph, Rendezvous, Step, Volume
from trainc.graph.processes import process_text
from trainc.plugins.plugin import Gang as GangScheduler
from trainc.plugins.plugin import Plugin, RendezvousFile
from trainc.plugins.registry import PLUGINS
from trainc.startup.records import replace

_KINDS = {"persistentVolumeClaim": "PVC"}
_REFERENCES = ("name", "secretName", "claimName", "path")


def read_graph(manifests: Sequence[Json], plugins: Sequence[Plugin] = PLUGINS) -> Graph:
    """Read the graph of the only JobSet among a job's manifests; `plugins` supply the rendezvous addresses."""
    jobset = next(manifest for manifest in manifests if manifest["kind"] == "JobSet")
    spec, metadata = jobset["spec"], jobset["metadata"]
    claims: dict[str, str] = dict(_claims(spec))
    steps = [_step(job, jobset, manifests, claims, plugins) for job in spec.get("replicatedJobs", ())]
    return Graph(
        metadata.get("namespace", ""),
        metadata["name"],
        tuple(_in_startup_order(steps, spec)),
        tuple(_gangs_of(manifests, plugins)),
        spec.get("suspend") is True,
    )


def _step(
    job: Json, jobset: Json, manifests: Sequence[Json], claims: Mapping[str, str], plugins: Sequence[Plugin]
) -> Step:
    job_spec = job["template"].get("spec", {})
    template = job_spec.get("template", {})
    pod: Json = template.get("spec", {})
    containers = pod.get("containers", ())
    label = (job["template"].get("metadata") or {}).get("labels", {}).get(names.ANCESTOR_LABEL, "")
    pods, replicas = job_spec.get("parallelism", 1), job.get("replicas", 1)
    requests = tuple(_requests(pod))
    return Step(
        name=job["name"],
        role=label,
        image=containers[0].get("image", "") if containers else "",
        pods=pods,
        replicas=replicas,
        requests=requests,
        volumes=tuple(_volumes(pod, claims)),
        depends_on=tuple(Dependency(d["name"], d["status"]) for d in job.get("dependsOn", ())),
        hosts=_hosts(jobset, job["name"], replicas, pods),
        rendezvous=tuple(_rendezvous(pod, manifests, _hosts(jobset, job["name"], 1, 1), plugins)),
        runs=process_text(pod, pods * replicas, sum(amount.units for name, amount in requests if accelerator(name))),
        gang=next((str(name) for gang in _gangs(plugins) if (name := value_at(template, gang.joins))), ""),
    )


def _requests(pod: Json) -> Iterator[tuple[str, Quantity]]:
    """The requests of a pod: compute devices first, then other devices, then CPU and memory."""
    found = pod_requests(pod, limits_count=True)
    yield from sorted(found.items(), key=lambda item: (not accelerator(item[0]), "/" not in item[0], item[0]))


def _volumes(pod: Json, claims: Mapping[str, str]) -> Iterator[Volume]:
    for volume in pod.get("volumes", ()):
        nothing: tuple[str, Json] = ("", {})
        kind, source = next(((k, v) for k, v in volume.items() if k != "name"), nothing)
        refers_to = next((source[field] for field in _REFERENCES if field in source), "") if source else ""
        yield Volume(volume["name"], f"{_KINDS.get(kind, kind)} {refers_to}".strip())
    mounted = {m["name"] for c in pod.get("containers", ()) for m in c.get("volumeMounts", ())}
    for name in sorted(mounted & set(claims)):
        yield Volume(name, claims[name])


def _claims(spec: Json) -> Iterator[tuple[str, str]]:
    """The claims that JobSet creates for its pods, which mount them by name."""
    for policy in spec.get("volumeClaimPolicies", ()):
        for template in policy.get("templates", ()):
            size = template.get("spec", {}).get("resources", {}).get("requests", {}).get("storage", "")
            yield template["metadata"]["name"], f"PVC {size}".strip()


def _hosts(jobset: Json, job: str, replicas: int, pods: int) -> str:
    network = jobset["spec"].get("network") or {}
    if network.get("enableDNSHostnames") is False or not pods * replicas:
        return ""
    name = jobset["metadata"]["name"]
    return f"{name}-{job}-{_range(replicas)}-{_range(pods)}.{network.get('subdomain') or name}"


def _range(count: int) -> str:
    return "0" if count == 1 else f"[0-{count - 1}]"


def _gangs(plugins: Sequence[Plugin]) -> Iterator[GangScheduler]:
    return (plugin.gang for plugin in plugins if plugin.gang is not None)


def _rendezvous(
    pod: Json, manifests: Sequence[Json], first_host: str, plugins: Sequence[Plugin]
) -> Iterator[Rendezvous]:
    for container in pod.get("containers", ()):
        env = {variable["name"]: str(variable.get("value", "")) for variable in container.get("env", ())}
        for address in (address for plugin in plugins for address in plugin.addresses):
            host, port = env.get(address.variable), env.get(address.port)
            if host:
                yield Rendezvous(host if port is None else f"{host}:{port}", address.variable)
        for argument in (argument for plugin in plugins for argument in plugin.address_arguments):
            for word in container.get("command", ()):
                if word.startswith(argument):
                    yield Rendezvous(word.removeprefix(argument), argument.rstrip("="))
    mounted = {(volume.get("configMap") or {}).get("name") for volume in pod.get("volumes", ())}
    for manifest in manifests:
        if manifest["kind"] == "ConfigMap" and manifest["metadata"]["name"] in mounted:
            for file in (file for plugin in plugins for file in plugin.files):
                yield from _by_file(manifest, file, first_host)


def _by_file(config_map: Json, file: RendezvousFile, first_host: str) -> Iterator[Rendezvous]:
    """What programs read from a file: all hosts, or the port of rank 0."""
    name, text = config_map["metadata"]["name"], config_map["data"].get(file.key)
    if text is not None and not file.port:
        hosts = text.count("\n")
        yield Rendezvous(f"{hosts:,} host{'' if hosts == 1 else 's'}", f"{file.called or file.key} in {name}")
    port = re.search(file.port, text or "") if file.port else None
    if port is not None and first_host:
        yield Rendezvous(f"{first_host}:{port[1]}", f"{file.called or file.key} in {name}")


def _gangs_of(manifests: Sequence[Json], plugins: Sequence[Plugin]) -> Iterator[Gang]:
    schedulers = {plugin.gang.api_group: plugin for plugin in plugins if plugin.gang is not None}
    for manifest in manifests:
        if manifest["kind"] == "PodGroup":
            group = manifest["apiVersion"].partition("/")[0]
            plugin = schedulers.get(group)
            size = value_at(manifest, plugin.gang.size) if plugin is not None and plugin.gang is not None else None
            yield Gang(manifest["metadata"]["name"], group if plugin is None else plugin.policy, size or 0)


def _in_startup_order(steps: Sequence[Step], spec: Json) -> Iterator[Step]:
    """Under startupPolicy InOrder, make each step depend on the previous one if it does not already."""
    in_order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    for before, step in zip((None, *steps), steps, strict=False):
        if in_order and before is not None and not step.depends_on:
            yield replace(step, depends_on=(Dependency(before.name, "Ready"),))
        else:
            yield step
