"""Lowering: turns a valid TrainJob and its patched runtime into the typed model that plugins work on.

Source: kubeflow/trainer pkg/runtime/core/trainingruntime.go (newRuntimeInfo) and pkg/runtime/runtime.go.
"""

from __future__ import annotations

from marshal import dumps

from trainc.findings import Finding
from trainc.ir import info as gang
from trainc.ir.info import Container, Info, Item, PodSet, Size, launcher_is_node, upsert
from trainc.ir.provenance import derived, derived_from, made_of
from trainc.ir.release import Release
from trainc.ir.trainjob import NO_TRAINER, InitializerStep, Trainer, TrainJob
from trainc.kube import names
from trainc.kube.documents import Json, pod_spec_of
from trainc.kube.kueue_versions import step_of
from trainc.kube.quantity import POD_LEVEL, container_requests, pod_requests
from trainc.kube.releases import DEFAULT_KUBERNETES
from trainc.kube.strategic_merge import PatchFailedError
from trainc.options import Options
from trainc.pipeline.patches import (
    NO_ROLE,
    Role,
    Template,
    apply_patches,
    infer_roles,
    read_patches,
    read_roles,
    replaced_lists,
)
from trainc.pipeline.valid_document import ValidDocument
from trainc.startup.records import replace
from trainc.startup.typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from trainc.pipeline.session import Session


def lower_job(document: Json) -> TrainJob:
    """Return the TrainJob of a defaulted TrainJob document."""
    metadata, spec = document["metadata"], document["spec"]
    reference = spec["runtimeRef"]
    initializer = spec.get("initializer") or {}
    return TrainJob(
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        runtime_name=reference["name"],
        trainer=NO_TRAINER if spec.get("trainer") is None else _trainer(spec["trainer"]),
        dataset=_step(initializer.get("dataset")),
        model=_step(initializer.get("model")),
        suspend=spec.get("suspend"),
        managed_by=spec["managedBy"],
        active_deadline_seconds=spec.get("activeDeadlineSeconds"),
        labels=metadata.get("labels", {}),
        annotations=metadata.get("annotations", {}),
        spec_labels=spec.get("labels", {}),
        spec_annotations=spec.get("annotations", {}),
        patches=read_patches(spec),
    )


def _trainer(spec: Json) -> Trainer:
    return Trainer(
        image=spec.get("image"),
        command=_as_tuple(spec.get("command")),
        args=_as_tuple(spec.get("args")),
        env=tuple(spec.get("env", ())),
        num_nodes=spec.get("numNodes"),
        num_proc_per_node=spec.get("numProcPerNode"),
        resources_per_node=spec.get("resourcesPerNode"),
        resource_claims=tuple(spec.get("resourceClaimsPerNode", ())),
    )


def _as_tuple(items: list[str] | None) -> tuple[str, ...] | None:
    return None if items is None else tuple(items)


def _step(spec: Json | None) -> InitializerStep | None:
    if spec is None:
        return None
    secret = spec.get("secretRef")
    return InitializerStep(
        storage_uri=spec.get("storageUri"),
        env=tuple(spec.get("env", ())),
        secret=None if secret is None else secret["name"],
    )


# Results of `prepare`, by the id() of the runtime and the job's fields that affect it. Each entry keeps a reference to its
# runtime, so that the id cannot be reused.
Prepared: TypeAlias = dict[tuple[int, bytes], tuple[ValidDocument, Info, list[Finding]]]

# The fields of a TrainJob's spec that affect it. What the trainer sets is added afterwards, because most jobs differ in it.
_RUNTIME_FIELDS = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches", "labels", "annotations")
_MOST_PREPARED = 256


def prepare_once(spec: Json, job: TrainJob, runtime: ValidDocument, session: Session) -> tuple[Info, list[Finding]]:
    """Return the same as `prepare`, which is done once for all jobs that have the same runtime and the same changes to it."""
    fields: Any = [spec.get(field) for field in _RUNTIME_FIELDS]
    try:
        # Version 2 of the format has no references, so equal values have equal bytes even if they share objects.
        key = id(runtime), dumps(fields, 2)
    except ValueError:
        return prepare(job, runtime, session.release, session.options)
    prepared = session.prepared
    if key not in prepared:
        if len(prepared) >= _MOST_PREPARED:
            prepared.clear()
        prepared[key] = runtime, *prepare(replace(job, trainer=NO_TRAINER), runtime, session.release, session.options)
    _, info, findings = prepared[key]
    return with_trainer(info, job.trainer), findings


