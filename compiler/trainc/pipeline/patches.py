"""Patches: the TrainJob's changes to its runtime's template, applied in order.

Source: kubeflow/trainer pkg/runtime/core/trainingruntime.go (mergeRuntimePatches and its predecessors).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainc.findings import Finding, Path
from trainc.ir.info import Info
from trainc.ir.release import Release
from trainc.ir.trainjob import Patch, PatchedJob, TrainJob
from trainc.kube import names
from trainc.kube.documents import JOBS, MERGE_KEYS, MERGED_SETS, POD_SPEC, Json, pod_spec_of, value_at, without_path
from trainc.kube.strategic_merge import Copies, PatchFailedError, strategic_merge
from trainc.project.dialects.dialect import LABELED, NamingConvention
from trainc.schema.rules import unknown_claims
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import Any, TypeAlias


def read_patches(spec: Json) -> tuple[Patch, ...]:
    """Return the patches of a TrainJob's spec, from the field of any release."""
    return (*_overrides(spec, "podSpecOverrides"), *_overrides(spec, "podTemplateOverrides"), *_runtime_patches(spec))


def _runtime_patches(spec: Json) -> Iterator[Patch]:
    for i, item in enumerate(spec.get("runtimePatches", ())):
        path: Path = ("spec", "runtimePatches", i)
        template = (item.get("trainingRuntimeSpec") or {}).get("template") or {}
        metadata = template.get("metadata") or {}
        jobs_path = (*path, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        jobs = tuple(
            PatchedJob(job["name"], job.get("template"), (*jobs_path, j), (*jobs_path, j, *POD_SPEC))
            for j, job in enumerate((template.get("spec") or {}).get("replicatedJobs", ()))
        )
        yield Patch(item["manager"], jobs, path, metadata.get("labels", {}), metadata.get("annotations", {}))


def _overrides(spec: Json, field: str) -> Iterator[Patch]:
    for i, item in enumerate(spec.get(field, ())):
        path: Path = ("spec", field, i)
        pod_template, pod_path = _pod_template_patch(item, field, path)
        template = {"spec": {"template": pod_template}}
        jobs = tuple(
            PatchedJob(target["name"], template, (*path, "targetJobs", j), pod_path)
            for j, target in enumerate(item["targetJobs"])
        )
        yield Patch(None, jobs, path)


def _pod_template_patch(item: Json, field: str, path: Path) -> tuple[Json, Path]:
    if field == "podSpecOverrides":
        return {"spec": {key: value for key, value in item.items() if key != "targetJobs"}}, path
    metadata = {k: v for k, v in (item.get("metadata") or {}).items() if k in ("labels", "annotations")}
    patch = {"metadata": metadata} if metadata else {}
    return ({**patch, "spec": item["spec"]} if item.get("spec") else patch), (*path, "spec")


def apply_patches(template: Json, patches: tuple[Patch, ...], release: Release) -> dict[str, Any]:
    """Return the JobSetSpec with all patches merged in, and its replicated jobs in the template's order.

    Raises PatchFailedError, with the patch's path in the TrainJob, if a patch cannot be merged.
    """
    if not patches:
        return {**template, "replicatedJobs": [*template.get("replicatedJobs", ())]}
    return next(apply_in_steps(template, (patches,), release))


def apply_in_steps(template: Json, steps: Iterable[Sequence[Patch]], release: Release) -> Iterator[dict[str, Any]]:
    """Like `apply_patches`, after each of several steps. The next step changes what it has made itself in place."""
    jobs: list[Any] = list(template.get("replicatedJobs", ()))
    order = {job["name"]: i for i, job in enumerate(jobs)}
    copies, has_empty_lists = Copies(), False
    for patches in steps:
        for patch in patches:
            jobs = _patch_jobs(jobs, patch, release, copies)
            has_empty_lists = has_empty_lists or any(_has_empty_list(patched.template) for patched in patch.jobs)
        done = [_without_blank_account(job) for job in (_without_empty_lists(jobs) if has_empty_lists else jobs)]
        # A job that only a patch has sorts with the first one: the controller looks its name up in a Go map and gets 0.
        yield {**template, "replicatedJobs": sorted(done, key=lambda job: order.get(job["name"], 0))}


def _without_blank_account(job: Json) -> Json:
    """Remove `serviceAccountName: ""`, with which a patch clears the template's. Go's PodSpec omits it."""
    path = (*POD_SPEC, "serviceAccountName")
    return without_path(job, path) if value_at(job, path) == "" else job


def _has_empty_list(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_empty_list, value.values()))
    return isinstance(value, list) and (not value or any(map(_has_empty_list, value)))


