"""Lints for volumes: data that the trainer never sees, claims bound to one node, and volumes that nothing mounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.findings import Finding
from trainc.ir.entrypoints import pod_path
from trainc.ir.info import Info, PodSet
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.documents import Json, identity_of, items, mapping

_INITIALIZERS = {names.DATASET_INITIALIZER: "dataset", names.MODEL_INITIALIZER: "model"}
# Volumes that each pod has for itself, and that are deleted with it.
_OWN = frozenset(("emptyDir", "ephemeral"))
# Volumes with given content, to which nothing can be stored.
_FILLED = frozenset(("secret", "configMap", "downwardAPI", "projected", "image"))
_ONE_NODE = frozenset(("ReadWriteOnce", "ReadWriteOncePod"))
_IN_MEMORY_SERVED = "cache:"


def volumes(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings about a job's volumes, as far as its own documents show them. Runs on sized jobs."""
    for pod_set in info.pod_sets:
        yield from _unused(job, info, pod_set)
        if pod_set.ancestor in _INITIALIZERS:
            yield from _unshared(job, info, pod_set)
    yield from _templates(job, info)


def _mounts(pod_set: PodSet) -> Iterator[Json]:
    for container in (*pod_set.containers, *pod_set.init_containers):
        yield from container.mounts
        yield from container.fields.get("volumeDevices", ())


def _unused(job: TrainJob, info: Info, pod_set: PodSet) -> Iterator[Finding]:
    """Yield findings for volumes of the template that no container mounts: the pod still waits for them."""
    mounted = {mount.get("name") for mount in _mounts(pod_set)}
    for volume in info.pod_spec(pod_set.name).get("volumes", ()):
        if volume.get("name") not in mounted:
            path, about = pod_path(job, info, pod_set.name, "volumes", ("name", volume.get("name")))
            patched = about == "trainjob"
            message = f"no container of {pod_set.name!r} mounts the volume {volume.get('name')!r}"
            hint = f"add volumeMounts: [{{name: {volume.get('name')}, mountPath: /data}}] to the container, or remove the volume"
            yield Finding(
                "VolumeNotMounted", "warning" if patched else "info", message, hint=hint, path=path, about=about
            )


def _claim_templates(info: Info) -> Iterator[tuple[int, int, Json]]:
    for i, policy in enumerate(info.template.get("volumeClaimPolicies") or ()):
        for j, template in enumerate(policy.get("templates") or ()):
            yield i, j, template


def _source(pod_set: PodSet, name: str, info: Info) -> tuple[str, Any] | None:
    """Return kind and identity of the storage behind a mount; None if it stores no data or is unknown."""
    volume = next((v for v in pod_set.volumes if v.get("name") == name), None)
    if volume is None:
        shared = any((t.get("metadata") or {}).get("name") == name for _, _, t in _claim_templates(info))
        return ("volumeClaimPolicies", name) if shared else None
    kinds = [kind for kind, value in volume.items() if kind != "name" and value is not None]
    if len(kinds) != 1 or kinds[0] in _FILLED:
        return None
    kind = kinds[0]
    source = volume[kind]
    return kind, source.get("claimName") if kind == "persistentVolumeClaim" else _frozen(source)


def _frozen(value: Any) -> str:
    return repr(sorted(value.items())) if isinstance(value, Mapping) else repr(value)


def _unshared(job: TrainJob, info: Info, pod_set: PodSet) -> Iterator[Finding]:
    """Yield a finding for an initializer whose download is in storage that the trainer does not mount."""
    step = job.initializer(pod_set.ancestor or "")
    sources = [v.get("value") for c in pod_set.containers for v in c.env if v["name"] == "STORAGE_URI"]
    if info.trainer is None or (step is None and not sources):
        return
    # A cache serves the data to the trainer from memory.
    if any(source is None or source.lower().startswith(_IN_MEMORY_SERVED) for source in sources):
        return
    filled = [
        (str(m.get("name")), source) for m in _mounts(pod_set) if (source := _source(pod_set, str(m.get("name")), info))
    ]
    readers = [p for p in info.pod_sets if p.ancestor == names.TRAINER or p.role == names.NODE]
    read = {
        source for reader in readers for m in _mounts(reader) if (source := _source(reader, str(m.get("name")), info))
    }
    if not filled or any(source in read and source[0] not in _OWN for _, source in filled):
        return
    name, (kind, identity) = filled[0]
    what = f"claim {identity!r}" if kind == "persistentVolumeClaim" else f"{kind} volume {name!r}"
    message = f"{pod_set.name!r} fills its {what}, and the trainer's pods do not mount it: they find an empty folder"
    hint = f"give both jobs a volume {name!r} of one persistentVolumeClaim, and mount it in both"
    if kind in _OWN:
        message = f"{pod_set.name!r} fills an {kind} volume, which is gone with its pod: the trainer finds nothing"
    path, about = pod_path(job, info, pod_set.name, "volumes", ("name", name))
    has_cache = any(variable["name"] == "CACHE_IMAGE" for c in pod_set.containers for variable in c.env)
    if has_cache and step is not None and step.storage_uri is not None:
        # The runtime is made for a cache, and the job downloads instead.
        path, about = ("spec", "initializer", (pod_set.ancestor or "").partition("-")[0], "storageUri"), "trainjob"
        name = info.release.sharing_runtime
        hint += f"; the runtime {name} does so: `trainc runtimes show {name}` prints it"
    yield Finding("InitializerVolumeNotShared", "warning", message, hint=hint, path=path, about=about)