def prepare(job: TrainJob, runtime: ValidDocument, release: Release, options: Options) -> tuple[Info, list[Finding]]:
    """Patch the runtime, infer its roles, and lower it. Return the Info, and findings about the runtime and patches."""
    spec, release = runtime.data["spec"], runtime.behavior(release)
    template = spec.get("template", {}).get("spec") or {}
    try:
        patched = apply_patches(template, job.patches, release)
    except PatchFailedError as failed:
        # Continue without the patches, so that the job's other problems are reported too.
        without, problems = prepare(replace(job, patches=()), runtime, release, options)
        # In a cluster, too, such a job never gets a JobSet.
        hint = "give every item of the list a value for that key, or remove the item"
        message = f"the patch cannot be merged: {failed}"
        return without, [*problems, Finding("PatchFailed", "error", message, hint, failed.path)]
    replaced = list(replaced_lists(template, job.patches)) if job.patches else []
    if options.semantics == "controller":
        return lower(job, runtime.data, read_roles(patched), release, options), replaced
    labeled, findings = infer_roles(patched, spec.get("mlPolicy"), runtime.naming)
    return lower(job, runtime.data, labeled, release, options), [*findings, *replaced]


def lower(job: TrainJob, runtime: Json, template: Template, release: Release, options: Options) -> Info:
    """Return the Info of a job. `runtime` is the defaulted document, `template` its patched template with roles."""
    spec = runtime["spec"]
    ml_policy = spec.get("mlPolicy")
    labels, annotations = _job_set_metadata(job, spec.get("template", {}).get("metadata") or {})
    nodes, processes = _sizes(ml_policy or {})
    info = Info(
        release=release,
        semantics=options.semantics,
        cluster_domain=options.cluster_domain,
        plugins=options.plugins,
        kubernetes=options.kubernetes or DEFAULT_KUBERNETES,
        kueue=step_of(options.kueue) if options.kueue else "",
        feature_gates=options.feature_gates,
        software=options.software,
        template=template.spec,
        pod_sets=(),
        runtime_jobs=_containers_by_job(spec.get("template", {}).get("spec") or {}),
        ml_policy=ml_policy,
        pod_group_policy=_gang_policy(spec.get("podGroupPolicy"), options),
        labels=labels,
        annotations=annotations,
        nodes=nodes,
        processes=processes,
        traced=made_of(job.name) is not None,
    )
    pod_sets = [
        _pod_set(each, template.roles.get(each["name"], NO_ROLE), info) for each in template.spec["replicatedJobs"]
    ]
    return with_trainer(replace(info, pod_sets=tuple(pod_sets)), job.trainer)


def with_trainer(info: Info, trainer: Trainer) -> Info:
    """Return the Info with the trainer's resources, entrypoint and sizes."""
    nodes, processes = info.nodes, info.processes
    if trainer.num_nodes is not None:
        nodes = Size(trainer.num_nodes, ("spec", "trainer", "numNodes"), "trainjob")
    if trainer.num_proc_per_node is not None:
        processes = Size(trainer.num_proc_per_node, ("spec", "trainer", "numProcPerNode"), "trainjob")
    pod_sets, command, args = _with_resources(info, trainer), trainer.command, trainer.args
    return replace(info, pod_sets=pod_sets, command=command, args=args, nodes=nodes, processes=processes)


def _with_resources(info: Info, trainer: Trainer) -> tuple[PodSet, ...]:
    """Return the pod sets with the resources that the TrainJob gives each node, and its claims if the gate for them is on."""
    requested, claims = trainer.resources_per_node, trainer.resource_claims
    claims = claims if names.CLAIMS_GATE in info.feature_gates else ()
    if claims:
        requested = {**(requested or {}), "claims": [{"name": claim["name"]} for claim in claims]}
    if requested is None:
        return info.pod_sets
    pairs = zip(info.pod_sets, info.template["replicatedJobs"], strict=True)
    return tuple([_with_node_resources(pod_set, pod_spec_of(job), requested, claims, info) for pod_set, job in pairs])


