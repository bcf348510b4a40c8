"""Claims of a cluster that the pods of a job cannot all mount, as a dump shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.cluster import Dump
from trainc.api.findings import Diagnostic, Finding, Hint, Path, did_you_mean, first_of
from trainc.api.kube import POD_SPEC, Unchecked, documents, mapping, objects
from trainc.api.records import replace
from trainc.features.cluster.fits.cluster import Flavor
from trainc.features.cluster.fits.inventory import Inventory
from trainc.features.cluster.fits.pods import PODS, times_in
from trainc.features.cluster.fits.references import Created
from trainc.features.cluster.fits.workload import PodSet, Workload

_CLAIM = "PersistentVolumeClaim"


def unmountable_claims(
    workload: Workload, dump: Dump, created: Created, inventory: Inventory, flavors: Mapping[str, list[Flavor]]
) -> Iterator[Finding]:
    """Yield a warning for each claim of the cluster on which pods of a job wait for ever, once for all pods.

    What the input creates is the business of lints.
    """
    ours, seen = created.get((_CLAIM, workload.namespace), ()), set()
    for pod_set in workload.pod_sets:
        for n, volume in enumerate(objects(pod_set.spec.get("volumes"))):
            name = str(mapping(volume.get("persistentVolumeClaim")).get("claimName"))
            claim = None if name in ours or name in seen else dump.get(_CLAIM, workload.namespace, name)
            if claim is None or not _is_mounted(pod_set, volume):
                continue
            usable = inventory.usable(pod_set.pod, flavors.get(pod_set.name, ()))
            pod = (*pod_set.scheduled.items(), (PODS, 1))
            on_one = max((times_in(pod, room) for room, _ in usable.rooms), default=1)
            if why := _gone(claim, dump) or _of_one_node(claim, pod_set, on_one):
                seen.add(name)
                path: Path = ("spec", "replicatedJobs", pod_set.index, *POD_SPEC, "volumes", n)
                path = (*path, "persistentVolumeClaim", "claimName")
                code, message, hint = why
                about = f"the claim {name} of namespace {workload.namespace} {message}"
                of_claim = (f"{_CLAIM} {workload.namespace}/{name}", ("spec", "accessModes"))
                hint = Hint(hint, objects=(of_claim, (f"StorageClass {_storage_class(claim)}", ())))
                yield Finding(code, "warning", about, hint, path)


def shared_claims(diagnostics: Sequence[Diagnostic]) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Return diagnostics, and apart from them one for each claim that is at fault for several jobs."""
    by_claim: dict[str, list[Diagnostic]] = {}
    for d in diagnostics:
        for label, path in d.objects:
            if path and label.startswith(f"{_CLAIM} "):
                by_claim.setdefault(label, []).append(d)
    several = {claim: found for claim, found in by_claim.items() if len(found) > 1}
    shared = [
        replace(
            first,
            message=f"{first.message.partition(', so ')[0]}; pods of {len(found)} jobs wait forever: "
            + first_of([d.object.removeprefix("JobSet ") for d in found], 3),
            object=claim,
            path="spec.accessModes" if first.code == "ClaimOnSeveralNodes" else "",
        )
        for claim, found in several.items()
        for first in found[:1]
    ]
    reported = {id(d) for found in several.values() for d in found}
    return [d for d in diagnostics if id(d) not in reported], shared


def _is_mounted(pod_set: PodSet, volume: Mapping[str, Any]) -> bool:
    containers = [c for kind in ("initContainers", "containers") for c in objects(pod_set.spec.get(kind))]
    mounts = (mount for container in containers for mount in objects(container.get("volumeMounts")))
    return any(mount.get("name") == volume.get("name") for mount in mounts)


def _of_one_node(claim: Unchecked, pod_set: PodSet, on_one: int) -> tuple[str, str, str] | None:
    """Why a claim serves fewer pods than there are; `on_one` node there is room for so many of them."""
    modes = sorted(set(map(str, documents.items(mapping(claim.get("spec")).get("accessModes")))))
    pods = pod_set.count
    if modes == ["ReadWriteOncePod"] and pods > 1:
        only = "one pod"
    elif modes and {*modes} <= {"ReadWriteOnce", "ReadWriteOncePod"} and pods > on_one:
        only = "one node"
    else:
        return None
    message = f"is {' and '.join(modes)}: only {only} can mount it, so others of the {pods} pods of {pod_set.name} wait forever"
    return "ClaimOnSeveralNodes", message, "use a claim with accessModes: [ReadWriteMany], or one claim per pod"


def _storage_class(claim: Unchecked) -> str:
    return str(mapping(claim.get("spec")).get("storageClassName") or "")


def _gone(claim: Unchecked, dump: Dump) -> tuple[str, str, str] | None:
    """Why no pod can mount a claim at all."""
    phase = mapping(claim.get("status")).get("phase")
    if phase == "Lost":
        hint = "restore its PersistentVolume, or use another claim"
        return "NotInCluster", "is Lost: its volume is gone, and no pod that mounts it starts", hint
    if mapping(claim.get("metadata")).get("deletionTimestamp"):
        hint = "create it again, or use another claim"
        return "NotInCluster", "is being deleted: no new pod that mounts it starts", hint
    kind, name = "StorageClass", _storage_class(claim)
    if phase != "Pending" or not name or dump.get(kind, "", name) or not dump.is_complete(kind, ""):
        return None
    names = dump.names(kind, "")
    hint = did_you_mean(name, names) or "create the StorageClass, or make the claim again with one of those that exist"
    return "NotInCluster", f"is Pending, and there is no StorageClass {name} that would give it a volume", hint
