"""Return whether the cluster has what a job names: claims, Secrets and their keys, ConfigMaps, service accounts, classes.

An absence is certain if the dump is complete for the kind and the namespace, and the input does not create the object
itself. Of a dump that has others of that kind and namespace, one by one, it is said that this one is not among them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from trainc.api.cluster import Dump
from trainc.api.documents import Document, opening
from trainc.api.findings import Path, Severity, did_you_mean
from trainc.api.kube import Unchecked, documents, mapping, names, objects, value_at
from trainc.api.records import pattern
from trainc.features.cluster.fits.pods import shorten
from trainc.features.cluster.fits.snapshot import export_command

# Kind, namespace (empty for kinds of the whole cluster) and name.
# Names by kind and namespace.
Created: TypeAlias = Mapping[tuple[str, str], Collection[str]]
NOTHING_CREATED: Created = MappingProxyType({})

_OF_CLUSTER = frozenset(("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "WorkloadPriorityClass"))
# The ConfigMaps of the sources that a build reads for the jobs that name them, and does not write: a key of `Created`.
LEFT_OUT = "ConfigMap that is not written"
_OWN = 'the one of the sources is read, and not written: annotate it with trainc/own: "true", or have it applied before the job'
_WITH_VALUES = ("Secret", "ConfigMap")
_NAMES = "docs/fits.md has the command that prints names and keys only"
_MOST_NAMES = 5
_DIGITS = pattern(r"[0-9]+")
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
    """An object, or a key of it, that the cluster does not have, and where the JobSet names it.

    It is not `certain` if the snapshot has others, and may lack some; `likely` if it has almost this name, the sources
    have one that is not written, or it is a priority of Kueue.
    """

    kind: str
    namespace: str
    name: str
    key: str
    hint: str
    path: Path
    certain: bool = True
    likely: bool = False

    def __str__(self) -> str:
        subject = f"{self.kind} {self.name} in {f'namespace {self.namespace}' if self.namespace else 'the cluster'}"
        if not self.certain:
            return f"the snapshot has no {subject}; others it has one by one, not as a list that kubectl printed, so it may lack some"
        return f"{subject} has no key {self.key}" if self.key else f"there is no {subject}"

    @property
    def severity(self) -> Severity:
        """A warning, because it may be created after the export; less if it may be there, and nothing is called almost so."""
        return "warning" if self.certain or self.likely else "info"


def needed_objects(jobset: Unchecked, created: Created = NOTHING_CREATED) -> Iterator[tuple[str, Reference]]:
    """What a JobSet names and the cluster must have, each with its namespace; `created` is what the input creates."""
    namespace = str(mapping(jobset.get("metadata")).get("namespace") or "")
    for reference in references(jobset):
        where = "" if reference.kind in _OF_CLUSTER else namespace
        is_created = reference.name in created.get((reference.kind, where), ())
        if (
            not is_created
            and (reference.kind, reference.name) not in _ALWAYS
            and (where or reference.kind in _OF_CLUSTER)
        ):
            yield where, reference


def missing_objects(jobset: Unchecked, dump: Dump, created: Created = NOTHING_CREATED) -> Iterator[Missing]:
    """What a JobSet needs and the cluster does not have. In a namespace that is missing itself, nothing else is named."""
    seen = set()
    for namespace, (kind, name, path, key) in needed_objects(jobset, created):
        existing = dump.get(kind, namespace, name)
        identity = kind, name, key if existing else ""
        if identity in seen:
            continue
        seen.add(identity)
        there = dump.names(kind, namespace) if existing is None else ()
        # Of priorities, a name that is almost one of those that were exported is enough.
        is_priority = kind == "WorkloadPriorityClass" and bool(did_you_mean(name, there))
        certain = is_priority or dump.is_complete(kind, namespace)
        # Of Namespaces, nothing else would be said.
        if existing is None and (certain or (there and kind != "Namespace")):
            read = created.get((LEFT_OUT, namespace), ()) if kind == "ConfigMap" else ()
            ours = [*created.get((kind, namespace), ()), *read]
            # What a Secret or ConfigMap is for, its name does not say.
            some = shorten(() if kind in _WITH_VALUES else there, _MOST_NAMES)
            other = f"export the namespaces again (they were {some})" if kind == "Namespace" else f"use {some}"
            near = did_you_mean(name, [*there, *ours]) or did_you_mean(name, ours, 0.5)
            if not certain and _DIGITS.sub("", name) in {_DIGITS.sub("", one) for one in there}:
                near = ""  # Of numbered objects, one is no other that is misspelt.
            rest = f"create it before the job starts{f', or {other}' if some else ''}"
            again = f"{f'use {some}, or ' if some else ''}export its objects of this kind again: "
            again += _NAMES if kind in _WITH_VALUES else export_command([kind])
            hint = _OWN if name in read else near or (rest if certain else again)
            # Kueue makes no Workload for a job of an unknown class; the few that there are stand in one file, as a rule.
            likely = hint in (_OWN, near) or kind == "WorkloadPriorityClass"
            yield Missing(kind, namespace, name, "", hint, path, certain, likely)
            if kind == "Namespace":
                return
        elif existing is not None and key:
            keys = _keys(existing)
            if keys is not None and key not in keys:
                key_hint = f"its keys are {', '.join(sorted(keys))}" if keys else "it has no keys"
                yield Missing(kind, namespace, name, key, did_you_mean(key, keys) or key_hint, path)


def _keys(existing: Unchecked) -> Collection[str] | None:
    """The keys of a Secret or ConfigMap; None if a list by hand has only its name."""
    if not {"data", "binaryData", "stringData", "apiVersion"} & existing.keys():
        return None
    return {str(key) for part in ("data", "binaryData", "stringData") for key in mapping(existing.get(part))}


# The fields of a JobSet that name other objects, in its shape, with the kind of each. And kinds that create a Secret, with
# the path of its name; a Role that may create Secrets names those that its pods create.
_NAMING: Mapping[str, Any] = opening.read_data(__file__, "references.json")


def references(value: object, shape: Any = _NAMING["of a JobSet"], path: Path = ()) -> Iterator[Reference]:
    """The names of other objects in a JobSet, except those that a pod can do without (`optional`)."""
    if isinstance(shape, list):
        for i, item in enumerate(objects(value)):
            yield from references(item, shape[0], (*path, i))
        return
    holder = mapping(value)
    for field, inner in shape.items():
        name = holder.get(field)
        if not isinstance(inner, str):
            yield from references(name, inner, (*path, field))
        elif isinstance(name, str) and name and holder.get("optional") is not True:
            yield Reference(inner, name, (*path, field))
            files = ((("items", i, "key"), item.get("key")) for i, item in enumerate(objects(holder.get("items"))))
            for steps, key in ((("key",), holder.get("key")), *files):
                if isinstance(key, str) and key:
                    yield Reference(inner, name, (*path, *steps), key)


def created_by(manifests: Iterable[Mapping[str, Any]], namespace: str = "") -> dict[tuple[str, str], set[str]]:
    """What manifests create: themselves, and the Secrets of those that make Secrets; `namespace` is the default."""
    created: dict[tuple[str, str], set[str]] = {}
    for document in manifests:
        kind, metadata = document.get("kind"), mapping(document.get("metadata"))
        name = metadata.get("name")
        if not isinstance(kind, str) or not isinstance(name, str):
            continue
        where = "" if kind in _OF_CLUSTER else str(metadata.get("namespace") or namespace)
        created.setdefault((kind, where), set()).add(name)
        secrets = created.setdefault(("Secret", where), set())
        if path := _NAMING["that make Secrets"].get(kind):
            other = value_at(document, path)
            secrets.add(other if isinstance(other, str) and other else name)
        for rule in objects(document.get("rules")) if kind == "Role" else ():
            if "secrets" in documents.items(rule.get("resources")):
                secrets.update(map(str, documents.items(rule.get("resourceNames"))))
    return created


def left_out(
    created: dict[tuple[str, str], set[str]],
    sources: Sequence[Document],
    written: Iterable[Mapping[str, Any]],
    namespace: str,
) -> None:
    """Take from what is created the ConfigMaps that a build only reads, beside the TrainJobs that name them."""
    folders = {os.path.dirname(one.file) for one in sources if one.data.get("kind") in names.JOB_KINDS}
    kept = created_by(written, namespace)
    for one in sources:
        if one.data.get("kind") == "ConfigMap" and os.path.dirname(one.file) in folders:
            for key, own in created_by([one.data], namespace).items():
                gone = own - kept.get(key, set())
                created[key] -= gone
                created.setdefault((LEFT_OUT, key[1]), set()).update(gone)