def _sizes(policy: Json) -> tuple[Size, Size]:
    """Return numNodes of an mlPolicy, and numProcPerNode of its framework."""
    nodes = processes = Size()
    for name, value in policy.items():
        if name == "numNodes":
            nodes = Size(value, ("spec", "mlPolicy", name))
        elif isinstance(value, dict) and "numProcPerNode" in value:
            processes = Size(value["numProcPerNode"], ("spec", "mlPolicy", name, "numProcPerNode"))
    return nodes, processes


def _gang_policy(policies: Json | None, options: Options) -> Json | None:
    """Return the runtime's podGroupPolicy, in which `options.gang` replaces other schedulers.

    The replaced policies are kept inside the one that replaces them.
    """
    if not policies or options.gang == "runtime" or options.semantics == "controller":
        return policies
    replaced = {name: policy for name, policy in policies.items() if name != options.gang}
    gang_policy = {**(policies.get(options.gang) or {}), **replaced}
    first = next(iter(replaced.values()), None)
    if first is None:
        return {options.gang: derived(gang_policy, policies.get(options.gang))}
    if made_of(first) is not None:
        gang_policy = derived_from(gang_policy, (first,), f"--gang {options.gang}: Kubernetes schedules the gang")
    return {options.gang: gang_policy}


def has_several_pods(info: Info) -> bool:
    """Return whether more than one pod will train, as far as is known before the passes set pod counts."""
    pods = sum(pod_set.pods for pod_set in gang.members(info))
    return pods > 1 or (info.nodes.requested or 0) > 1


def _job_set_metadata(job: TrainJob, template: Json) -> tuple[dict[str, str], dict[str, str]]:
    """Return labels and annotations of the JobSet, from the template, the TrainJob's spec and each patch, in order."""
    labels = {**template.get("labels", {}), **job.spec_labels}
    annotations = {**template.get("annotations", {}), **job.spec_annotations}
    for patch in job.patches:
        labels.update(patch.labels)
        annotations.update(patch.annotations)
    return labels, annotations


def _pod_set(replicated_job: Json, role: Role, info: Info) -> PodSet:
    template = replicated_job["template"]
    ancestor = (template.get("metadata") or {}).get("labels", {}).get(names.ANCESTOR_LABEL)
    holder, counted = template.get("spec", {}), "parallelism"
    if ancestor == names.TRAINER and info.ml_policy is not None:
        holder, counted = info.ml_policy, "numNodes"
    count = holder.get(counted, 1)
    if info.traced and counted not in holder:
        count = derived_from(count, (), f"one pod, because {counted} is not set")
    pod_spec = pod_spec_of(replicated_job)
    return PodSet(
        name=replicated_job["name"],
        ancestor=ancestor,
        count=count if count >= 1 else derived(1, count),
        replicas=replicated_job.get("replicas", 1),
        containers=tuple(Container(fields) for fields in pod_spec.get("containers", ())),
        init_containers=tuple(Container(fields) for fields in pod_spec.get("initContainers", ())),
        volumes=tuple(pod_spec.get("volumes", ())),
        role=role.role,
        main=role.main,
        # Lets `kubectl logs -l` select the pods of a step without the job's name.
        labels={names.ANCESTOR_LABEL: _pod_label(ancestor) if info.traced else ancestor}
        if ancestor and info.gitops
        else {},
        **_requested(pod_spec, info),
    )


def _requested(pod_spec: Json, info: Info) -> dict[str, Any]:
    """Return the fields of a pod set that say what its pods request."""
    pod_level = POD_LEVEL if info.gitops else info.release.pod_level_resources
    requests = pod_requests(pod_spec, limits_count=info.gitops, pod_level=pod_level)
    return {"requests": requests, "amounts": _amounts_behind(pod_spec, info.gitops, pod_level) if info.traced else {}}


def _pod_label(ancestor: str) -> str:
    rule = "pods have the step label of their job"
    return derived_from(ancestor, (), rule, "ancestor-label-injection")