def _without_empty_lists(value: Any) -> Any:
    """Remove empty lists, with which a patch may replace required ones. Go's apply configurations omit them."""
    if isinstance(value, Mapping):
        return {name: _without_empty_lists(item) for name, item in value.items() if item != []}
    return [_without_empty_lists(item) for item in value] if isinstance(value, list) else value


def _patch_jobs(jobs: list[Any], patch: Patch, release: Release, copies: Copies) -> list[Any]:
    if release.patch_scope == "job set":
        items = [{"name": p.name, **({"template": p.template} if p.template else {})} for p in patch.jobs]
        try:
            merged = strategic_merge({"replicatedJobs": jobs}, {"replicatedJobs": items} if items else {}, copies)
        except PatchFailedError as failed:
            # The six steps are replicatedJobs[i].template.spec.template.spec: all lists that merge by key are below it.
            raise failed.at((*patch.jobs[int(failed.path[1])].pod_path, *failed.path[6:])) from None
        empty: Json = {"spec": {"template": {"spec": {}}}}
        return [job if "template" in job else {**job, "template": empty} for job in merged["replicatedJobs"]]
    wanted = {patched.name: patched for patched in patch.jobs}
    return [_merge_job(job, wanted[job["name"]], copies) if job["name"] in wanted else job for job in jobs]


def _merge_job(job: Json, patched: PatchedJob, copies: Copies) -> Json:
    try:
        return {**job, "template": strategic_merge(job["template"], patched.template or {}, copies)}
    except PatchFailedError as failed:
        # The three steps are spec.template.spec, relative to the job's template.
        raise failed.at((*patched.pod_path, *failed.path[3:])) from None


# Lists that a patch always replaces on purpose.
_ALWAYS_REPLACED = frozenset(("command", "args"))


