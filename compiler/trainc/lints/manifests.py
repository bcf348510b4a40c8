"""Lints for compiled manifests: names that are stale after rendering, what several jobs share, and empty requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainc.findings import Finding, Path
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.devices import accelerators
from trainc.kube.documents import Foreign, Json, identity_of, mapping, objects, value_at
from trainc.kube.jobset import JobSet
from trainc.kube.quantity import pod_requests
from trainc.options import Options
from trainc.plugins.plugin import Plugin
from trainc.plugins.registry import PLUGINS
from trainc.reading.document import label_of
from trainc.startup.records import dataclass
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.pods.admission_plugins import ClusterObjects

_HINT = "set prefixes, suffixes and new names in trainc's overlay, or before trainc runs, and compile again"
# What makes a LimitRange set requests of containers that have none.
_DEFAULTS = ("default", "defaultRequest", "min", "max")
# The backoffLimit of a Job that sets none (kubernetes pkg/apis/batch/v1/defaults.go), and the fields that decide otherwise.
DEFAULT_BACKOFF_LIMIT = 6
_DECIDING = ("backoffLimit", "podFailurePolicy", "backoffLimitPerIndex", "activeDeadlineSeconds")
_RESUMES = ("resum", "restart", "checkpoint", "ckpt", "load", "restore")
# From here on, seven runs of a program with a mistake in it are worth a line.
_MANY_DEVICES = 32
# (namespace, name) of a headless Service -> the JobSet to which it belongs.
Services = dict[tuple[str, str], str]
# In place of a Service: what a crash does is said about the first job only.
RESTARTS = ("", "what a crash does")


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a JobSet's names may refer to in its namespace: the addresses of pods, files of ConfigMaps, PodGroups.

    `groups` is None if something else than trainc may make the PodGroups.
    """

    plugins: Sequence[Plugin]
    hosts: frozenset[str]
    files: Mapping[str, Json]
    groups: frozenset[str] | None


def stale_names(jobset: Json, objects: Iterable[Foreign], plugins: Sequence[Plugin] = PLUGINS) -> list[Finding]:
    """Return findings for names in `jobset` that match nothing, with paths in it. `objects` are all rendered manifests."""
    namespace, _ = identity_of(jobset)
    siblings = [o for o in objects if o.identity[0] == namespace]
    groups = frozenset(o.identity[1] for o in siblings if o.text("kind") == "PodGroup")
    rendered = Rendered(
        plugins=plugins,
        hosts=frozenset(endpoints(jobset)),
        files={o.identity[1]: o.mapping("data") for o in siblings if o.text("kind") == "ConfigMap"},
        groups=groups if names.is_of_trainjob(jobset) else None,
    )
    findings: list[Finding] = []
    for job in JobSet.read(jobset).jobs:
        findings += _pod_findings(job.pod_path[:-1], job.pod_template, rendered)
    return findings


def endpoints(jobset: Json) -> Iterator[str]:
    """Yield the DNS name, within its namespace, of each pod that the JobSet will create."""
    steps = JobSet.read(jobset)
    for job in steps.jobs:
        yield from (f"{pod}.{steps.service}" for pod in steps.pods_of(job))


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
    files = [file for plugin in rendered.plugins for file in plugin.files]
    if name in rendered.files:
        for file in files:
            if not file.port:
                yield from _hosts(path, str(rendered.files[name].get(file.key, "")), rendered.hosts)
    elif name.endswith(tuple(file.suffix for file in files)):
        message = f"ConfigMap {name!r} is not among the manifests"
        yield Finding("StaleReference", "error", message, _HINT, (*path, "configMap", "name"))


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
    if "$(" not in address and not _is_host(address.partition(":")[0], hosts):
        yield Finding("StaleReference", "error", f"{address!r} is not a pod of this JobSet", _HINT, path)


def _hosts(path: Path, hostfile: str, hosts: frozenset[str]) -> Iterator[Finding]:
    listed = (line.split()[0].partition(":")[0] for line in hostfile.splitlines() if line.strip())
    stale = [host for host in listed if not _is_host(host, hosts)]
    if stale:
        message = f"the hostfile lists {len(stale)} host(s) that this JobSet does not create; the first is {stale[0]!r}"
        yield Finding("StaleReference", "error", message, _HINT, path)


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
            yield Finding("StaleReference", "error", message, _HINT, (*path, *gang.joins))


@dataclass(frozen=True, slots=True)
class Claim:
    """A headless Service that a JobSet uses; `needed` is true if its pods resolve names through it.

    With `is_output`, the name is that of a place on a claim to which the JobSet writes, `claim:path`, instead. With
    `restarts`, it stands for all jobs whose restarts no one has decided, and this is the path of such a Job.
    """

    jobset: str
    namespace: str
    service: str
    needed: bool
    is_output: bool = False
    restarts: Path = ()

    @classmethod
    def of(cls, manifests: Iterable[Json], name: str, *, restarts: bool = True) -> Iterator[Claim]:
        """Yield the Service of a job's JobSet, which has the name of its subdomain or else of the JobSet, and its write paths.

        `name` is that of the TrainJob. Without `restarts`, what a crash does has been said about an earlier job.

        JobSet uses an existing Service with that name (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go,
        createHeadlessSvcIfNecessary).
        """
        for jobset in JobSet.among(manifests):
            namespace = jobset.namespace
            label = "JobSet " + "/".join(part for part in (namespace, name) if part)
            yield cls(label, namespace, jobset.service, jobset.has_hosts)
            for claim_path in sorted(_output_paths(jobset)):
                yield cls(label, namespace, claim_path, needed=True, is_output=True)
            if restarts and (path := _restarted(jobset)):
                yield cls(label, *RESTARTS, needed=True, restarts=path)