def _amounts_behind(pod_spec: Json, limits_count: bool, pod_level: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    """Return the amounts from which `pod_requests` counts each resource."""
    behind: dict[str, list[Any]] = {}
    for kind in ("containers", "initContainers"):
        for container in pod_spec.get(kind, ()):
            resources = container.get("resources", {})
            requests, limits = resources.get("requests", {}), resources.get("limits", {})
            for name in container_requests(container, limits_count):
                behind.setdefault(name, []).append(requests[name] if name in requests else limits[name])
    of_pod = pod_spec.get("resources", {}).get("requests", {})
    behind |= {name: [amount] for name, amount in of_pod.items() if name.startswith(pod_level)}
    for name, amount in (pod_spec.get("overhead") or {}).items():
        behind.setdefault(name, []).append(amount)
    return {name: tuple(amounts) for name, amounts in behind.items()}


def _containers_by_job(template: Json) -> dict[str, tuple[str, ...]]:
    return {
        replicated_job["name"]: tuple(
            container["name"]
            for kind in ("initContainers", "containers")
            for container in pod_spec_of(replicated_job).get(kind, ())
        )
        for replicated_job in template.get("replicatedJobs", ())
    }


def without_unserved_initializers(job: TrainJob, info: Info) -> tuple[TrainJob, list[Finding]]:
    """Return the job without initializers for which its runtime has no replicated job, and a warning for each."""
    findings: list[Finding] = []
    for field, step in (("dataset", names.DATASET_INITIALIZER), ("model", names.MODEL_INITIALIZER)):
        pod_set = info.pod_set(step)
        if job.initializer(step) is None or (pod_set is not None and pod_set.container(step) is not None):
            continue
        job = replace(job, dataset=None) if field == "dataset" else replace(job, model=None)
        message = f"the runtime has no job {step!r}, so nothing is downloaded"
        hint = f"use a runtime with this job, such as torch-distributed-with-cache, or mount the {field} in the trainer"
        findings.append(Finding("InitializerNotInRuntime", "warning", message, hint, ("spec", "initializer", field)))
    return job, findings


def _takes_node_resources(role: str, ancestor: str | None, info: Info) -> bool:
    """Return whether a replicated job takes the TrainJob's resources during lowering.

    Since 2.2 the controller applies them here only if there is an mlPolicy, and so ignores them for plain runtimes;
    `gitops` applies them. Until 2.1 the controller applies them only when it builds the JobSet.
    """
    release = info.release
    trains = ancestor == names.TRAINER
    mpi_node = launcher_is_node(info.ml_policy) and role == names.NODE
    if info.gitops:
        return trains or (mpi_node and release.resources_reach_mpi_node)
    if not release.gang_sees_resources or info.ml_policy is None:
        return False
    return trains or (mpi_node and release.resources == "merge")


def _with_node_resources(
    pod_set: PodSet, pod_spec: Json, requested: Json, claims: tuple[Item, ...], info: Info
) -> PodSet:
    """Return a pod set with the TrainJob's resources on its first container called `main`, and its claims, if it takes them."""
    if not _takes_node_resources(pod_set.role, pod_set.ancestor, info):
        return pod_set
    containers = list(pod_spec.get("containers", ()))
    at = next((i for i, container in enumerate(containers) if container.get("name") == pod_set.main), None)
    changed: dict[str, Any] = {}
    if at is not None:
        resources = _combine(containers[at].get("resources", {}), requested, info)
        containers[at] = {**containers[at], "resources": resources}
        changed = _requested({**pod_spec, "containers": containers}, info)
        if info.release.resources == "merge" or info.gitops:
            changed["containers"] = tuple(map(Container, containers))
    if claims:
        changed["pod_fields"] = {"resourceClaims": upsert(pod_spec.get("resourceClaims", ()), claims, "name")}
    return replace(pod_set, **changed) if changed else pod_set


def _combine(declared: Json, requested: Json, info: Info) -> Json:
    replaces, gitops = info.release.resources == "replace", info.gitops
    if replaces and not gitops:
        return requested
    if replaces:
        combined = _amounts(requested if "limits" in requested or "requests" in requested else declared)
    else:
        combined = {**_amounts(declared), **_amounts(requested)}
        combined = {kind: {**declared.get(kind, {}), **requested.get(kind, {})} for kind in combined}
        combined = {kind: amounts for kind, amounts in combined.items() if amounts}
    # Up to 2.3 the controller drops claims if the TrainJob sets any resources; later it puts the TrainJob's first.
    merges = info.release.claims_merge
    own, others = requested.get("claims", ()), declared.get("claims", ())
    claims = {c["name"]: c for c in ((*own, *others) if merges else (*others, *own))}
    if merges:
        claims |= {c["name"]: c for c in own}
    return {**combined, "claims": list(claims.values())} if claims and (gitops or merges) else combined


def _amounts(resources: Json) -> dict[str, Any]:
    return {kind: resources[kind] for kind in ("limits", "requests") if kind in resources}
