"""Whether the cluster has what a job names: claims, Secrets and their keys, ConfigMaps, service accounts, classes.

Only an absence that is certain is reported: the dump has to be complete for the kind and the namespace, and the input
must not create the object itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from trainc.api.cluster import Dump
from trainc.api.findings import Path, did_you_mean
from trainc.api.kube import POD_SPEC, Json, mapping, objects

# Kind, namespace (empty for kinds of the whole cluster) and name.
Created: TypeAlias = Collection[tuple[str, str, str]]

_OF_CLUSTER = frozenset(("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "WorkloadPriorityClass"))
_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
_MOST_NAMES = 5
# Kubernetes creates these in every cluster or namespace.
_ALWAYS = {("PriorityClass", "system-cluster-critical"), ("PriorityClass", "system-node-critical")}
_ALWAYS |= {("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")}


class Reference(NamedTuple):
    """The name of an object in a JobSet, with the key that is read from it if there is one, and the path of the name."""

    kind: str
    name: str
    path: Path
    key: str = ""


class Missing(NamedTuple):
    """An object, or a key of it, that the cluster certainly does not have, and where the JobSet names it."""

    kind: str
    namespace: str
    name: str
    key: str
    hint: str
    path: Path

    def __str__(self) -> str:
        place = f"{self.kind} {self.name} in {f'namespace {self.namespace}' if self.namespace else 'the cluster'}"
        return f"{place} has no key {self.key}" if self.key else f"there is no {place}"


def needed_objects(jobset: Json, created: Created = ()) -> Iterator[tuple[str, Reference]]:
    """What a JobSet names and the cluster must have, each with its namespace; `created` is what the input creates."""
    namespace = str(mapping(jobset.get("metadata")).get("namespace") or "")
    for one in references(jobset):
        where = "" if one.kind in _OF_CLUSTER else namespace
        provided = (one.kind, one.name) in _ALWAYS or (one.kind, where, one.name) in created
        if not provided and (where or one.kind in _OF_CLUSTER):
            yield where, one


def missing_objects(jobset: Json, dump: Dump, created: Created = ()) -> Iterator[Missing]:
    """What a JobSet needs and the cluster does not have. In a namespace that is missing itself, nothing else is named."""
    seen = set()
    for where, one in needed_objects(jobset, created):
        existing = dump.get(one.kind, where, one.name)
        identity = one.kind, one.name, one.key if existing else ""
        if identity in seen:
            continue
        seen.add(identity)
        if existing is None and dump.is_complete(one.kind, where):
            names = dump.names(one.kind, where)
            some = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
            other = f"export the namespaces again (they were {some})" if one.kind == "Namespace" else f"use {some}"
            hint = did_you_mean(one.name, names) or f"create it before the job starts{f', or {other}' if names else ''}"
            yield Missing(one.kind, where, one.name, "", hint, one.path)
            if one.kind == "Namespace":
                return
        elif existing is not None and one.key:
            keys = _keys(existing)
            if keys is not None and one.key not in keys:
                key_hint = f"its keys are {', '.join(sorted(keys))}" if keys else "it has no keys"
                yield Missing(one.kind, where, one.name, one.key, did_you_mean(one.key, keys) or key_hint, one.path)


def _keys(existing: Json) -> Collection[str] | None:
    """The keys of a Secret or ConfigMap; None if a list by hand has only its name."""
    if not {"data", "binaryData", "stringData", "apiVersion"} & existing.keys():
        return None
    return {str(key) for part in ("data", "binaryData", "stringData") for key in mapping(existing.get(part))}


def references(jobset: Json) -> Iterator[Reference]:
    """The names of other objects in a JobSet, except those that a pod can do without (`optional`)."""
    metadata, spec = mapping(jobset.get("metadata")), mapping(jobset.get("spec"))
    yield from _named("Namespace", metadata, "namespace", ("metadata",))
    labels = mapping(metadata.get("labels"))
    yield from _named("WorkloadPriorityClass", labels, _PRIORITY_LABEL, ("metadata", "labels"))
    for i, policy in enumerate(objects(spec.get("volumeClaimPolicies"))):
        for j, template in enumerate(objects(policy.get("templates"))):
            path: Path = ("spec", "volumeClaimPolicies", i, "templates", j, "spec")
            yield from _named("StorageClass", mapping(template.get("spec")), "storageClassName", path)
    for i, job in enumerate(objects(spec.get("replicatedJobs"))):
        pod = mapping(mapping(mapping(mapping(job.get("template")).get("spec")).get("template")).get("spec"))
        yield from _of_pod(pod, ("spec", "replicatedJobs", i, *POD_SPEC))


def _of_pod(pod: Json, path: Path) -> Iterator[Reference]:
    for kind in ("ServiceAccount", "PriorityClass", "RuntimeClass"):
        yield from _named(kind, pod, f"{kind[0].lower()}{kind[1:]}Name", path)
    for i, secret in enumerate(objects(pod.get("imagePullSecrets"))):
        yield from _named("Secret", secret, "name", (*path, "imagePullSecrets", i))
    for i, volume in enumerate(objects(pod.get("volumes"))):
        yield from _of_volume(volume, (*path, "volumes", i))
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(objects(pod.get(kind))):
            yield from _of_container(container, (*path, kind, i))


def _of_volume(volume: Json, path: Path) -> Iterator[Reference]:
    claim = mapping(volume.get("persistentVolumeClaim"))
    yield from _named("PersistentVolumeClaim", claim, "claimName", (*path, "persistentVolumeClaim"))
    yield from _files("Secret", mapping(volume.get("secret")), "secretName", (*path, "secret"))
    yield from _files("ConfigMap", mapping(volume.get("configMap")), "name", (*path, "configMap"))
    for i, source in enumerate(objects(mapping(volume.get("projected")).get("sources"))):
        for kind, field in (("Secret", "secret"), ("ConfigMap", "configMap")):
            yield from _files(kind, mapping(source.get(field)), "name", (*path, "projected", "sources", i, field))
    publish = mapping(mapping(volume.get("csi")).get("nodePublishSecretRef"))
    yield from _named("Secret", publish, "name", (*path, "csi", "nodePublishSecretRef"))
    template = mapping(mapping(volume.get("ephemeral")).get("volumeClaimTemplate"))
    inside: Path = (*path, "ephemeral", "volumeClaimTemplate", "spec")
    yield from _named("StorageClass", mapping(template.get("spec")), "storageClassName", inside)


def _files(kind: str, source: Json, field: str, path: Path) -> Iterator[Reference]:
    """A Secret or ConfigMap as a volume, and the keys that become files."""
    if source.get("optional") is True:
        return
    yield from _named(kind, source, field, path)
    for i, item in enumerate(objects(source.get("items"))):
        yield from _keyed(kind, source.get(field), item.get("key"), (*path, "items", i, "key"))


def _of_container(container: Json, path: Path) -> Iterator[Reference]:
    for i, variable in enumerate(objects(container.get("env"))):
        value_from = mapping(variable.get("valueFrom"))
        for kind, field in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
            source = mapping(value_from.get(field))
            if source.get("optional") is not True:
                place: Path = (*path, "env", i, "valueFrom", field)
                yield from _named(kind, source, "name", place)
                yield from _keyed(kind, source.get("name"), source.get("key"), (*place, "key"))
    for i, env_source in enumerate(objects(container.get("envFrom"))):
        for kind, field in (("Secret", "secretRef"), ("ConfigMap", "configMapRef")):
            source = mapping(env_source.get(field))
            if source.get("optional") is not True:
                yield from _named(kind, source, "name", (*path, "envFrom", i, field))


def _named(kind: str, holder: Json, field: str, path: Path) -> Iterator[Reference]:
    name = holder.get(field)
    if isinstance(name, str) and name:
        yield Reference(kind, name, (*path, field))


def _keyed(kind: str, name: Any, key: Any, path: Path) -> Iterator[Reference]:
    if isinstance(name, str) and name and isinstance(key, str) and key:
        yield Reference(kind, name, path, key)


# Kinds that create a Secret: the path of its name. A Role that may create Secrets names those that its pods create.
_SECRET_MAKERS = {
    "SealedSecret": ("spec", "template", "metadata", "name"),
    "ExternalSecret": ("spec", "target", "name"),
    "Certificate": ("spec", "secretName"),
    "VaultStaticSecret": ("spec", "destination", "name"),
    "VaultDynamicSecret": ("spec", "destination", "name"),
}


def created_by(documents: Iterable[Mapping[str, Any]], namespace: str = "") -> set[tuple[str, str, str]]:
    """What documents create: themselves, and the Secrets of those that make Secrets; `namespace` is the default."""
    made = set()
    for document in documents:
        kind, metadata = document.get("kind"), mapping(document.get("metadata"))
        name = metadata.get("name")
        if not isinstance(kind, str) or not isinstance(name, str):
            continue
        where = "" if kind in _OF_CLUSTER else str(metadata.get("namespace") or namespace)
        made.add((kind, where, name))
        if kind in _SECRET_MAKERS:
            other: Any = document
            for step in _SECRET_MAKERS[kind]:
                other = mapping(other).get(step)
            made.add(("Secret", where, other if isinstance(other, str) and other else name))
        for rule in objects(document.get("rules")) if kind == "Role" else ():
            if "secrets" in (rule.get("resources") or ()):
                made |= {("Secret", where, str(each)) for each in rule.get("resourceNames") or ()}
    return made
