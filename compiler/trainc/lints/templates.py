"""Lints for the templates of a runtime: what is missing, what another value replaces, and gangs that nothing handles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.findings import Finding, Path, Severity, remove
from trainc.findings.text import did_you_mean
from trainc.ir import info as gang
from trainc.ir.entrypoints import Entrypoint, is_gpu
from trainc.ir.info import Info, PodSet
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.documents import JOBS, POD_SPEC, Json, Unchecked, mapping, read_json
from trainc.kube.names import reference_problem, split_image
from trainc.kube.quantity import whole_number
from trainc.lints.manifests import DEFAULT_BACKOFF_LIMIT
from trainc.lints.training import Training
from trainc.options import Options
from trainc.plugins.plugin import Plugin
from trainc.plugins.registry import enabled
from trainc.reading.document import Surroundings
from trainc.startup.records import replace
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.lints.training import Training

_MOVING = frozenset(
    "latest main master trunk head dev devel develop development edge nightly canary snapshot rolling stable"
    " unstable".split()
)


# Images that need a login for everyone: NVIDIA's inference microservices, and Red Hat's.
PRIVATE = ("nvcr.io/nim/", "registry.redhat.io/")


def missing_jobs(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a finding for a runtime without jobs, or without a container that the TrainJob's trainer configures."""
    trainer, code = info.trainer, "MissingTrainerAncestor"
    if not info.pod_sets:
        message = "the runtime has no replicated jobs, so the JobSet runs nothing"
        hint = "add a job to spec.template.spec.replicatedJobs"
        yield Finding("NothingToRun", "error", message, hint, JOBS, "runtime")
    elif trainer is None:
        message = "no job has the ancestor label of the trainer: spec.trainer and the framework's variables are not applied to any container"
        hint = f"add the label {names.ANCESTOR_LABEL}: {names.TRAINER} to the metadata of the template of the job that trains"
        finding = Finding(code, "warning", message, hint, JOBS, "runtime")
        for index, pod_set in enumerate(info.pod_sets):
            if (near := did_you_mean(step := pod_set.ancestor or "", [names.TRAINER])) and step != names.TRAINER:
                path = (*JOBS, index, "template", "metadata", "labels", names.ANCESTOR_LABEL)
                message = f"there is no step {step}: spec.trainer and the framework's variables are not applied to any container"
                finding = replace(finding, severity="error", message=message, hint=near, path=path)
        yield finding
    elif info.trainer_container is None:
        path = (*JOBS, info.pod_sets.index(trainer), *POD_SPEC, "containers")
        message = f"the trainer job {trainer.name!r} has no container {trainer.main!r}, so spec.trainer has no effect"
        yield Finding(code, "warning", message, f"rename its main container to {trainer.main}", path, "runtime")


def missing_image(entry: Entrypoint) -> Iterator[Finding]:
    """Yield an error for a container that has no image in the runtime or the TrainJob.

    The API server refuses its pods, and JobSet shows at most an event.
    """
    if not entry.image:
        message = f"container {entry.container.name!r} of job {entry.pod_set.name!r} has no image"
        hint = "set spec.trainer.image in the TrainJob, or the container's image in the runtime"
        # A patch of a container that is not there adds one.
        pods = entry.pod_set
        listed = pods.containers if entry.path[-2] == "containers" else pods.init_containers
        others = " or ".join(c.name for c in listed if c.fields.get("image"))
        other = f"set image, or write name: {others} if a patch is for that container" if others else "set image"
        yield Finding("MissingImage", "error", message, hint if entry.trains else other, entry.path, "runtime")


def has_moving_tag(entry: Entrypoint) -> bool:
    """Return whether an image has no tag or digest, or a tag that by convention moves from image to image."""
    if not entry.image or "@" in entry.image:
        return False
    tag = split_image(entry.image)[1].lower()
    parts = tag.split("-")  # `latest-gpu`, but not `2.13.0-devel` or `nightly-20261101`.
    return not tag or tag in _MOVING or "latest" in parts or parts[-1] == "nightly"


