"""Documents that grow in one field, for every list, mapping and text that a schema has: made from the schemas themselves.

A field that is added to a schema is grown from then on. Each field is grown at the first place where it can stand: a
container has the same fields wherever it is.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trainc.features.cluster.policies as policies_feature
from trainc.api.editing import schema_of

Json = dict[str, Any]
Steps = tuple[str | int, ...]
_MOST_STEPS_DEEP = 14
_LINE = "a b: c-1 "
# What a document has besides the field that grows, so that it is looked at as far as it can be.
JOB: Json = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "llm", "namespace": "team-a"},
    "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"image": "a:1", "command": ["torchrun", "t.py"]}},
}
_CONTAINER: Json = {"name": "node", "image": "a:1"}
_LABEL = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
_STEP: Json = {
    "name": "node",
    "template": {"metadata": {"labels": _LABEL}, "spec": {"template": {"spec": {"containers": [_CONTAINER]}}}},
}
RUNTIME: Json = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch-distributed"},
    "spec": {"mlPolicy": {"numNodes": 2, "torch": {}}, "template": {"spec": {"replicatedJobs": [_STEP]}}},
}
JOBSET: Json = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "llm", "namespace": "team-a"},
    "spec": {"replicatedJobs": [_STEP]},
}
_RULE = {"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["jobsets"]}
POLICY: Json = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "p"},
    "spec": {
        "matchConstraints": {"resourceRules": [_RULE]},
        "validations": [{"expression": "object.metadata.name != 'a'"}],
    },
}
BINDING: Json = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "p"},
    "spec": {"policyName": "p", "validationActions": ["Deny"]},
}
_OWN: Json = {"apiVersion": "trainc/v1alpha1"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document that grows: the rest of it, its file, and the commands that read it."""

    document: Json
    file: str
    commands: tuple[str, ...]


