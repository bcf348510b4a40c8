"""Resolution: from a TrainJob's runtimeRef to the runtime's document.

Source: kubeflow/trainer pkg/runtime/core (clustertrainingruntime.go, trainingruntime.go) and pkg/webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from trainc.api import names
from trainc.api.documents import Json
from trainc.api.names import RUNTIME_KINDS
from trainc.diagnostics import Finding, Path
from trainc.reading.catalog import NotFound
from trainc.startup.patterns import pattern

Key: TypeAlias = tuple[str, str, str]


def runtime_key(document: Json) -> Key:
    """Return (kind, namespace, name). A ClusterTrainingRuntime has no namespace, even if its document sets one."""
    metadata, kind = document["metadata"], document["kind"]
    namespace = "" if kind == "ClusterTrainingRuntime" else metadata.get("namespace", "")
    return kind, namespace, metadata["name"]


def wanted_key(job: Json) -> Key:
    """Return the key of the runtime to which a TrainJob refers; a TrainingRuntime is in the TrainJob's namespace."""
    reference = job["spec"]["runtimeRef"]
    kind = reference["kind"]
    namespace = "" if kind == "ClusterTrainingRuntime" else job["metadata"].get("namespace", "")
    return kind, namespace, reference["name"]


def check_reference(job: Json, namespace: str | None) -> Json | None:
    """Return an otherwise invalid TrainJob of Trainer's API reduced to its runtimeRef, or None if it has none."""
    spec, metadata = job.get("spec"), job.get("metadata")
    reference = spec.get("runtimeRef") if isinstance(spec, Mapping) else None
    if (job.get("apiVersion"), job.get("kind")) != (names.TRAINER_API, "TrainJob") or not isinstance(
        reference, Mapping
    ):
        return None
    known = {"apiGroup": names.TRAINER_GROUP, "kind": "ClusterTrainingRuntime", **reference}
    if not all(isinstance(known.get(field), str) for field in ("name", "kind", "apiGroup")):
        return None
    own = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    own = own if isinstance(own, str) else None
    return {"metadata": {"namespace": own or namespace or ""}, "spec": {"runtimeRef": known}}


# Characters that go-yaml's reader refuses, except those that are escaped in the JSON that it reads here.
_NOT_IN_YAML = pattern("[\x7f-\x84\x86-\x9f\ufffe\uffff]")


def not_stored(runtime: Json) -> Iterator[Finding]:
    """Yield a finding for text that the runtime's snapshot cannot contain: the controller fails and creates nothing.

    Source: kubeflow/trainer pkg/runtime/core/snapshot.go; the reader of sigs.k8s.io/yaml.
    """
    for path, text in _texts(runtime, ()):
        found = _NOT_IN_YAML.search(text)
        if found is not None:
            message = (
                f"the controller cannot store a snapshot of this runtime: it has the character U+{ord(found[0]):04X}"
            )
            hint = "remove the character, or compile with --semantics gitops"
            yield Finding("RuntimeNotStored", "error", message, hint, path, about="runtime")


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield (path, text) for each key and each string of a document."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield (*path, name), name
            yield from _texts(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))


def unsupported_reference(job: Json) -> Iterator[Finding]:
    """Yield an error for a runtimeRef with a group or kind that does not exist."""
    reference = job["spec"]["runtimeRef"]
    if reference["apiGroup"] != names.TRAINER_GROUP:
        yield Finding(
            "UnsupportedRuntimeRef",
            "error",
            f"API group {reference['apiGroup']!r} has no runtimes",
            f"set apiGroup: {names.TRAINER_GROUP}, or remove it",
            ("spec", "runtimeRef", "apiGroup"),
        )
    if reference["kind"] not in RUNTIME_KINDS:
        yield _no_kind(reference["kind"])


