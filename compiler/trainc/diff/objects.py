"""Which object of one side is which of the other: by API version, kind, namespace and name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from trainc.diff.hashed_names import plain_names, under_plain_names
from trainc.diff.normal import Manifest, normal, stripped
from trainc.startup.records import dataclass


class ObjectKey(NamedTuple):
    """What makes an object the same one; `name` is without its content hash where that is what differs."""

    namespace: str
    name: str
    kind: str
    api_version: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Pair:
    """One object on both sides, or on one: `before` and `after` as delivered, and in the forms that are compared."""

    key: ObjectKey
    before: Manifest | None
    after: Manifest | None
    normal_before: Manifest | None
    normal_after: Manifest | None

    @property
    def is_renamed(self) -> bool:
        """Whether the object has another name than before, by its content hash."""
        names = [side["metadata"]["name"] for side in (self.before, self.after) if side is not None]
        return len(set(names)) > 1


def match(before: Iterable[Manifest], after: Iterable[Manifest]) -> tuple[Pair, ...]:
    """The objects of both sides in pairs, by namespace and name. Of two objects with one key the later counts."""
    left, right = [stripped(m) for m in before], [stripped(m) for m in after]
    plain = _plain_by_namespace(left, right)
    was, becomes = _by_key(left, plain), _by_key(right, plain)
    return tuple(
        Pair(key, *_delivered(was.get(key), becomes.get(key)), *_compared(was.get(key), becomes.get(key)))
        for key in sorted({*was, *becomes})
    )


def repeated(manifests: Iterable[Manifest]) -> list[str]:
    """Objects that are there more than once, by what they are called."""
    counted = Counter(
        ObjectKey(_namespace(m), str(m["metadata"]["name"]), m["kind"], m["apiVersion"]) for m in manifests
    )
    return [str(key) for key, count in sorted(counted.items()) if count > 1]


class _Side(NamedTuple):
    delivered: Manifest
    compared: Manifest


def _plain_by_namespace(before: list[Manifest], after: list[Manifest]) -> dict[str, Mapping[str, str]]:
    sides = [_jobset_names(before), _jobset_names(after)]
    return {
        namespace: plain_names(sides[0].get(namespace, ()), sides[1].get(namespace, ()))
        for namespace in sorted({*sides[0], *sides[1]})
    }


def _jobset_names(manifests: list[Manifest]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for manifest in manifests:
        if manifest["kind"] == "JobSet":
            names.setdefault(_namespace(manifest), []).append(manifest["metadata"]["name"])
    return names


def _by_key(manifests: list[Manifest], plain: Mapping[str, Mapping[str, str]]) -> dict[ObjectKey, _Side]:
    found = {}
    for manifest in manifests:
        compared = under_plain_names(normal(manifest), plain.get(_namespace(manifest), {}))
        name = compared["metadata"]["name"]
        key = ObjectKey(_namespace(manifest), name, manifest["kind"], manifest["apiVersion"])
        found[key] = _Side(manifest, compared)
    return found


def _namespace(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("namespace", ""))


def _delivered(*sides: _Side | None) -> tuple[Manifest | None, ...]:
    return tuple(side and side.delivered for side in sides)


def _compared(*sides: _Side | None) -> tuple[Manifest | None, ...]:
    return tuple(side and side.compared for side in sides)