KINDS: Mapping[str, Kind] = {
    "TrainJob": Kind(
        JOB,
        "jobs/llm.yaml",
        (
            *("check", "check --format sarif", "check --fix", "explain jobs/llm.yaml", "build -o -", "diff before jobs"),
            *("report -o -", "graph jobs", "fits --cluster cluster", "migrate --diff jobs", "run jobs/llm.yaml --dry-run"),
        ),
    ),
    "TrainingRuntime": Kind(RUNTIME, "runtimes/torch.yaml", ("check", "explain jobs/llm.yaml", "build -o -")),
    "JobSet": Kind(JOBSET, "rendered.yaml", ("check rendered.yaml", "diff before/rendered.yaml rendered.yaml")),
    "Sweep": Kind(
        {**_OWN, "kind": "Sweep", "base": "llm.yaml", "parameters": {"a": [1, 2]}}, "jobs/s.yaml", ("check", "build -o -")
    ),
    "Overlay": Kind({**_OWN, "kind": "Overlay"}, "overlay/overlay.yaml", ("check --overlay overlay",)),
    "Cluster": Kind({**_OWN, "kind": "Cluster"}, "cluster/all.yaml", ("fits --cluster cluster",)),
    "trainc.yaml": Kind({"release": "2.3", "sources": ["jobs"], "runtimes": ["runtimes"]}, "trainc.yaml", ("check",)),
    "ValidatingAdmissionPolicy": Kind(POLICY, "policies/p.yaml", ("check",)),
    "ValidatingAdmissionPolicyBinding": Kind(BINDING, "policies/b.yaml", ("check",)),
}  # fmt: skip
_SETTINGS = "release: '2.3'\nsources: [jobs]\nruntimes: [runtimes]\npolicies: [policies]\n"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a kind that can grow, and how: `make(n)` is its value at that size."""

    kind: str
    path: Steps
    way: str
    make: Callable[[int], Any]
    # What each mapping and list that leads there has at least.
    above: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {'.'.join(map(str, self.path))} {self.way}"

    def write(self, root: Path, size: int) -> None:
        """Write the document with this field at this size, and what stands around it."""
        write([self], root, size)


def write(grown: Sequence[Field], root: Path, size: int) -> None:
    """Write a document in which each of these fields has this size, and what stands around it.

    What the document was before has its lists in reverse, and other values in its mappings.
    """
    kind = KINDS[grown[0].kind]
    after = before = kind.document
    for field in grown:
        value = field.make(size)
        after = _placed(after, field.path, value, field.above)
        before = _placed(before, field.path, _earlier(value), field.above)
    texts = {
        "jobs/llm.yaml": json.dumps(JOB),
        "before/llm.yaml": json.dumps(JOB),
        "runtimes/torch.yaml": json.dumps(RUNTIME),
        "policies/p.yaml": json.dumps(POLICY),
        "policies/b.yaml": json.dumps(BINDING),
        "trainc.yaml": _SETTINGS,
        f"before/{kind.file.rpartition('/')[2]}": json.dumps(before),
    }
    for name, text in (texts | {kind.file: json.dumps(after, indent=1)}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def _earlier(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbered(part, 0) for key, part in value.items()}
    return value[::-1] if isinstance(value, list) else value


def groups(members: Iterable[Field], most: int) -> list[list[Field]]:
    """Fields that can grow together in one document: none is a part of another, and none is there twice."""
    found: list[list[Field]] = []
    for field in members:
        for group in found:
            if len(group) < most and not any(_overlap(field.path, other.path) for other in group):
                group.append(field)
                break
        else:
            found.append([field])
    return found


def _overlap(one: Steps, other: Steps) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def fields(kind: str) -> Iterator[Field]:
    """Every list, mapping and text of a kind, each way in which it can grow."""
    schema = _schema(kind)
    seen: set[str] = set()
    waiting: deque[tuple[Steps, Any, tuple[Any, ...]]] = deque([((), schema, ())])
    while waiting:
        path, below, above = waiting.popleft()
        below, name = _resolved(schema, below)
        if len(path) > _MOST_STEPS_DEEP or (name and name in seen):
            continue
        seen.add(name)
        here = (*above, _least(schema, below))
        for part in (below, *below.get("anyOf", ()), *below.get("oneOf", ()), *below.get("allOf", ())):
            inner, _ = _resolved(schema, part)
            types = inner.get("type", ())
            types = [types] if isinstance(types, str) else types
            ways: dict[str, Callable[[int], Any]] = {}
            if "array" in types or "items" in inner:
                item = _least(schema, inner.get("items", {}))
                ways["repeated"] = lambda n, item=item: [deepcopy(item) for _ in range(n)]  # type: ignore[misc]
                ways["numbered"] = lambda n, item=item: [_numbered(item, i) for i in range(n)]  # type: ignore[misc]
                waiting.append(((*path, 0), inner.get("items", {}), here))
            if isinstance(inner.get("additionalProperties"), dict):
                value = _least(schema, inner["additionalProperties"])
                ways["keys"] = lambda n, value=value: {f"a{i}": deepcopy(value) for i in range(n)}  # type: ignore[misc]
                waiting.append(((*path, "a"), inner["additionalProperties"], here))
            if "string" in types and "enum" not in inner and path:
                ways["long"] = lambda n: _LINE * n
                ways["lines"] = lambda n: f"{_LINE}\n" * n
            yield from (Field(kind, path, way, make, above) for way, make in ways.items())
            waiting.extend(((*path, key), field, here) for key, field in inner.get("properties", {}).items())


def _schema(kind: str) -> Json:
    if kind.startswith("Validating"):
        data: Json = json.loads(Path(policies_feature.__path__[0], "api.json").read_bytes())
        return {"$ref": f"#/$defs/{kind}", "$defs": data["$defs"]}
    return dict(schema_of(kind, "2.3") or {})


def _resolved(schema: Json, part: Any) -> tuple[Json, str]:
    """A part of a schema, and the name of the definition that it is."""
    if not isinstance(part, dict):
        return {}, ""
    if "$ref" not in part:
        return part, ""
    name = part["$ref"].rpartition("/")[2]
    return schema["$defs"][name], name


def _least(schema: Json, part: Any, depth: int = 0) -> Any:
    """The least value that a schema takes."""
    part, _ = _resolved(schema, part)
    for key in ("const", "enum", "anyOf", "oneOf"):
        if key in part:
            return (
                part[key] if key == "const" else part[key][0] if key == "enum" else _least(schema, part[key][0], depth)
            )
    types = part.get("type", "object" if "properties" in part else "string")
    match types if isinstance(types, str) else types[0]:
        case "array":
            return []
        case "object":
            required = part.get("required", ()) if depth < 6 else ()
            return {key: _least(schema, part.get("properties", {}).get(key, {}), depth + 1) for key in required}
        case "integer" | "number":
            return 1
        case "boolean":
            return True
    return "a"


def _numbered(value: Any, number: int) -> Any:
    """The value with a number in each of its texts, so that no two are alike."""
    if isinstance(value, dict):
        return {key: _numbered(part, number) for key, part in value.items()}
    return f"{value}{number}" if isinstance(value, str) else value


def _placed(document: Any, path: Steps, value: Any, above: tuple[Any, ...] = ()) -> Any:
    """A copy of a document with a value at a path, and with what leads there, at least as it is `above`."""
    if not path:
        return {**document, **value} if isinstance(document, dict) and isinstance(value, dict) else value
    step, *others = path
    least = above[0] if above else None
    if isinstance(step, int):
        items = document if isinstance(document, list) and document else [None]
        return [_placed(items[0], tuple(others), value, above[1:]), *items[1:]]
    inner = document if isinstance(document, dict) else least if isinstance(least, dict) else {}
    return {**inner, step: _placed(inner.get(step), tuple(others), value, above[1:])}
