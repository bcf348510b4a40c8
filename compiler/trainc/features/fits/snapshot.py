"""Read a snapshot, the output of `kubectl get ... -o yaml`, with a diagnostic for whatever cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.features.fits.cluster import Cluster, Cohort
from trainc.features.fits.kinds import (
    cluster_queue_of,
    cohort_of,
    flavor_of,
    labels_of,
    levels_of,
    limit_range_of,
    local_queue_of,
    node_of,
    overhead_of,
)
from trainc.features.fits.requests import merged_limits
from trainc.findings import Diagnostic
from trainc.kube.documents import Json

# Kind -> the name that kubectl uses, in the order in which --help lists them.
KINDS = {
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "Cohort": "cohorts",
    "ResourceFlavor": "resourceflavors",
    "Topology": "topologies",
    "Node": "nodes",
    "Namespace": "namespaces",
    "LimitRange": "limitranges",
    "RuntimeClass": "runtimeclasses",
}
FETCH = f"kubectl get {','.join(KINDS.values())} -A -o yaml"


def read_cluster(documents: Sequence[Json]) -> tuple[Cluster, list[Diagnostic]]:
    """Return the cluster that `documents` describe, and the problems found. Lists are expanded, other kinds ignored.

    An object that cannot be read is reported as an error and left out.
    """
    problems: list[Diagnostic] = []
    found: dict[str, dict[tuple[str, str], Json]] = {kind: {} for kind in KINDS}
    for document in objects(documents):
        kind, place = document["kind"], _key(document)
        if not place[1]:
            problems.append(_unreadable(document, "metadata.name", "it has no name"))
        elif place in found[kind]:
            problems.append(_twice(document))
        else:
            found[kind][place] = document
    return _assembled(found, problems), problems


def objects(documents: Iterable[Any]) -> Iterator[Json]:
    """The objects of known kinds, including those inside Lists."""
    left = list(documents)[::-1]
    while left:
        document = left.pop()
        kind = document.get("kind") if isinstance(document, Mapping) else None
        if not isinstance(kind, str):
            continue
        if kind.endswith("List") and isinstance(document.get("items"), list):
            left += document["items"][::-1]
        elif kind in KINDS:
            yield document


def _key(document: Json) -> tuple[str, str]:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def named(document: Json) -> str:
    """The name of an object in diagnostics, e.g. `ClusterQueue team-a`."""
    namespace, name = _key(document)
    return f"{document['kind']} {namespace}/{name}" if namespace else f"{document['kind']} {name}"


def _assembled(found: Mapping[str, Mapping[tuple[str, str], Json]], problems: list[Diagnostic]) -> Cluster:
    def readable(kind: str, read: Any) -> Iterator[tuple[tuple[str, str], Any]]:
        for place, document in found[kind].items():
            try:
                value = read(place[1], document)
            except ValueError as error:
                problems.append(_unreadable(document, getattr(error, "path", ""), str(error)))
            else:
                if value is not None:
                    yield place, value

    def by_name(kind: str, read: Any) -> dict[str, Any]:
        return {place[1]: value for place, value in readable(kind, read)}

    ranges: dict[str, list[Json]] = {}
    for (namespace, _), limit_range in sorted(readable("LimitRange", limit_range_of), key=lambda item: item[0]):
        ranges.setdefault(namespace, []).append(limit_range)
    return Cluster(
        by_name("ResourceFlavor", flavor_of),
        by_name("Topology", levels_of),
        tuple(by_name("Node", node_of).values()),
        _low_enough(by_name("Cohort", cohort_of), found["Cohort"], problems),
        by_name("ClusterQueue", cluster_queue_of),
        dict(readable("LocalQueue", local_queue_of)),
        by_name("Namespace", lambda _, document: labels_of(document)),
        {namespace: merged_limits(documents) for namespace, documents in ranges.items()},
        by_name("RuntimeClass", overhead_of),
        {kind: len(of_kind) for kind, of_kind in found.items()},
    )


# Kueue has no limit, but no real cluster nests this many cohorts.
_MOST_PARENTS = 100


def _low_enough(
    cohorts: Mapping[str, Cohort], documents: Mapping[tuple[str, str], Json], problems: list[Diagnostic]
) -> dict[str, Cohort]:
    """The cohorts without those that are nested too deeply."""
    high = {name for name in cohorts if _is_below_too_many(name, cohorts)}
    message = f"more than {_MOST_PARENTS} cohorts are above it"
    problems += [_unreadable(one, "spec.parentName", message) for (_, name), one in documents.items() if name in high]
    return {name: cohort for name, cohort in cohorts.items() if name not in high}


def _is_below_too_many(name: str, cohorts: Mapping[str, Cohort]) -> bool:
    seen: set[str] = set()
    while name in cohorts and name not in seen and len(seen) <= _MOST_PARENTS:
        seen.add(name)
        name = cohorts[name].parent
    return len(seen) > _MOST_PARENTS


def _unreadable(document: Json, path: str, message: str) -> Diagnostic:
    return Diagnostic(
        "SnapshotUnreadable",
        "error",
        f"this object cannot be read: {message}",
        f"export it again: {FETCH}",
        named(document),
        path,
    )


def _twice(document: Json) -> Diagnostic:
    return Diagnostic(
        "SnapshotTwice",
        "error",
        "the snapshot contains this object twice",
        "use one folder per cluster, with files that were exported together",
        named(document),
    )
