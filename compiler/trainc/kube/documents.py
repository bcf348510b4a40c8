"""Documents as plain data: their types, and paths to fields in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from trainc.findings import Path, format_key
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass
from trainc.startup.typing import Any, Self, TypeAlias

# `Json` is read-only, `Manifest` is an object under construction. Neither may be modified after it has been passed on.
Json: TypeAlias = Mapping[str, Any]
# Of an object that no schema has checked. Its values may be of any type, so that the type checker refuses to look into them:
# `mapping`, `objects`, `items` and `Foreign` do.
Unchecked: TypeAlias = Mapping[str, object]
Manifest: TypeAlias = dict[str, Any]

_NOTHING: Unchecked = {}
# Where a runtime has the jobs of its JobSet; where a replicated job has the template of its pods, and their spec.
JOBS: Path = ("spec", "template", "spec", "replicatedJobs")
POD_TEMPLATE: Path = ("template", "spec", "template")
POD_SPEC: Path = (*POD_TEMPLATE, "spec")


def value_at(tree: Any, path: Path) -> Any:
    """Return the value at a path of keys and indexes, or None if it does not exist."""
    for step in path:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def pod_spec_of(replicated_job: Json) -> Json:
    """Return the spec of the pods of a JobSet's replicated job; of one that no schema has checked, perhaps an empty one."""
    try:
        return mapping(replicated_job["template"]["spec"]["template"]["spec"])
    except (KeyError, TypeError):
        return {}


def without_path(document: Json, path: Path) -> dict[str, Any]:
    """Return a copy of `document` without `path`, which must exist."""
    key = str(path[0])
    others = {name: value for name, value in document.items() if name != key}
    return others if len(path) == 1 else {**document, key: without_path(document[key], path[1:])}


def with_value(document: Json, path: Path, value: Any) -> dict[str, Any]:
    """Return a copy of `document` with `value` at `path`, creating mappings as needed."""
    key = str(path[0])
    if len(path) == 1:
        return {**document, key: value}
    inner = document.get(key)
    return {**document, key: with_value(inner if isinstance(inner, Mapping) else {}, path[1:], value)}


def mapping(value: object) -> Unchecked:
    """Return `value` if it is a mapping, else an empty mapping."""
    return value if isinstance(value, dict) else _NOTHING


_JSON_TEXTS = pattern(r'"(?:[^"\\]|\\.)*"', 16)
_NO_BRACKETS = pattern(r"[^\[\]{}]+")
_MOST_LEVELS = 100


def is_deeper(text: str, depth: int) -> bool:
    """Return whether JSON is nested deeper than `depth`, before Python's parser recurses into it."""
    if text.count("[") + text.count("{") <= depth:
        return False
    brackets = _NO_BRACKETS.sub("", _JSON_TEXTS.sub("", text))
    for _ in range(depth):  # Each round removes the innermost level.
        fewer = brackets.replace("[]", "").replace("{}", "")
        if len(fewer) == len(brackets):
            return brackets.count("[") + brackets.count("{") > depth  # What no bracket closes.
        brackets = fewer
    return bool(brackets)


def read_json(text: str) -> Any:
    """Parse JSON. Raises ValueError, also for what is nested too deeply."""
    if is_deeper(text, _MOST_LEVELS):
        raise ValueError("it is nested too deeply")
    import json

    return json.loads(text)


def identity_of(document: Json, default: str | None = None) -> tuple[str, str]:
    """Return (namespace, name) of a document that no schema has checked; empty where there is none, or no text.

    `default` is the namespace of documents that set none.
    """
    metadata = mapping(document.get("metadata"))
    namespace, name = metadata.get("namespace"), metadata.get("name")
    space = namespace if isinstance(namespace, str) else ""
    return space or default or "", name if isinstance(name, str) else ""


class ByKey(dict[tuple[str, str], Unchecked]):
    """Objects of a kind by namespace and name, as they were read."""

    @cached_property
    def by_namespace(self) -> dict[str, list[Unchecked]]:
        """The objects of each namespace, by name; they are gathered once, so none may be added later."""
        found: dict[str, list[Unchecked]] = {}
        for (namespace, _), document in sorted(self.items()):
            found.setdefault(namespace, []).append(document)
        return found


