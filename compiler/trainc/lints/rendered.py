"""A lint for rendered manifests: checks that the names inside a JobSet still match the objects.

A prefix, suffix or namespace that is added after compilation renames objects, but not the addresses, hostfiles, labels
and volumes that are derived from their names. The cluster reports no error, but the pods never connect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainc.findings import Finding, Path
from trainc.kube import names
from trainc.kube.documents import Json, identity_of, mapping, value_at
from trainc.plugins.plugin import Plugin
from trainc.plugins.registry import PLUGINS
from trainc.startup.records import dataclass

_HINT = "set prefixes, suffixes and new names in trainc's overlay, or before trainc runs, and compile again"


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a JobSet's names may refer to in its namespace: the addresses of pods, files of ConfigMaps, PodGroups.

    `groups` is None if something else than trainc may make the PodGroups.
    """

    plugins: Sequence[Plugin]
    hosts: frozenset[str]
    files: Mapping[str, Json]
    groups: frozenset[str] | None


def stale_names(jobset: Json, objects: Iterable[Json], plugins: Sequence[Plugin] = PLUGINS) -> list[Finding]:
    """Return findings for names in `jobset` that match nothing, with paths in it. `objects` are all rendered manifests."""
    namespace, _ = identity_of(jobset)
    siblings = [o for o in objects if identity_of(o)[0] == namespace]
    groups = frozenset(identity_of(o)[1] for o in siblings if o.get("kind") == "PodGroup")
    rendered = Rendered(
        plugins=plugins,
        hosts=frozenset(endpoints(jobset)),
        files={identity_of(o)[1]: mapping(o.get("data")) for o in siblings if o.get("kind") == "ConfigMap"},
        groups=groups if names.is_of_trainjob(jobset) else None,
    )
    return [finding for path, pod in _pods(jobset) for finding in _pod_findings(path, pod, rendered)]


def endpoints(jobset: Json) -> Iterator[str]:
    """Yield the DNS name, within its namespace, of each pod that the JobSet will create."""
    _, name = identity_of(jobset)
    spec = jobset.get("spec") or {}
    domain = (spec.get("network") or {}).get("subdomain") or name
    for job in spec.get("replicatedJobs", ()):
        pods = job["template"].get("spec", {}).get("parallelism", 1)
        for replica in range(job.get("replicas", 1)):
            for index in range(pods):
                yield f"{names.pod_host(name, job['name'], replica, index)}.{domain}"


def _pod_findings(path: Path, pod: Json, rendered: Rendered) -> Iterator[Finding]:
    yield from _groups(path, pod, rendered)
    spec = pod.get("spec") or {}
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind, ())):
            yield from _addresses((*path, "spec", kind, index), container, rendered)
    for index, volume in enumerate(spec.get("volumes", ())):
        name = str((volume.get("configMap") or {}).get("name", ""))
        yield from _files((*path, "spec", "volumes", index), name, rendered)


def _files(path: Path, name: str, rendered: Rendered) -> Iterator[Finding]:
    """Yield findings about rendezvous files in the ConfigMap called `name`."""
    known = [file for plugin in rendered.plugins for file in plugin.files]
    if name in rendered.files:
        for file in known:
            if not file.port:
                yield from _hosts(path, str(rendered.files[name].get(file.key, "")), rendered.hosts)
    elif name.endswith(tuple(file.suffix for file in known)):
        message = f"ConfigMap {name!r} is not among the manifests"
        yield Finding("StaleConfigMap", "error", message, _HINT, (*path, "configMap", "name"))


def _addresses(path: Path, container: Json, rendered: Rendered) -> Iterator[Finding]:
    variables = {address.variable for plugin in rendered.plugins for address in plugin.addresses}
    for index, variable in enumerate(container.get("env", ())):
        if variable.get("name") in variables and isinstance(variable.get("value"), str):
            yield from _address((*path, "env", index, "value"), variable["value"], rendered.hosts)
    arguments = [argument for plugin in rendered.plugins for argument in plugin.address_arguments]
    for field in ("command", "args"):
        for index, word in enumerate(container.get(field, ())):
            for argument in arguments:
                if str(word).startswith(argument):
                    yield from _address((*path, field, index), str(word).removeprefix(argument), rendered.hosts)


def _address(path: Path, address: str, hosts: frozenset[str]) -> Iterator[Finding]:
    if not _is_host(address.partition(":")[0], hosts):
        yield Finding("StaleAddress", "error", f"{address!r} is not a pod of this JobSet", _HINT, path)


def _hosts(path: Path, hostfile: str, hosts: frozenset[str]) -> Iterator[Finding]:
    listed = (line.split()[0].partition(":")[0] for line in hostfile.splitlines() if line.strip())
    stale = [host for host in listed if not _is_host(host, hosts)]
    if stale:
        message = f"the hostfile lists {len(stale)} host(s) that this JobSet does not create; the first is {stale[0]!r}"
        yield Finding("StaleHost", "error", message, _HINT, path)


def _is_host(host: str, hosts: frozenset[str]) -> bool:
    """Return whether a host is one of `hosts`, with or without the namespace's DNS suffix."""
    return host in hosts or ".".join(host.split(".")[:2]) in hosts


def _groups(path: Path, pod: Json, rendered: Rendered) -> Iterator[Finding]:
    for gang in (plugin.gang for plugin in rendered.plugins if plugin.gang is not None):
        group = value_at(pod, gang.joins)
        if group is not None and rendered.groups is not None and group not in rendered.groups:
            message = (
                f"the pods belong to the group {group!r}, and there is no PodGroup of that name among the manifests"
            )
            yield Finding("StaleGroup", "error", message, _HINT, (*path, *gang.joins))


def _pods(jobset: Json) -> Iterator[tuple[Path, Json]]:
    jobs: Sequence[Json] = (jobset.get("spec") or {}).get("replicatedJobs", ())
    for index, job in enumerate(jobs):
        path: Path = ("spec", "replicatedJobs", index, "template", "spec", "template")
        yield path, job["template"].get("spec", {}).get("template", {})
