"""Documents that grow in one field, for every list, mapping and text that a schema has: made from the schemas themselves.

A field that is added to a schema is grown from then on. Each field is grown at the first place where it can stand: a
container has the same fields wherever it is.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
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

    def __str__(self) -> str:
        return f"{self.kind} {'.'.join(map(str, self.path))} {self.way}"

    def write(self, root: Path, size: int) -> None:
        """Write the document at this size, and what stands around it; what it was before has its lists in reverse."""
        kind = KINDS[self.kind]
        grown, permuted = ({**kind.document} for _ in range(2))
        value = self.make(size)
        grown = _placed(kind.document, self.path, value)
        permuted = _placed(kind.document, self.path, value[::-1] if isinstance(value, list) else value)
        texts = {
            "jobs/llm.yaml": json.dumps(JOB),
            "before/llm.yaml": json.dumps(JOB),
            "runtimes/torch.yaml": json.dumps(RUNTIME),
            "policies/p.yaml": json.dumps(POLICY),
            "policies/b.yaml": json.dumps(BINDING),
            "trainc.yaml": _SETTINGS,
        }
        texts |= {f"before/{os_name(kind.file)}": json.dumps(permuted), kind.file: json.dumps(grown, indent=1)}
        for name, text in texts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")


def os_name(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def fields(kind: str) -> Iterator[Field]:
    """Every list, mapping and text of a kind, each way in which it can grow."""
    schema = _schema(kind)
    seen: set[str] = set()
    waiting: deque[tuple[Steps, Any]] = deque([((), schema)])
    while waiting:
        path, below = waiting.popleft()
        below, name = _resolved(schema, below)
        if len(path) > _MOST_STEPS_DEEP or (name and name in seen):
            continue
        seen.add(name)
        for part in (below, *below.get("anyOf", ()), *below.get("oneOf", ()), *below.get("allOf", ())):
            inner, _ = _resolved(schema, part)
            types = inner.get("type", ())
            types = [types] if isinstance(types, str) else types
            if "array" in types or "items" in inner:
                item = _least(schema, inner.get("items", {}))
                yield Field(kind, path, "repeated", lambda n, item=item: [deepcopy(item) for _ in range(n)])  # type: ignore[misc]
                yield Field(kind, path, "numbered", lambda n, item=item: [_numbered(item, i) for i in range(n)])  # type: ignore[misc]
                waiting.append(((*path, 0), inner.get("items", {})))
            if isinstance(inner.get("additionalProperties"), dict):
                value = _least(schema, inner["additionalProperties"])
                yield Field(kind, path, "keys", lambda n, value=value: {f"a{i}": deepcopy(value) for i in range(n)})  # type: ignore[misc]
                waiting.append(((*path, "a"), inner["additionalProperties"]))
            if "string" in types and "enum" not in inner and path:
                yield Field(kind, path, "long", lambda n: _LINE * n)
                yield Field(kind, path, "lines", lambda n: f"{_LINE}\n" * n)
            waiting.extend(((*path, key), field) for key, field in inner.get("properties", {}).items())


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


def _placed(document: Any, path: Steps, value: Any) -> Any:
    """A copy of a document with a value at a path, and with what leads there."""
    if not path:
        return {**document, **value} if isinstance(document, dict) and isinstance(value, dict) else value
    step, *others = path
    if isinstance(step, int):
        items = list(document) if isinstance(document, list) else []
        return [_placed(items[0] if items else {}, tuple(others), value), *items[1:]]
    inner = document if isinstance(document, dict) else {}
    return {**inner, step: _placed(inner.get(step), tuple(others), value)}