def qualified(namespace: str, name: str) -> str:
    """Return "namespace/name", or the name alone where there is no namespace."""
    return f"{namespace}/{name}" if namespace else name


def items(value: object) -> list[Any]:
    """Return `value` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def objects(value: object) -> list[Unchecked]:
    """Return the items of `value` with non-mappings replaced by empty mappings, or [] if it is not a list."""
    return [mapping(item) for item in value] if isinstance(value, list) else []


class Foreign:
    """An object that no schema has checked. What it holds is asked for by type; a value of another type counts as absent."""

    __slots__ = ("_data",)

    def __init__(self, data: Json) -> None:
        """Take a document as it was read."""
        self._data = data

    def text(self, *path: str | int) -> str:
        """The text at a path, or an empty one."""
        value = value_at(self._data, path)
        return value if isinstance(value, str) else ""

    def number(self, *path: str | int) -> int | None:
        """The integer at a path."""
        value = value_at(self._data, path)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def mapping(self, *path: str | int) -> Json:
        """The mapping at a path, or an empty one; its values may be of any type."""
        return mapping(value_at(self._data, path))

    def parts(self, *path: str | int) -> list[Foreign]:
        """The mappings of the list at a path."""
        return [Foreign(item) for item in objects(value_at(self._data, path))]

    @property
    def identity(self) -> tuple[str, str]:
        """The namespace and the name."""
        return self.text("metadata", "namespace"), self.text("metadata", "name")


# Merge keys: what identifies the items of lists, for validation by the API server and for patches.
# Source: x-kubernetes-list-type and x-kubernetes-list-map-keys in the CRDs of kubeflow/trainer and jobset; the
# patchMergeKey tags of core/v1, batch/v1, meta/v1 and jobset v1alpha2. A patchMergeKey is always the first of the
# list map keys. The keys are the same in every release; fields that a release lacks simply never occur.

_Keys: TypeAlias = tuple[str, ...]

_NAME: _Keys = ("name",)
_CONTAINER: dict[str, _Keys] = {
    "env": _NAME,
    "ports": ("containerPort", "protocol"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
}
# Unlike in a container, mounts in a patch are keyed by name: a patch mounts each volume only once.
_CONTAINER_PATCH: dict[str, _Keys] = {"env": _NAME, "volumeMounts": _NAME}
_POD_OVERRIDE = dict.fromkeys(("containers", "initContainers", "schedulingGates", "volumes"), _NAME)
_POD_PATCH: dict[str, _Keys] = {**_POD_OVERRIDE, "imagePullSecrets": _NAME}
_BY_DEFINITION: dict[str, dict[str, _Keys]] = {
    "trainer.TrainJobSpec": {"runtimePatches": ("manager",)},
    "trainer.Trainer": {"env": _NAME, "resourceClaimsPerNode": _NAME},
    "trainer.DatasetInitializer": {"env": _NAME},
    "trainer.ModelInitializer": {"env": _NAME},
    "trainer.JobSetSpecPatch": {"replicatedJobs": _NAME},
    "trainer.PodSpecPatch": {**_POD_PATCH, "resourceClaims": _NAME},
    "trainer.PodSpecOverride": _POD_OVERRIDE,
    "trainer.PodTemplateSpecOverride": _POD_PATCH,
    "trainer.ContainerPatch": _CONTAINER_PATCH,
    "trainer.ContainerOverride": _CONTAINER_PATCH,
    "trainer.EnvInjection": {"targets": ("jobName",)},
    "jobset.JobSetSpec": {"replicatedJobs": _NAME},
    "jobset.ReplicatedJob": {"dependsOn": _NAME},
    "core.Container": _CONTAINER,
    "core.EphemeralContainer": _CONTAINER,
    "core.PodSpec": {
        **_POD_PATCH,
        "ephemeralContainers": _NAME,
        "hostAliases": ("ip",),
        "resourceClaims": _NAME,
        "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    },
    "core.ResourceRequirements": {"claims": _NAME},
    "core.PersistentVolumeClaimStatus": {"conditions": ("type",)},
}

LIST_MAP_KEYS: dict[str, _Keys] = {
    f"{definition}.{field}": keys for definition, fields in _BY_DEFINITION.items() for field, keys in fields.items()
}
SETS = frozenset((
    "batch.PodFailurePolicyOnExitCodesRequirement.values", "core.ContainerRestartRuleOnExitCodes.values",
    "trainer.EnvInjectionTarget.containerNames",
))  # fmt: skip


def _first_keys(*definitions: str) -> dict[str, str]:
    """Return the first key of each list in `definitions`, by bare field name."""
    return {field: keys[0] for definition in definitions for field, keys in _BY_DEFINITION[definition].items()}


# Merge keys of a strategic merge patch, by field name; lists without an entry here are replaced.
MERGE_KEYS: Mapping[str, str] = {
    **_first_keys("core.PodSpec", "core.Container", "jobset.JobSetSpec", "jobset.ReplicatedJob"),
    "ownerReferences": "uid",
}
# Lists that a strategic merge patch merges as sets.
MERGED_SETS = frozenset({"finalizers"})
# Overlays can also patch lists of the TrainJob itself.
OVERLAY_KEYS: Mapping[str, str] = {**MERGE_KEYS, **_first_keys("trainer.TrainJobSpec")}
# Keys that name list items in field paths, including those of lists that cannot be patched.
ITEM_KEYS: Mapping[str, str] = {
    **OVERLAY_KEYS,
    **_first_keys("core.ResourceRequirements", "trainer.EnvInjection"),
    "podGroupTemplates": "name",
}


# Human-readable field paths, which refer to list items by name if the API gives them one.


class Item(str):
    """A step into a list: the value of the item's merge key. `key` is the name of that key, or empty if unimportant.

    `before` are the items before it, as far as it is known: they tell one of two twins from the other.
    """

    __slots__ = ("before", "key")
    before: tuple[Any, int]
    key: str

    def __new__(cls, value: object, key: str = "", before: tuple[Any, int] = ((), 0)) -> Self:
        """Create a step to the item whose `key` has the value `value`; `before` is its list, and its index there."""
        item = super().__new__(cls, value)
        item.key, item.before = key, before
        return item


FieldPath: TypeAlias = tuple[str | int, ...]
# Where a list has items of each name, by the list and its merge key.
Places: TypeAlias = dict[tuple[int, str], dict[str, list[int]]]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar or an empty mapping or list. `path` refers to list items by name if possible, `index` by index."""

    path: FieldPath
    index: Path
    value: Any