def _no_kind(stated: str) -> Finding:
    from trainc.diagnostics.near_names import near_names

    near = near_names(stated, RUNTIME_KINDS, 1)
    message, hint = f"{stated!r} is not a kind of runtime", f"write kind: {' or kind: '.join(RUNTIME_KINDS)}"
    if stated and stated == stated.lower():
        # Kinds begin with a capital letter; names have none.
        message = f"{stated!r} is not a kind of runtime; it looks like the name of one"
        hint = f"write kind: ClusterTrainingRuntime (or TrainingRuntime) and name: {stated}"
    elif near:
        hint = f"write kind: {near[0]}"
    return Finding("UnsupportedRuntimeRef", "error", message, hint, ("spec", "runtimeRef", "kind"))


def group_mismatch(job: Json, runtime: Json) -> Iterator[Finding]:
    """Yield a finding if the runtimeRef's API group differs from that of the runtime. Both documents are as written."""
    stated = job["spec"]["runtimeRef"].get("apiGroup")
    group = str(runtime["apiVersion"]).partition("/")[0]
    if stated and stated != group:
        yield Finding(
            "RuntimeRefGroupMismatch",
            "warning",
            f"apiGroup is {stated}, but the runtime of that kind and name is in {group}; it is used anyway",
            "use the same API group in both documents, or remove apiGroup",
            ("spec", "runtimeRef", "apiGroup"),
        )


def not_found(job: Json, known: Iterable[Key], catalog_miss: NotFound | None = None) -> Finding:
    """Return the error for a reference to a runtime that was not found, with the nearest existing one in its hint."""
    kind, namespace, name = wanted_key(job)
    keys = sorted(known)
    where = (
        f" in namespace {namespace!r}" if namespace else (" without a namespace" if kind == "TrainingRuntime" else "")
    )
    return Finding(
        "RuntimeNotFound",
        "error",
        f"there is no {kind} {name!r}{where}"
        + (f"; {catalog_miss.instead}" if catalog_miss and catalog_miss.instead else ""),
        _help(keys, kind, namespace, name, catalog_miss),
        ("spec", "runtimeRef", "name"),
    )


def _help(known: list[Key], kind: str, namespace: str, name: str, catalog_miss: NotFound | None) -> str:
    for other_kind, other_namespace, other_name in known:
        if other_name == name and other_kind != kind:
            return f"there is a {other_kind} with that name: add kind: {other_kind} to runtimeRef"
        if other_name == name and other_namespace != namespace:
            place = f"namespace {other_namespace!r}" if other_namespace else "no namespace"
            return f"the TrainingRuntime of that name is in {place}: use a ClusterTrainingRuntime, or put both in one namespace"
    candidates = [n for k, ns, n in known if k == kind and ns == namespace]
    import shlex

    from trainc.diagnostics.near_names import did_you_mean

    near = did_you_mean(name, candidates, 0.5) or (catalog_miss.hint if catalog_miss else "")
    place = f" --namespace {shlex.quote(namespace)}" if namespace else ""
    export = f"kubectl get {kind.lower()} {shlex.quote(name)}{place} -o yaml > runtime.yaml"
    add = f"pass its file with --runtimes; `{export}` exports it from a cluster"
    return f"{near}{' Otherwise, ' if near.endswith('?') else ', or '}{add}" if near else add


def deprecated(runtime: Json) -> Iterator[Finding]:
    """Yield a finding if a ClusterTrainingRuntime is labeled as deprecated."""
    metadata = runtime["metadata"]
    if (
        runtime["kind"] == "ClusterTrainingRuntime"
        and metadata.get("labels", {}).get(names.SUPPORT_LABEL) == "deprecated"
    ):
        yield Finding(
            "DeprecatedRuntime",
            "warning",
            f"ClusterTrainingRuntime {metadata['name']!r} is deprecated and will be removed in a later release",
            "use a runtime that is not deprecated; `trainc runtimes list` shows them",
            ("spec", "runtimeRef", "name"),
        )
