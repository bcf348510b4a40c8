"""ConfigMaps that are a job's own: written with it, under a name that ends with a hash of their content.

A ConfigMap is a job's own if it has the annotation OWN and the job names it. Its content is a part of the TrainJob then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.emit.name_hash import name_hash
from trainc.kube.documents import Json, Manifest, identity_of, mapping, walk
from trainc.reading.document import Surroundings

OWN = "trainc/own"
_REFERENCES = frozenset(("configMap", "configMapRef", "configMapKeyRef"))


def is_own(config_map: Json) -> bool:
    """Return whether a ConfigMap is marked as one that is written with the jobs that name it."""
    return str(mapping(mapping(config_map.get("metadata")).get("annotations")).get(OWN)).lower() == "true"


def content(config_map: Json) -> Json:
    """Return what of a ConfigMap pods read."""
    return {field: config_map[field] for field in ("data", "binaryData") if isinstance(config_map.get(field), Mapping)}


def owned(tree: Any, around: Surroundings, namespace: str) -> dict[str, Json]:
    """Return the marked ConfigMaps that something in `tree` names, by name."""
    marked = around.gathered(_marked, namespace)
    return {name: marked[name] for name in sorted({*named(tree)} & marked.keys() if marked else ())}


def _marked(around: Surroundings, namespace: str) -> dict[str, Json]:
    return {name: one.data for name, one in around.of("ConfigMap", namespace).items() if is_own(one.data)}


def with_own(manifests: Sequence[Manifest], around: Surroundings, job: str) -> list[Manifest]:
    """Return the objects of a job with its own ConfigMaps before them, and their names where they are named."""
    jobset: Manifest = next((manifest for manifest in manifests if manifest["kind"] == "JobSet"), {"metadata": {}})
    namespace = {name: value for name, value in jobset["metadata"].items() if name == "namespace"}
    made: dict[str, Manifest] = {}
    for name, config_map in owned(jobset, around, namespace.get("namespace", "")).items():
        own = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **content(config_map)}
        prefix = "" if f"{name}-".startswith(f"{job}-") else f"{job}-"
        made[name] = {**own, "metadata": {"name": f"{prefix}{name}{name_hash([own])}", **namespace}}
    names = {name: config_map["metadata"]["name"] for name, config_map in made.items()}
    return [*made.values(), *(_renamed(one, names) if one is jobset and made else one for one in manifests)]


def _renamed(tree: Any, names: Mapping[str, str]) -> Any:
    """Return a copy of a tree with other names of ConfigMaps; what has none of them stays the same object."""
    if isinstance(tree, list):
        items = [_renamed(item, names) for item in tree]
        return items if any(new is not old for new, old in zip(items, tree, strict=True)) else tree
    if not isinstance(tree, Mapping):
        return tree
    fields = {key: _renamed(value, names) for key, value in tree.items()}
    for key in _REFERENCES & fields.keys():
        if (name := str(mapping(fields[key]).get("name"))) in names:
            fields[key] = {**fields[key], "name": names[name]}
    return fields if any(fields[key] is not tree[key] for key in fields) else tree


def named(tree: Any) -> Iterator[str]:
    """Yield the name of each ConfigMap that pods refer to."""
    for path, value in walk(tree):
        if path[-1:] == ("name",) and path[-2:-1] and path[-2] in _REFERENCES and isinstance(value, str):
            yield value


def named_by(trees: Iterable[Any], config_maps: Iterable[Json]) -> dict[str, bool]:
    """Return the names of the ConfigMaps that jobs or runtimes name, and whether each is written with the job."""
    names = {name for tree in trees for name in named(tree)}
    return {name: is_own(one) for one in config_maps if (name := identity_of(one)[1]) in names}