def moving_tag(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for an image with a moving tag in a job that says that its pods are created again when they fail."""
    if not _restarts(entry) or reference_problem(entry.image):
        return
    tag = split_image(entry.image)[1]
    problem = f"the tag {tag!r} moves" if tag else f"{entry.image!r} has no tag, so it is 'latest', which moves"
    message = f"{problem} from image to image: pods that are created again may run another one than the rest of the job"
    name = entry.image.removesuffix(f":{tag}").rpartition("/")[2]
    hint = f"write a tag that stays, such as {name}:1.0, or a digest: {name}@sha256:..."
    yield Finding("MovingImageTag", "warning", message, hint, *entry.image_path())


def _restarts(entry: Entrypoint) -> bool:
    """Return whether the job says that JobSet or the Job starts the pods of a container again when they fail.

    A Job without a backoffLimit retries, too; but nobody asked it to.
    """
    if (entry.info.template.get("failurePolicy") or {}).get("maxRestarts"):
        return True
    return any(
        (replicated["template"].get("spec") or {}).get("backoffLimit")
        for replicated in entry.info.template.get("replicatedJobs", ())
        if replicated["name"] == entry.pod_set.name
    )


def pull_secrets(training: Training) -> Iterator[Finding]:
    """Yield an info for a pod without a pull secret whose image needs one, as far as the registry or the input says so.

    Nodes and ServiceAccounts of the cluster may have it.
    """
    entry = training.entry
    spec = entry.info.pod_spec(entry.pod_set.name)
    if spec.get("imagePullSecrets") or entry.pod_set.name not in {p.name for p in entry.info.pod_sets}:
        return
    accounts = training.around.of("ServiceAccount", entry.job.namespace)
    account = accounts.get(str(spec.get("serviceAccountName") or "default"))
    if account is not None and account.data.get("imagePullSecrets"):
        return
    registry = entry.image.partition("/")[0]
    name = training.around.gathered(_logins, entry.job.namespace).get(registry, "")
    if not name and not entry.image.startswith(PRIVATE):
        return
    message = f"{registry} needs a login for {entry.image}, and the pods have no pull secret"
    if name:
        message = f"the Secret {name} has the login for {registry}, and the pods do not use it"
    patch = training.patch(f"imagePullSecrets: [{{name: {name or 'NAME'}}}]")
    yield Finding("NoPullSecret", "info", message, f"set {patch}", *entry.image_path())


def _logins(around: Surroundings, namespace: str) -> dict[str, str]:
    """Return the first Secret with a login for each registry."""
    from binascii import a2b_base64

    found: dict[str, str] = {}
    for name, document in around.of("Secret", namespace).items():
        secret: Unchecked = document.data
        if secret.get("type") != "kubernetes.io/dockerconfigjson":
            continue
        text = mapping(secret.get("stringData")).get(".dockerconfigjson")
        try:
            encoded = mapping(secret.get("data")).get(".dockerconfigjson", "")
            docker_config = mapping(read_json(text if isinstance(text, str) else a2b_base64(str(encoded)).decode()))
        except ValueError:
            continue
        for key in map(str, mapping(docker_config.get("auths"))):
            found.setdefault(key.removeprefix("https://").partition("/")[0], name)
    return found


def gpu_without_limit(entry: Entrypoint) -> Iterator[Finding]:
    """Yield an error for each GPU resource without a limit: devices cannot be overcommitted, so pods are refused."""
    resources = entry.container.resources
    limits = resources.get("limits") or {}
    requested = (entry.job.trainer.resources_per_node or {}).get("requests") or {}
    for name, amount in (resources.get("requests") or {}).items():
        if "/" in name and is_gpu(name) and name not in limits:
            message = f"{name}: {amount} is requested without a limit, which Kubernetes refuses for devices"
            hint = f"move it to limits: {{{name}: {amount}}}; the request is the same by default"
            if entry.trains and name in requested:
                path: Path = ("spec", "trainer", "resourcesPerNode", "requests", name)
                yield Finding("GPUWithoutLimit", "error", message, hint, path)
            else:
                path = (*entry.path, "resources", "requests", name)
                yield Finding("GPUWithoutLimit", "error", message, hint, path, "runtime")


def processes(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for a numProcPerNode that the policy does not use, or that starts nothing."""
    size = info.processes
    # XGBoost derives the number of workers from the GPUs.
    several = [plugin for plugin in enabled(info.plugins) if plugin.reads_processes]
    if not any(plugin.policy_of(job, info) is not None for plugin in several):
        *first, last = (plugin.policy for plugin in several)
        message = f"numProcPerNode has no effect: the runtime's mlPolicy is not {', '.join(first)} or {last}"
        hint = remove("remove it, or use a runtime whose framework starts several processes per node")
        yield Finding("FieldIgnored", "warning", message, hint, size.path, about=size.about)
    elif isinstance(size.value, int) and size.value < 1:
        message = f"numProcPerNode is {size.value}: the launcher has no process to start on a node, and fails"
        hint = remove("write 1 or more, or remove it to have as many processes as the node has GPUs")
        yield Finding("UnlikelyAmount", "warning", message, hint, size.path, about=size.about)


def values_overridden(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings for sizes and `suspend` of the template that are overridden. Runs on sized jobs."""
    of_template, suspended = info.template.get("suspend"), bool(job.suspend)
    if of_template is not None and of_template != suspended:
        message = f"suspend is {str(of_template).lower()} in the template and {str(suspended).lower()} in the JobSet"
        hint = remove("remove it here, and set spec.suspend of the TrainJob, which wins")
        yield _overridden(message, hint, ("spec", "template", "spec", "suspend"))
    yield from _clamped(info)
    for index, (template, pod_set) in enumerate(zip(info.template["replicatedJobs"], info.pod_sets, strict=True)):
        path = (*JOBS, index, "template", "spec")
        job_spec = template["template"].get("spec", {})
        impossible = list(_below_zero(job_spec, path)) if info.gitops else []
        yield from impossible or _sizes(job_spec, pod_set, path)


def _overridden(message: str, hint: str, path: Path, severity: Severity = "info") -> Finding:
    return Finding("ValueOverridden", severity, message, hint, path, "runtime")


def _below_zero(job_spec: Json, path: Path) -> Iterator[Finding]:
    """Yield findings for negative counts, which are a mistake even though another number replaces them."""
    for name in ("parallelism", "completions"):
        if isinstance(count := job_spec.get(name), int) and count < 0:
            hint = remove("remove it: numNodes of the TrainJob or of the mlPolicy sets it")
            yield Finding("OutOfRange", "error", f"{name} cannot be {count}", hint, (*path, name), "runtime")


def _clamped(info: Info) -> Iterator[Finding]:
    """Yield a finding if the runtime's numNodes is below 1 and the TrainJob has none: all releases treat it as 1."""
    nodes = (info.ml_policy or {}).get("numNodes")
    if info.gitops and info.policy("mpi") is not None:
        return  # There it is the number of hosts, unchanged.
    decides = info.nodes.requested is None
    if nodes is not None and nodes < 1 and decides and info.trainer is not None and info.trainer.count != nodes:
        message = f"numNodes is {nodes} in the mlPolicy, and {info.trainer.count} in the output"
        hint = "write 1 or more; to hold a job back, set suspend: true in the TrainJob"
        yield _overridden(message, hint, ("spec", "mlPolicy", "numNodes"), "warning")


def _sizes(job_spec: Json, pod_set: PodSet, path: Path) -> Iterator[Finding]:
    completions, parallelism = job_spec.get("completions"), job_spec.get("parallelism")
    if parallelism is not None and parallelism != pod_set.count:
        message = f"parallelism is {parallelism} in the template and {pod_set.count} in the output"
        hint = remove("remove it here: numNodes of the TrainJob or of the mlPolicy sets it")
        yield _overridden(message, hint, (*path, "parallelism"))
    if completions is not None and completions != pod_set.count:
        message = f"completions is {completions} in the template and {pod_set.count} in the output"
        hint = remove(
            "remove it here: Trainer runs each pod once, all at the same time, so completions is always the number of pods"
        )
        # A Job with more completions than pods works through them in turn, which is lost here.
        severity: Severity = "info" if completions == parallelism else "warning"
        yield _overridden(message, hint, (*path, "completions"), severity)


def _gangs(info: Info) -> list[Plugin]:
    return [p for p in enabled(info.plugins) if p.gang is not None and info.gang(p.policy) is not None]


def foreign_schedulers(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for pods of a gang that another gang scheduler places, which ignores this gang's PodGroup."""
    chosen = _gangs(info)
    other_gangs = [p.gang for p in enabled(info.plugins) if p.gang is not None and p not in chosen]
    foreign = {other.scheduler for other in other_gangs if other.scheduler}
    for index, pod_set in enumerate(info.pod_sets if chosen else ()):
        scheduler = info.pod_spec(pod_set.name).get("schedulerName")
        if scheduler not in foreign or pod_set not in gang.members(info):
            continue
        policies = ", ".join(plugin.policy for plugin in chosen)
        message = f"the pods of {pod_set.name!r} go to {scheduler}, which does not look at the gang of {policies}"
        hint = "name the scheduler of the gang instead"
        if any(plugin.gang is not None and plugin.gang.by_default for plugin in chosen):
            hint = remove("remove schedulerName from the pod template")
        path = (*JOBS, index, *POD_SPEC, "schedulerName")
        yield Finding("SchedulerIgnoresGang", "warning", message, hint, path, "runtime")


def gang_in_sequence(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error for a gang that waits for pods that are created only after others of it run. Runs on sized jobs.

    `GangNeverComplete` reports the same for the controller's gangs.
    """
    chosen = _gangs(info)
    later = gang.delayed_members(info)
    if not info.gitops or not later or any(p.gang is not None and p.gang.by_job for p in chosen):
        return
    scheduler = _scheduler(chosen)
    members = gang.members(info)
    if len({info.pod_spec(member.name).get("schedulerName") or scheduler for member in members}) > 1:
        return  # Volcano, and coscheduling before scheduler-plugins#708, count pods that another scheduler has placed.
    waited_for = max([(info.gang(p.policy) or {}).get("minMember", gang.min_member(info)) for p in chosen], default=0)
    there = sum(member.pods for member in members if member.name not in later)
    if there < waited_for:
        listed = ", ".join(member.name for member in members if member.name in later)
        message = f"the gang waits for {waited_for} pods, and {there} exist until they are ready: {listed} starts later"
        hint = "remove dependsOn or startupPolicy, so that all start together, or compile with --gang workload"
        yield Finding("GangInSequence", "error", message, hint, ("spec", "podGroupPolicy"), "runtime")


def _scheduler(chosen: Sequence[Plugin]) -> str:
    return next((p.gang.scheduler for p in chosen if p.gang is not None and p.gang.scheduler), "")


def scheduler_name_missing(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning if the pods of a gang have no schedulerName: the default scheduler does not support gangs."""
    chosen = _gangs(info)
    unnamed = [p.name for p in gang.members(info) if not info.pod_spec(p.name).get("schedulerName")]
    if not chosen or not unnamed or any(p.gang is not None and p.gang.by_default for p in chosen):
        return
    scheduler = _scheduler(chosen)
    which = f"the gang's pods ({', '.join(unnamed)}) have no schedulerName"
    if scheduler and info.gitops:
        message = f"{which}; they get schedulerName: {scheduler}"
        hint = (
            f"set schedulerName: {scheduler} in the runtime's pod templates, so that Trainer's controller does the same"
        )
    else:
        message = f"{which}, so the default scheduler places them one by one"
        suggested = scheduler or f"the schedulerName of the cluster's {chosen[0].policy} profile"
        hint = f"set schedulerName in the pod templates: {suggested}"
    first = next(i for i, p in enumerate(info.pod_sets) if p.name == unnamed[0])
    path = (*JOBS, first, *POD_SPEC)
    yield Finding("SchedulerNameMissing", "warning", message, hint, path, "runtime")


# Lints for what runs again: jobs that a GitOps tool recreates, claims in the way of the next run, and restarts.

_TTL = "ttlSecondsAfterFinished"
_HOOK = "argocd.argoproj.io/hook"
_SPEC: Path = ("spec", "template", "spec")


def ttl_rerun(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """Yield a warning for a JobSet or a Job that deletes itself and is then created, and run, again.

    A GitOps tool creates the JobSet again; Argo CD does not keep hooks in sync. JobSet creates missing Jobs until it has
    finished, which a single Job ends (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go, shouldCreateJob,
    v0.8.2 and v0.12.0).
    """
    several = sum(pod_set.replicas for pod_set in info.pod_sets) > 1
    for index, replicated in enumerate(info.template["replicatedJobs"] if several else ()):
        seconds = replicated["template"].get("spec", {}).get(_TTL)
        if seconds is not None:
            message = (
                f"the Job of {replicated['name']!r} is deleted {seconds} s after it finishes; while other Jobs of the "
                "JobSet still run, JobSet creates it again"
            )
            hint = remove(f"remove {_TTL} from the job: its Jobs are deleted with the JobSet")
            yield Finding("TTLRerun", "warning", message, hint, (*JOBS, index, "template", "spec", _TTL), "runtime")
    seconds = info.template.get(_TTL)
    if seconds is not None and options.delivery != "kubectl" and _HOOK not in {**info.annotations, **job.annotations}:
        message = f"the JobSet is deleted {seconds} s after it finishes; the GitOps tool then creates it again, and the job runs again"
        hint = remove(f"remove {_TTL} from the runtime, and remove finished jobs from git instead")
        yield Finding("TTLRerun", "warning", message, hint, (*_SPEC, _TTL), "runtime")


def retained_claims(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """Yield a finding for each policy that retains claims; a warning if the delivery mode recreates the job.

    With a name hash, each version has its own claims.
    """
    for index, policy in enumerate(() if options.name_hash else info.template.get("volumeClaimPolicies") or ()):
        if (policy.get("retentionPolicy") or {}).get("whenDeleted") == "Retain":
            names = ", ".join(str((t.get("metadata") or {}).get("name")) for t in policy.get("templates") or ())
            yield Finding(
                "RetainedClaim",
                "warning" if options.recreates else "info",
                f"claims of {names or 'this policy'} stay when the JobSet is deleted, and JobSet refuses to create a job "
                "of this name again while they are there",
                "compile with --name-hash, which gives each version of the job claims of its own, or mount a "
                "PersistentVolumeClaim that does not belong to the job",
                (*_SPEC, "volumeClaimPolicies", index, "retentionPolicy"),
                "runtime",
            )


def restarts(training: Training) -> Iterator[Finding]:
    """Yield an info about how often a crash that repeats is tried again, if the launcher's restarts are set."""
    for _, launch in training.launches:
        option = launch.find_option(frozenset(("max-restarts",)))
        of_workers = whole_number(training.value(option.value or "", launch)) if option is not None else None
        if option is None or not of_workers:
            continue
        spec = training.replicated_job["template"].get("spec") or {}
        policy = training.info.template.get("failurePolicy")
        of_pods, of_job = _number(spec.get("backoffLimit")), _number((policy or {}).get("maxRestarts", 0))
        if not of_pods and not of_job:
            continue
        several = [f"{of_pods + 1} pods" if of_pods else "", f"{of_job + 1} times by the JobSet" if of_job else ""]
        runs = (of_workers + 1) * (of_pods + 1) * (of_job + 1)
        message = (
            f"{option.spelling} {of_workers} multiplies with the restarts of the pods: a crash that repeats is run up to {runs} times "
            f"({of_workers + 1} by the launcher, in {' and '.join(filter(None, several))})"
        )
        others = ["backoffLimit: 0 in the job template"] * bool(of_pods) + ["failurePolicy.maxRestarts: 0"] * bool(
            of_job
        )
        hint = f"set {' and '.join(others)} in the runtime to keep only the launcher's restarts"
        yield training.finding("RestartsMultiply", "info", message, hint, option.index)


def _number(value: object) -> int:
    return value if isinstance(value, int) else DEFAULT_BACKOFF_LIMIT