def _output_paths(jobset: JobSet) -> set[str]:
    """Return the places on claims, `claim:path`, to which the containers of a JobSet write."""
    specs = [job.pod_spec for job in jobset.jobs if job.pod_spec.get("volumes")]
    if not any("persistentVolumeClaim" in volume for spec in specs for volume in spec["volumes"]):
        return set()
    from trainc.lints.storage import claimed_paths

    return {f"{claim}:{path}" for spec in specs for claim, path in claimed_paths(spec)}


def _restarted(jobset: JobSet) -> Path:
    """Return the path of a Job with many devices whose restarts no one has decided; empty if there is none."""
    for job in jobset.jobs if not jobset.spec.get("failurePolicy") else ():
        if any(job.job_spec.get(field) is not None for field in _DECIDING):
            continue
        for container in job.pod_spec.get("containers", ()):
            words = " ".join(map(str, (*(container.get("command") or ()), *(container.get("args") or ())))).lower()
            devices = job.pods * sum(accelerators(container.get("resources") or {}).values())
            if job.pods > 1 and devices >= _MANY_DEVICES and not any(word in words for word in _RESUMES):
                return job.job_path
    return ()


def between_jobs(claims: Iterable[Claim], services: Services) -> Iterator[Finding]:
    """Yield a warning for each JobSet whose Service an earlier one uses. `services` collects those of all jobs.

    What a crash does is said about the first job only.
    """
    for claim in claims:
        is_first = (claim.namespace, claim.service) not in services
        first = services.setdefault((claim.namespace, claim.service), claim.jobset)
        if claim.restarts:
            if is_first:
                message = f"nothing says what a crash does: a pod that fails is started again, up to {DEFAULT_BACKOFF_LIMIT} times"
                hint = "resume from a checkpoint on a claim, or set backoffLimit: 0 in the job template of your runtime"
                yield Finding("RestartsByDefault", "info", message, hint, claim.restarts, claim.jobset)
        elif first != claim.jobset and claim.is_output:
            name, _, folder = claim.service.partition(":")
            message = f"this job and {first} both write to {folder or '/'} on claim {name!r}: one overwrites the checkpoints of the other"
            hint = "use a different folder for each job"
            yield Finding("SharedOutput", "warning", message, hint, ("metadata", "name"), claim.jobset)
        elif first != claim.jobset and claim.needed:
            message = f"its Service {claim.service!r} is also the Service of {first}; while both exist, the pods of the later job cannot find each other"
            hint = "give each job its own subdomain, or remove it: the Service then has the name of the job"
            path = ("spec", "network", "subdomain")
            yield Finding("DuplicateSubdomain", "warning", message, hint, path, claim.jobset)


def subdomain_of_every_run(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """Yield a warning if the job's name has a content hash but its Service's has none, so that runs share the Service."""
    subdomain = (info.template.get("network") or {}).get("subdomain")
    if subdomain and job.name_hash:
        message = (
            f"every run of the job uses the Service {subdomain!r}, and a new run starts before the old one is removed"
        )
        hint = "remove the subdomain from the runtime: the Service then has the name of the job, including the hash"
        path = ("spec", "template", "spec", "network", "subdomain")
        yield Finding("DuplicateSubdomain", "warning", message, hint, path, "runtime")


def queued_without_requests(manifests: Sequence[Json], around: ClusterObjects) -> Iterator[Finding]:
    """Yield a warning for each JobSet with a queue whose pods request nothing.

    Initializers do not count. A LimitRange of the namespace may set requests.
    """
    for manifest in manifests:
        metadata = mapping(manifest.get("metadata"))
        if manifest.get("kind") != "JobSet" or not mapping(metadata.get("labels")).get(names.QUEUE_LABEL):
            continue
        specs = [job.pod_spec for job in JobSet.read(manifest).jobs if job.ancestor not in names.INITIALIZERS]
        namespace = metadata.get("namespace")
        homes = (namespace, None)
        limit_ranges = around.get("LimitRange", {}).values()
        ranges = (r for r in limit_ranges if not namespace or mapping(r.get("metadata")).get("namespace") in homes)
        if not specs or any(map(_uses, specs)) or any(map(_sets_requests, ranges)):
            continue
        message = "the job requests no resources: Kueue admits it at once, without quota, flavor or node selector"
        hint = "write what each node uses: spec: {trainer: {resourcesPerNode: {requests: {cpu: 4, memory: 16Gi}}}}"
        path = ("metadata", "labels", names.QUEUE_LABEL)
        yield Finding("QueuedWithoutRequests", "warning", message, hint, path, label_of(manifest))


def _uses(spec: Json) -> bool:
    return bool(spec.get("resourceClaims")) or any(q.nanos for q in pod_requests(spec, limits_count=True).values())


def _sets_requests(limit_range: Json) -> bool:
    limits = objects(mapping(limit_range.get("spec")).get("limits"))
    return any(limit.get("type") == "Container" and any(limit.get(key) for key in _DEFAULTS) for limit in limits)