Leaves: TypeAlias = dict[FieldPath, Leaf]
# Whether an item of a mapping or a list is one of those that are asked for, by its number and its key, name or index.
Chosen: TypeAlias = Callable[[int, str | int], bool]


def _any(number: int, step: str | int) -> bool:
    return True


def leaves(tree: Any, chosen: Chosen = _any) -> Leaves:
    """Return every leaf of a document by its path, in document order, of mappings and lists only what is chosen."""
    gathered: Leaves = {}
    _gather(tree, (), (), gathered, chosen)
    return gathered


def _gather(value: Any, path: FieldPath, index: Path, gathered: Leaves, chosen: Chosen) -> None:
    if isinstance(value, str):
        gathered[path] = Leaf(path, index, value)
    elif isinstance(value, Mapping) and value:
        for i, (key, inner) in enumerate(value.items()):
            if chosen(i, key):
                below = (*path, key)
                _gather(inner, below, below if path is index else (*index, key), gathered, chosen)
    elif isinstance(value, list | tuple) and value:
        for i, (step, inner) in enumerate(zip(_items(path, value), value, strict=True)):
            if chosen(i, step):
                _gather(inner, (*path, step), (*index, i), gathered, chosen)
    else:
        gathered[path] = Leaf(path, index, value)


def leaf_count(value: Any, most: int | None = None) -> int:
    """Return how many leaves a document has, if mappings and lists had at most so many items."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return sum(leaf_count(item, most) for item in islice(inner, most)) if inner else 1


def _items(path: FieldPath, values: list[Any] | tuple[Any, ...]) -> list[str | int]:
    """Return the steps to the items of a list: by merge key if every item has a unique one, and by index otherwise."""
    key = ITEM_KEYS.get(str(path[-1])) if path else None
    if key is not None and all(isinstance(value, Mapping) and key in value for value in values):
        names = [Item(value[key]) for value in values]
        if len(set(names)) == len(names):
            return list(names)
    return list(range(len(values)))


def is_item_name(path: FieldPath) -> bool:
    """Return whether a leaf is the merge key that its list item is named after."""
    return len(path) > 2 and isinstance(path[-2], Item) and ITEM_KEYS.get(str(path[-3])) == path[-1]


def walk(tree: Any) -> Iterator[tuple[Path, Any]]:
    """Yield a value and everything in it, each with its path, in order. However deeply it nests, nothing recurses."""
    waiting: list[tuple[Path, Any]] = [((), tree)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, Mapping):
            waiting += reversed([((*path, key), inner) for key, inner in value.items()])
        elif isinstance(value, list):
            waiting += reversed([((*path, index), inner) for index, inner in enumerate(value)])


def path_exists(tree: Any, index: Path) -> bool:
    """Return whether a path exists in a document, even if its value is null."""
    parent = value_at(tree, index[:-1])
    if isinstance(parent, Mapping):
        return not index or index[-1] in parent
    return isinstance(parent, list) and isinstance(index[-1], int) and 0 <= index[-1] < len(parent)


def with_item_names(tree: Any, index: Path, known: dict[tuple[int, object], list[str | int]]) -> FieldPath:
    """Replace list indexes by item names, as far as `tree` has names for them; `known` keeps those of each list."""
    path: FieldPath = ()
    for step in index:
        if isinstance(step, int) and isinstance(tree, list) and step < len(tree):
            key = id(tree), path[-1] if path else None
            if key not in known:
                known[key] = _items(path, tree)
            path = (*path, known[key][step])
        else:
            path = (*path, step)
        tree = value_at(tree, (step,))
    return path


def stable_path(path: Path, data: Any) -> FieldPath:
    """Replace the indexes of keyed lists by item keys, so that the path still holds after items are moved or added."""
    steps: FieldPath = ()
    for step in path:
        key = ITEM_KEYS.get(str(steps[-1])) if steps and not isinstance(steps[-1], int | Item) else None
        among, data = data, value_at(data, (step,))
        name = data.get(key, "") if key and isinstance(data, Mapping) else None
        is_item = isinstance(step, int) and isinstance(name, str | int)
        steps = (*steps, Item(name, key or "", (among, int(step))) if is_item else step)
    return steps


def resolve_path(path: FieldPath, data: Any, known: Places | None = None) -> Path:
    """Resolve a path from `stable_path` to plain indexes in `data`, as far as it exists; `known` keeps those of each list."""
    steps: Path = ()
    for step in path:
        plain = _index(step, data, {} if known is None else known) if isinstance(step, Item) else step
        if plain is None:
            break
        data = value_at(data, (plain,))
        steps = (*steps, plain)
    return steps


def _index(item: Item, data: Any, known: Places) -> int | None:
    same = _named_in(data, item, known) if isinstance(data, list) else []
    if len(same) < 2:
        return same[0] if same else None
    from bisect import bisect_left

    among, index = item.before
    return same[min(bisect_left(_named_in(among, item, known), index), len(same) - 1)]


def _named_in(items: Sequence[Any], item: Item, known: Places) -> list[int]:
    """Return where a list has items of the same name."""
    at = id(items), item.key
    if at not in known:
        known[at] = {}
        for i, other in enumerate(items):
            known[at].setdefault(str(mapping(other).get(item.key, "")), []).append(i)
    return known[at].get(item, [])


def format_field(path: FieldPath) -> str:
    """Format a path: `spec.replicatedJobs[node].template`. Other keys are quoted: `labels["a.b/c"]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int | Item) else format_key(step, leads=not text)
    return text