def replaced_lists(template: Mapping[str, Any], patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield a warning for each list of a JobSetSpec from which a patch removes items."""
    jobs = {job["name"]: job for job in template.get("replicatedJobs") or ()}
    for patch in patches:
        for patched in patch.jobs:
            job = jobs.get(patched.name)
            if job is None or not patched.pod_spec:
                continue
            yield from _find_replaced(pod_spec_of(job), patched.pod_spec, patched.pod_path)


def _find_replaced(base: Mapping[str, Any], patch: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    for key, value in patch.items():
        before, here = base.get(key), (*path, key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            yield from _find_replaced(before, value, here)
        elif isinstance(value, list) and isinstance(before, list) and key not in MERGED_SETS | _ALWAYS_REPLACED:
            yield from _replaced_items(before, value, here, key)


def _replaced_items(before: list[Any], value: list[Any], path: Path, key: str) -> Iterator[Finding]:
    if merge_key := MERGE_KEYS.get(key):
        by_key = {item.get(merge_key): item for item in before if isinstance(item, Mapping)}
        for i, item in enumerate(value):
            if isinstance(item, Mapping) and item.get(merge_key) in by_key:
                yield from _find_replaced(by_key[item.get(merge_key)], item, (*path, i))
    elif before != value:
        import json

        stay = {json.dumps(item, sort_keys=True) for item in value}
        lost = [text for item in before if (text := json.dumps(item, sort_keys=True)) not in stay]
        if not lost:
            return
        text = ", ".join(lost[:2])
        excerpt = (text[:97] + "...") if len(text) > 100 else text
        message = f"a patch replaces {key} whole: {len(lost)} of the runtime's {len(before)} are gone: {excerpt}"
        yield Finding("ListReplaced", "warning", message, "repeat in the patch the items to keep", path)


# Findings about the patched runtime: those about what a patch wrote belong to the patch.


def at_patch(finding: Finding, template: Json, runtime: Json, patches: Sequence[Patch]) -> Finding:
    """Return a finding about the runtime as one about the TrainJob, if one of its patches wrote what it is about.

    `template` is the JobSetSpec with all patches, and `runtime` the document without them, whose lists may have other
    items, or the same at other places.
    """
    path, of_patch = _path_where_written(finding.path, template, runtime, patches)
    source, source_of_patch = None, False
    if finding.source_path:
        source, source_of_patch = _path_where_written(finding.source_path, template, runtime, patches)
    if not of_patch:
        return replace(finding, path=path, source_path=finding.source_path if source_of_patch else source)
    return replace(finding, path=path, source_path=source if source_of_patch else None, about="trainjob")


def _path_where_written(path: Path, template: Json, runtime: Json, patches: Sequence[Patch]) -> tuple[Path, bool]:
    """Return the path of a field of the patched template in the document that wrote it, and whether that is a patch."""
    if path[:3] == ("spec", "template", "metadata") and len(path) == 5:
        for patch in reversed(patches):
            if path[4] in (patch.labels if path[3] == "labels" else patch.annotations):
                return (*patch.path, "trainingRuntimeSpec", *path[1:]), True
        return path, False
    jobs = template.get("replicatedJobs") or ()
    index = path[4] if path[:4] == JOBS and path[5:6] == ("template",) else None
    if not isinstance(index, int) or index >= len(jobs):
        return path, False
    steps, merged, name = path[6:], jobs[index].get("template"), jobs[index]["name"]
    runtime_jobs = (((runtime["spec"].get("template") or {}).get("spec") or {}).get("replicatedJobs")) or ()
    before = next((job.get("template") for job in runtime_jobs if job["name"] == name), None)
    deepest, _ = _follow(steps, merged, before)
    written, of_patch = (*path[:6], *deepest, *steps[len(deepest) :]), False
    for patch in patches:
        for patched in patch.jobs:
            if patched.name != name or not patched.template:
                continue
            followed, value = _follow(steps, merged, patched.template)
            is_value = len(followed) == len(steps) and not isinstance(value, Mapping | list)
            if len(followed) > len(deepest) or is_value:
                remaining = steps[len(followed) :]
                written, of_patch, deepest = (*_in_patch(followed, patched), *remaining), True, followed
    return written, of_patch


def _follow(steps: Path, merged: Any, part: Any) -> tuple[Path, Any]:
    """Follow a path of the merged template in one of its parts, as far as the part has it; return where it ends there."""
    followed: list[str | int] = []
    field = ""
    for step in steps:
        if isinstance(step, int):
            if not (isinstance(part, list) and isinstance(merged, list) and step < len(merged)):
                break
            key, item = MERGE_KEYS.get(field), merged[step]
            same = [
                i
                for i, candidate in enumerate(part)
                if candidate == item or (key and _value_of(candidate, key) == _value_of(item, key))
            ]
            if not same:
                break
            followed.append(same[0])
            merged, part = item, part[same[0]]
        else:
            if not (isinstance(part, Mapping) and step in part):
                break
            followed.append(step)
            merged, part, field = _value_of(merged, step), part[step], step
    return tuple(followed), part


def _value_of(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _in_patch(steps: Path, patched: PatchedJob) -> Path:
    """Return the path in the TrainJob of a path in a patch's partial JobTemplateSpec."""
    if steps[:3] == ("spec", "template", "spec"):
        return (*patched.pod_path, *steps[3:])
    if steps[:2] == ("spec", "template"):
        return (*patched.pod_path[:-1], *steps[2:])
    return (*patched.path, "template", *steps)


# Roles: which replicated job is the launcher, which one is the nodes, and which container is the main one of each.
#
# Roles are inferred before lowering, which writes them into the pod sets.


# Claims of devices (DRA) in TrainJobs and their patches. Source: kubeflow/trainer#4027 at 3c8b998a (Trainer 2.4).


def claims_behind_gate(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error for each field of the TrainJob that needs the gate, if it is off."""
    if names.CLAIMS_GATE not in info.release.feature_gates or names.CLAIMS_GATE in info.feature_gates:
        return
    message = f"the feature gate {names.CLAIMS_GATE} of Trainer's controller is off by default"
    hint = f"if it is on in the cluster, write featureGates: [{names.CLAIMS_GATE}] in trainc.yaml; if not, put the claims into the runtime"
    for path in _claiming(job):
        yield Finding("FeatureGateOff", "error", message, hint, path)


def _claiming(job: TrainJob) -> Iterator[Path]:
    """Yield the fields of the TrainJob and of its patches that have claims."""
    if job.trainer.resource_claims:
        yield "spec", "trainer", "resourceClaimsPerNode"
    for patched in (patched for patch in job.patches for patched in patch.jobs):
        if patched.pod_spec.get("resourceClaims"):
            yield *patched.pod_path, "resourceClaims"
        for kind in ("containers", "initContainers"):
            for index, container in enumerate(patched.pod_spec.get(kind, ())):
                if (container.get("resources") or {}).get("claims"):
                    yield *patched.pod_path, kind, index, "resources", "claims"


def dangling_claims(info: Info) -> Iterator[Finding]:
    """Yield an error for each claim of a container that its pod does not have, at the patches that can have caused it.

    Under `gitops`, the checks of pods find them in what is built.
    """
    if info.gitops or not info.release.claims_merge:
        return
    for pod_set in info.pod_sets:
        pods: Mapping[str, Any] = {
            **info.pod_spec(pod_set.name),
            **pod_set.pod_fields,
            "initContainers": [container.fields for container in pod_set.init_containers],
            "containers": [container.fields for container in pod_set.containers],
        }
        for container, _, claim in unknown_claims(pods):
            message = (
                f"container {container!r} of job {pod_set.name!r} uses the claim {claim!r}, which the pods do not have"
            )
            hint = f"add it to the pods: resourceClaims: [{{name: {claim}, resourceClaimTemplateName: NAME}}]"
            yield Finding("NotInPod", "error", message, hint, ("spec", "runtimePatches"))


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a replicated job and the name of its main container, for `PodSet.role` and `PodSet.main`."""

    role: str = ""
    main: str = names.NODE


NO_ROLE = Role()
_ROLES_BY_NAME = {name: Role(name) for name in (names.NODE, names.LAUNCHER)}
# Roles by the name of the replicated job. Jobs without a role are not in it.
Roles: TypeAlias = Mapping[str, Role]


@dataclass(frozen=True, slots=True)
class Template:
    """A runtime's JobSetSpec with patches and labels applied, and the roles of its replicated jobs."""

    spec: Json
    roles: Roles


def read_roles(spec: Json) -> Template:
    """Return the roles as the controller has them: by the job names `node` and `launcher`, with main container `node`."""
    called = [job["name"] for job in spec["replicatedJobs"]]
    return Template(spec, {name: _ROLES_BY_NAME[name] for name in called if name in _ROLES_BY_NAME})


def infer_roles(spec: Json, ml_policy: Json | None, naming: NamingConvention) -> tuple[Template, list[Finding]]:
    """Return the JobSetSpec with inferred ancestor labels and roles, and findings about guesses and ambiguities."""
    labeled, findings = infer_ancestor_labels(spec, ml_policy, naming)
    if not naming.guesses:
        return read_roles(labeled), findings
    roles, doubts = _roles(labeled["replicatedJobs"], ml_policy, naming)
    return Template(labeled, roles), findings + doubts


def _roles(jobs: Sequence[Json], ml_policy: Json | None, naming: NamingConvention) -> tuple[Roles, list[Finding]]:
    launcher = _launcher(jobs, naming) if "mpi" in (ml_policy or {}) else None
    node = _node(jobs, launcher, naming)
    roles: dict[str, Role] = {}
    findings: list[Finding] = []
    for index, job in enumerate(jobs):
        part = names.LAUNCHER if job is launcher else (names.NODE if job is node else "")
        if part or ancestor_of(job) == names.TRAINER:
            roles[job["name"]] = Role(part, _main(job, naming))
            findings += _doubts(job, index, part, naming)
    return roles, findings


def _launcher(jobs: Sequence[Json], naming: NamingConvention) -> Json | None:
    """Return the job called launcher, else the trainer if it is the only candidate or another job is clearly the nodes."""
    by_name = next((job for job in jobs if job["name"] == names.LAUNCHER), None)
    if by_name is not None:
        return by_name
    trainer = next((job for job in jobs if ancestor_of(job) == names.TRAINER), None)
    other_jobs = [job for job in jobs if job is not trainer and ancestor_of(job) is None]
    return trainer if not other_jobs or any(job["name"] in naming.trainer_jobs for job in other_jobs) else None


def _node(jobs: Sequence[Json], launcher: Json | None, naming: NamingConvention) -> Json | None:
    other_jobs = [job for job in jobs if job is not launcher]
    for name in naming.trainer_jobs:
        for job in other_jobs:
            if job["name"] == name:
                return job
    return next((job for job in other_jobs if ancestor_of(job) == names.TRAINER), None)


def _main(job: Json, naming: NamingConvention) -> str:
    containers = container_names(job)
    preferred = next((name for name in naming.containers if name in containers), None)
    return preferred or (containers[0] if containers else names.NODE)


def _doubts(job: Json, index: int, part: str, naming: NamingConvention) -> Iterator[Finding]:
    path = (*JOBS, index)
    if part == names.NODE and ancestor_of(job) is None and job["name"] != naming.contract:
        message = f"job {job['name']!r} is assumed to be the nodes on which the launcher starts processes"
        hint = "rename it to node: in trainer.kubeflow.org/v1alpha1 the name matters"
        yield Finding("RoleInferred", "warning", message, hint, path, "runtime")
    if job.get("replicas", 1) != 1:
        message = f"job {job['name']} has {job['replicas']} replicas; only 1 is supported"
        hint = "use mlPolicy.numNodes or the TrainJob's numNodes for more pods"
        yield Finding("ReplicasNotOne", "error", message, hint, (*path, "replicas"), "runtime")
    containers = container_names(job)
    if len(containers) > 1 and not set(naming.containers) & set(containers):
        message = (
            f"job {job['name']!r} has the containers {', '.join(containers)}; it is ambiguous which of them trains"
        )
        hint = f"rename the one that trains to {naming.containers[0]}"
        containers_path = (*path, *POD_SPEC, "containers")
        yield Finding("AmbiguousTrainer", "error", message, hint, containers_path, "runtime")


def infer_ancestor_labels(
    template: Json, ml_policy: Json | None, naming: NamingConvention = LABELED
) -> tuple[Json, list[Finding]]:
    """Return the JobSetSpec with missing ancestor labels added where they are unambiguous, and findings about them.

    Existing labels are never changed. Several candidates for one step are an error, not a guess.
    """
    jobs = list(template.get("replicatedJobs", ()))
    findings: list[Finding] = []
    present = {ancestor_of(job) for job in jobs}
    if names.TRAINER in present and None not in present:  # Nothing is left to label.
        return {**template, "replicatedJobs": jobs}, findings
    for step in (names.TRAINER, *names.INITIALIZERS):
        if step in present:
            continue
        candidates = _candidates(step, jobs, ml_policy, naming)
        if len(candidates) > 1 or (not candidates and naming.guesses and step == names.TRAINER and jobs):
            findings.append(_ambiguous(step, [jobs[i]["name"] for i in candidates] or [job["name"] for job in jobs]))
        for i in candidates[:1] if len(candidates) == 1 else ():
            jobs[i] = _with_label(jobs[i], step)
            if jobs[i]["name"] != naming.contract:
                findings.append(_inference_notice(step, jobs[i]["name"], i))
    return {**template, "replicatedJobs": jobs}, findings


def ancestor_of(job: Json) -> str | None:
    """Return the step in a replicated job's ancestor label, or None."""
    labels = (job.get("template", {}).get("metadata") or {}).get("labels", {})
    value: str | None = labels.get(names.ANCESTOR_LABEL)
    return value


def container_names(job: Json) -> tuple[str, ...]:
    """Return the names of a replicated job's regular containers, in order."""
    return tuple(container.get("name", "") for container in pod_spec_of(job).get("containers", ()))


def _candidates(step: str, jobs: Sequence[Json], ml_policy: Json | None, naming: NamingConvention) -> list[int]:
    """Return the indexes of the unlabeled jobs that could be a step."""
    unlabeled = [i for i, job in enumerate(jobs) if ancestor_of(job) is None]
    if step != names.TRAINER:
        return [i for i in unlabeled if jobs[i]["name"] == step and step in container_names(jobs[i])]
    # In an MPI job with a launcher, the launcher is the trainer.
    launches = "mpi" in (ml_policy or {}) and any(job["name"] == names.LAUNCHER for job in jobs)
    for name in (names.LAUNCHER,) if launches else naming.trainer_jobs:
        matching = [i for i in unlabeled if jobs[i]["name"] == name]
        if matching:
            return [i for i in matching if naming.guesses or set(naming.containers) & set(container_names(jobs[i]))]
    return [i for i in unlabeled if not _initializes(jobs[i]["name"])] if naming.guesses else []


def _initializes(name: str) -> bool:
    return name == "initializer" or name.endswith("-initializer")


def _with_label(job: Json, step: str) -> Json:
    template = job["template"]
    metadata = template.get("metadata") or {}
    labels = {**metadata.get("labels", {}), names.ANCESTOR_LABEL: step}
    return {**job, "template": {**template, "metadata": {**metadata, "labels": labels}}}


def _inference_notice(step: str, job: str, index: int) -> Finding:
    message = f"job {job!r} has no ancestor label; it is assumed to be the {step} step"
    hint = f"add the label {names.ANCESTOR_LABEL}: {step} to the job template's metadata"
    return Finding("RoleInferred", "warning", message, hint, (*JOBS, index), "runtime")


def _ambiguous(step: str, jobs: list[str]) -> Finding:
    message = (
        f"jobs {', '.join(jobs)} could all be the {step} step, and none has the ancestor label"
        if len(jobs) > 1
        else f"job {jobs[0]} does not have the label or the name of a {step} step"
    )
    hint = f"add the label {names.ANCESTOR_LABEL}: {step} to the one that is"
    return Finding("AmbiguousTrainer", "error", message, hint, JOBS, "runtime")