def _templates(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings about claims that JobSet creates: access from several nodes, and retention."""
    for i, j, template in _claim_templates(info):
        name = (template.get("metadata") or {}).get("name")
        modes = set((template.get("spec") or {}).get("accessModes") or ())
        path = ("spec", "template", "spec", "volumeClaimPolicies", i, "templates", j, "spec", "accessModes")
        # Steps that run one after another may be on the same node; the pods of one step are not.
        pods = max(
            (p.count * p.replicas for p in info.pod_sets if any(m.get("name") == name for m in _mounts(p))), default=0
        )
        if modes and modes <= _ONE_NODE and pods > 1:
            yield _one_node(str(name), sorted(modes), pods, path, "runtime")
        policy = info.template["volumeClaimPolicies"][i].get("retentionPolicy") or {}
        if policy.get("whenDeleted", "Delete") == "Delete" and _holds_output(info, str(name)):
            where = ("spec", "template", "spec", "volumeClaimPolicies", i)
            message = f"the claim {name!r} is deleted with the job, and the job writes its output there"
            hint = (
                f"copy the runtime (`trainc runtimes show {job.runtime_name}` prints a built-in one), set retentionPolicy: "
                "{whenDeleted: Retain} in it, and compile with --name-hash (see RetainedClaim); or write to a claim of your own"
            )
            # An output that the TrainJob itself sets is one that its author wants to keep.
            requested = (*(job.trainer.command or ()), *(job.trainer.args or ()))
            chosen = bool(requested) and _holds_output(info, str(name), requested)
            yield Finding(
                "OutputDeletedWithJob", "warning" if chosen else "info", message, hint=hint, path=where, about="runtime"
            )


def _holds_output(info: Info, volume: str, words: Sequence[str] = ()) -> bool:
    """Return whether a container writes its output to a volume: by its own command line, or by these `words`."""
    from trainc.lints.outputs import output_paths

    for pod_set in info.pod_sets:
        for container in pod_set.containers:
            own = (*(info.command or container.command), *(info.args or container.fields.get("args", ())))
            mounts = [str(m.get("mountPath")) for m in container.mounts if m.get("name") == volume]
            if any(
                path.startswith(mount.rstrip("/") + "/") or path == mount
                for path in output_paths(words or own)
                for mount in mounts
            ):
                return True
    return False


def _one_node(claim: str, modes: Sequence[str], pods: int, path: Any, about: Any) -> Finding:
    message = f"the claim {claim!r} is {' and '.join(modes)}: only one node can mount it, so other pods of the {pods} wait forever"
    hint = "use a claim with accessModes: [ReadWriteMany], or one claim per pod"
    return Finding("ClaimOnSeveralNodes", "warning", message, hint=hint, path=path, about=about)


def claims_on_several_nodes(job: TrainJob, info: Info, documents: Iterable[Json]) -> Iterator[Finding]:
    """Yield a warning for each claim of the input that only one node can mount and pods of several use.

    Runs on sized jobs.
    """
    modes = {
        identity_of(d)[1]: set(map(str, items(mapping(d.get("spec")).get("accessModes"))))
        for d in documents
        if d.get("kind") == "PersistentVolumeClaim" and identity_of(d)[0] in ("", job.namespace)
    }
    for pod_set in info.pod_sets if modes else ():
        for volume in pod_set.volumes:
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            found = modes.get(str(claim))
            pods = pod_set.count * pod_set.replicas
            if (
                found
                and found <= _ONE_NODE
                and pods > 1
                and any(m.get("name") == volume["name"] for m in _mounts(pod_set))
            ):
                path, about = pod_path(job, info, pod_set.name, "volumes", ("name", volume["name"]))
                yield _one_node(str(claim), sorted(found), pods, path, about)
