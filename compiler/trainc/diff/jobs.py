"""Which objects belong together: a JobSet, its PodGroup, and what its pods mount."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.diff.normal import Manifest
from trainc.diff.objects import ObjectKey, Pair
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class JobPairs:
    """The objects of one job on both sides, the JobSet last; or one object that belongs to no job."""

    namespace: str
    name: str
    pairs: tuple[Pair, ...]

    @property
    def jobset(self) -> Pair | None:
        """The JobSet, None for an object of no job."""
        return self.pairs[-1] if self.pairs[-1].key.kind == "JobSet" else None

    def manifests(self, side: str) -> list[Manifest]:
        """The objects as delivered on one side: "before" or "after"."""
        found = [getattr(pair, side) for pair in self.pairs]
        return [manifest for manifest in found if manifest is not None]


def by_job(pairs: Sequence[Pair]) -> tuple[JobPairs, ...]:
    """The pairs in groups, by namespace and name."""
    owners: dict[tuple[str, str, str], Pair] = {}
    for jobset in (pair for pair in pairs if pair.key.kind == "JobSet"):
        for kind, name in _mentions(jobset):
            owners.setdefault((jobset.key.namespace, kind, name), jobset)
    members: dict[ObjectKey, list[Pair]] = {}
    for pair in pairs:
        owner = (
            pair if pair.key.kind == "JobSet" else owners.get((pair.key.namespace, _role(pair), pair.key.name), pair)
        )
        members.setdefault(owner.key, []).append(pair)
    return tuple(
        JobPairs(key.namespace, key.name, tuple(sorted(group, key=lambda p: (p.key == key, p.key.kind, p.key.name))))
        for key, group in members.items()
    )


def _role(pair: Pair) -> str:
    """What a JobSet mentions an object as: whatever makes a Secret goes by the Secret's name."""
    return pair.key.kind if pair.key.kind in ("PodGroup", "ConfigMap") else "Secret"


def _mentions(jobset: Pair) -> Iterator[tuple[str, str]]:
    yield "PodGroup", jobset.key.name
    for side in (jobset.normal_before, jobset.normal_after):
        for replicated_job in (side or {}).get("spec", {}).get("replicatedJobs") or ():
            pod = replicated_job.get("template", {}).get("spec", {}).get("template", {}).get("spec", {})
            for volume in pod.get("volumes") or ():
                yield from _sources(volume)
                for source in volume.get("projected", {}).get("sources") or ():
                    yield from _sources(source)


def _sources(volume: Manifest) -> Iterator[tuple[str, str]]:
    if "configMap" in volume:
        yield "ConfigMap", volume["configMap"].get("name", "")
    if "secret" in volume:
        yield "Secret", volume["secret"].get("secretName") or volume["secret"].get("name", "")
