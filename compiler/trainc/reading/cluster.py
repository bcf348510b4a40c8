"""A dump of a cluster: the objects that `kubectl get -o yaml` prints, indexed, and lists that are written by hand.

A dump rarely has everything. An object that is missing from it may exist in the cluster, unless the dump is complete for
its kind and namespace: a list that the API server printed has all objects of the kinds in it, and a document `kind:
Cluster` has what its author says that jobs may use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from trainc.findings import Diagnostic, format_path, has_errors
from trainc.kube import names
from trainc.kube.documents import ByKey, Json, Unchecked, mapping, objects
from trainc.options import Limits
from trainc.reading.document import Document, is_printed, label_of
from trainc.reading.files import read_paths
from trainc.reading.opening import read_data
from trainc.schema.document_kinds import DocumentKind, Schema, without_nulls
from trainc.startup.records import replace

# Namespace (empty for an object of the whole cluster) and name.
Key: TypeAlias = tuple[str, str]

GROUP, API, KIND = "trainc", "trainc/v1alpha1", "Cluster"
_EVERYWHERE = "*"


class Kind(NamedTuple):
    """A kind that is read from dumps: its API group and the name by which kubectl exports it."""

    group: str
    plural: str


_OF_GROUPS = {
    names.KUEUE_GROUP: "ClusterQueue LocalQueue Cohort ResourceFlavor Topology AdmissionCheck WorkloadPriorityClass",
    "": "Node Namespace LimitRange ResourceQuota ServiceAccount PersistentVolumeClaim ConfigMap Secret",
    "node.k8s.io": "RuntimeClass",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "StorageClass",
    "apps": "Deployment",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "karpenter.sh": "NodePool",
}


def _plural(kind: str) -> str:
    name = kind.lower()
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}{'es' if name.endswith('s') else 's'}"


KINDS: Mapping[str, Kind] = {
    kind: Kind(group, _plural(kind)) for group, kinds in _OF_GROUPS.items() for kind in kinds.split()
}


# A list that kubectl prints is one document, which may hold all jobs of a cluster with their pods.
_TIMES_LARGER = 5
_NONE = ByKey()


class Dump:
    """The objects of a dump, by kind and then by namespace and name.

    Of a kind in `KINDS`, only objects of its API group count. `repeated` are further objects with the kind, namespace
    and name of one before them; `nameless` are documents without a kind or a name. `problems` are about documents of
    the kind `Cluster`.
    """

    def __init__(self, documents: Iterable[tuple[Any, str]]) -> None:
        """Index documents. Each comes with the list in which the API server printed it; "" if it did not."""
        self.repeated: list[Unchecked] = []
        self.nameless: list[Unchecked] = []
        self.problems: list[Diagnostic] = []
        self._objects: dict[str, ByKey] = {}
        self._of_groups: dict[tuple[str, str], dict[Key, Unchecked]] = {}
        self._complete: set[tuple[str, str]] = set()
        self._exported: set[str] = set()
        printed: dict[str, set[tuple[str, str]]] = {}
        by_hand: list[_HandWritten] = []
        room = _MOST_NODES
        for document, listing in documents:
            if not isinstance(document, Mapping):
                continue
            if _is_by_hand(document):
                by_hand.append(_HandWritten(document, room))
                room -= by_hand[-1].nodes
            elif (kind := self._add(document)) and listing:
                printed.setdefault(listing, set()).add((kind, _key(document)[0]))
        for listed in printed.values():
            # A list with objects of several namespaces is of all namespaces; otherwise it may be of that one alone.
            everywhere = len({namespace for _, namespace in listed if namespace}) > 1
            self._complete |= {(kind, _EVERYWHERE if everywhere else namespace) for kind, namespace in listed}
        for cluster in by_hand:
            for manifest in cluster.objects:  # What was exported takes precedence.
                self._objects.setdefault(manifest["kind"], ByKey()).setdefault(_key(manifest), manifest)
            self._complete |= cluster.complete
            self.problems += cluster.problems

    @classmethod
    def read(cls, path: str, limits: Limits, stdin: BinaryIO | None = None) -> tuple[Dump | None, list[Diagnostic]]:
        """Read the dump in a file or folder, or on stdin for `-`; None if a part of it cannot be read."""
        larger = replace(
            limits, document_bytes=limits.document_bytes * _TIMES_LARGER, values=limits.values * _TIMES_LARGER
        )
        documents, problems = read_paths([path], larger, stdin=stdin, everything=True)
        return None if has_errors(problems) else cls.of_documents(documents), problems

    @classmethod
    def of_documents(cls, documents: Iterable[Document]) -> Dump:
        """Create a dump from documents that were read from files."""
        return cls((document.data, document.listing) for document in documents)

    @classmethod
    def of_objects(cls, documents: Iterable[Any], complete: Iterable[tuple[str, str]] = ()) -> Dump:
        """Create a dump from objects and Lists; it is `complete` for these kinds and namespaces ("*" is all of them)."""
        dump = cls(
            (item, f"list {number}" if is_printed(document) else "")
            for number, document in enumerate(documents)
            for _, item in Document.each_in(document)
        )
        dump._complete.update(complete)
        return dump

    def of(self, kind: str) -> ByKey:
        """The objects of a kind."""
        return self._objects.get(kind, _NONE)

    @property
    def for_pods(self) -> Mapping[str, ByKey]:
        """The objects by which the API server admits pods."""
        kinds = ("LimitRange", "PriorityClass", "ResourceQuota", "RuntimeClass", "ServiceAccount")
        return {kind: self.of(kind) for kind in kinds if self.of(kind)}

    def of_group(self, group: str, kind: str) -> Mapping[Key, Unchecked]:
        """The objects of a kind in an API group, for kinds that several groups have."""
        return self._of_groups.get((group, kind), {})

    def __iter__(self) -> Iterator[Unchecked]:
        """Every object that has a kind and a name, once."""
        return (manifest for group in self._of_groups.values() for manifest in group.values())

    def list_all(self, kind: str) -> list[Unchecked]:
        """The objects of a kind, including those without a name."""
        return [*self.of(kind).values(), *(manifest for manifest in self.nameless if manifest.get("kind") == kind)]

    def get(self, kind: str, namespace: str, name: str) -> Unchecked | None:
        """The object of that kind, namespace (empty for one of the whole cluster) and name."""
        return self.of(kind).get((namespace, name))

    @staticmethod
    def is_counted(node: Unchecked) -> bool:
        """Whether it is known how many nodes are like this one, which a description of a cluster need not say."""
        return UNCOUNTED not in mapping(mapping(node.get("metadata")).get("annotations"))

    def names(self, kind: str, namespace: str = "") -> list[str]:
        """The names of the objects of a kind in a namespace, or of the whole cluster, sorted."""
        return sorted(name for where, name in self.of(kind) if where == namespace)

    def is_complete(self, kind: str, namespace: str = "") -> bool:
        """Return whether an object of that kind and namespace that is not in the dump does not exist in the cluster."""
        return (kind, namespace) in self._complete or (kind, _EVERYWHERE) in self._complete

    def covers(self, kind: str, namespace: str = "") -> bool:
        """Return whether a kind was exported at all, or is listed by hand for that namespace."""
        return kind in self._exported or self.is_complete(kind, namespace)

    def images(self) -> Iterator[str]:
        """The images of all containers in Deployments, which show what is installed."""
        for deployment in self.list_all("Deployment"):
            template = mapping(mapping(deployment.get("spec")).get("template"))
            for container in objects(mapping(template.get("spec")).get("containers")):
                yield str(container.get("image") or "")

    def version(self, image: str) -> str:
        """The tag of the first image whose path ends in `image`; empty if there is none, or it has no tag."""
        for full_image in self.images():
            path, _, tag = full_image.partition("@")[0].rpartition(":")
            if f"/{path}".endswith(f"/{image}") and "/" not in tag:
                return tag
        return ""

    def _add(self, manifest: Unchecked) -> str:
        """Add an object and return its kind; empty if it does not count."""
        kind, key = manifest.get("kind"), _key(manifest)
        if not isinstance(kind, str) or not key[1]:
            self.nameless.append(manifest)
            return ""
        self._of_groups.setdefault((group_of(manifest), kind), {}).setdefault(key, manifest)
        if kind in KINDS and "apiVersion" in manifest and group_of(manifest) != KINDS[kind].group:
            return ""
        self._exported.add(kind)
        if self._objects.setdefault(kind, ByKey()).setdefault(key, manifest) is not manifest:
            self.repeated.append(manifest)
        return kind


def _is_by_hand(document: Unchecked) -> bool:
    """Return whether a document is, or is meant to be, of the kind `Cluster`; its schema reports what is misspelt."""
    kind, version, group = document.get("kind"), document.get("apiVersion"), group_of(document)
    if group != GROUP and (kind != KIND or version == "v1"):
        return False
    from trainc.findings.text import correct_spelling

    is_kind = kind in (KIND, None) or correct_spelling(str(kind), [KIND])
    return bool(is_kind and (group in (GROUP, "") or correct_spelling(group, [GROUP])))


def group_of(manifest: Unchecked) -> str:
    """The API group of an object; empty for the core API."""
    return str(manifest.get("apiVersion") or "").rpartition("/")[0]


def _key(manifest: Unchecked) -> Key:
    metadata = mapping(manifest.get("metadata"))
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


# What a document `kind: Cluster` lists for a namespace, and for the whole cluster. A list has names; that of Secrets and
# ConfigMaps may be a mapping instead, from each name to its keys.
_OF_NAMESPACE = {
    "queues": "LocalQueue",
    "claims": "PersistentVolumeClaim",
    "secrets": "Secret",
    "configMaps": "ConfigMap",
    "serviceAccounts": "ServiceAccount",
}
_OF_CLUSTER = {"priorityClasses": "PriorityClass", "runtimeClasses": "RuntimeClass", "storageClasses": "StorageClass"}
_MOST_NODES = 100_000
# The kubelet's default.
_PODS_PER_NODE = "110"
# On a node that stands for an unknown number of nodes of its type.
UNCOUNTED = "trainc/uncounted"
_SCHEMA: Schema = read_data(__file__, "cluster.json")
CLUSTER = DocumentKind("Cluster", "a list of what a cluster has", "SnapshotUnreadable", _SCHEMA)
_HINT = "`trainc schema Cluster` and docs/cluster.md show what it looks like"


class _HandWritten:
    """The objects that a document `kind: Cluster` lists, and the kinds and namespaces for which it is complete.

    `nodes` counts those that its types stand for, at most `room` of them.
    """

    def __init__(self, document: Json, room: int) -> None:
        self.nodes = 0
        self.objects: list[Json] = []
        self.complete: set[tuple[str, str]] = set()
        data, findings = CLUSTER.check(without_nulls(CLUSTER.schema, document))
        label = label_of(document)
        self.problems = [
            Diagnostic(finding.code, "error", finding.message, finding.hint or _HINT, label, format_path(finding.path))
            for finding in findings
        ]
        for key, kind in _OF_CLUSTER.items():
            self._names(kind, "", data.get(key))
        for namespace, contents in data.get("namespaces", {}).items():
            self._make("Namespace", "", str(namespace))
            for key, kind in _OF_NAMESPACE.items():
                self._names(kind, str(namespace), mapping(contents).get(key))
        if "nodes" in data:
            self.complete.add(("Node", ""))
        for i, node_type in enumerate(data.get("nodes", ())):
            count = node_type.get("count")
            self.nodes += 1 if count is None else int(count)
            if self.nodes > room:
                message, path = f"with these, there are more than {_MOST_NODES:,} nodes", f"nodes[{i}].count"
                self.problems.append(Diagnostic(CLUSTER.code, "error", message, _HINT, label, path))
                break
            self._nodes(node_type)

    def _make(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        metadata = {"namespace": namespace, "name": name} if namespace else {"name": name}
        manifest: dict[str, Any] = {"kind": kind, "metadata": metadata}
        self.objects.append(manifest)
        return manifest

    def _names(self, kind: str, namespace: str, listed: Any) -> None:
        """Add the objects of a list; without one, nothing is known about the kind."""
        if listed is None:
            return
        for name in listed:
            manifest = self._make(kind, namespace, str(name))
            if isinstance(listed, Mapping) and listed[name] is not None:
                manifest["data"] = dict.fromkeys(listed[name], "")
        self.complete.add((kind, namespace))

    def _nodes(self, node_type: Json) -> None:
        name, count = node_type["name"], node_type.get("count")
        allocatable = {"pods": _PODS_PER_NODE, **node_type.get("allocatable", {})}
        for number in range(1 if count is None else int(count)):
            node = self._make("Node", "", f"{name}-{number}")
            labels = {"kubernetes.io/hostname": f"{name}-{number}", **node_type.get("labels", {})}
            node["metadata"] |= {"labels": labels, "annotations": {UNCOUNTED: "true"} if count is None else {}}
            node["spec"] = {"taints": node_type.get("taints", [])}
            node["status"] = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
