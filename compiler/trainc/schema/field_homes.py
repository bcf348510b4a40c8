"""Where a field belongs that is not here: in another part of the job, in another release, or in one to come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.findings import Path, remove
from trainc.kube import names
from trainc.kube.documents import walk
from trainc.kube.releases import PREVIEWS, RELEASES
from trainc.schema.descriptions import HINTS
from trainc.schema.shapes import ROOTS, ListOf, MapOf, Shape, Struct, definition

_OWNERS = ("trainer.TrainJob", "trainer.TrainJobSpec", "trainer.Trainer")
_POD = "template.spec.replicatedJobs[].template.spec.template.spec"
# Structs of a runtime, and their location in its spec.
_IN_RUNTIME = (
    ("trainer.TrainingRuntimeSpec", ""),
    ("core.PodSpec", f"{_POD}."),
    ("core.Container", f"{_POD}.containers[]."),
    ("batch.JobSpec", "template.spec.replicatedJobs[].template.spec."),
    ("jobset.JobSetSpec", "template.spec."),
)
# Structs through which a TrainJob patches pods and containers, and the YAML around a pod field, newest release first.
_PATCHES = (
    (
        "trainer.PodSpecPatch",
        "trainer.ContainerPatch",
        (
            "runtimePatches: [{{manager: acme.io/{field}, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: "
            "[{{name: node, template: {{spec: {{template: {{spec: {{{inner}}}}}}}}}}}]}}}}}}}}]"
        ),
    ),
    (
        "trainer.PodTemplateSpecOverride",
        "trainer.ContainerOverride",
        "podTemplateOverrides: [{{targetJobs: [{{name: node}}], spec: {{{inner}}}}}]",
    ),
    (
        "trainer.PodSpecOverride",
        "trainer.ContainerOverride",
        "podSpecOverrides: [{{targetJobs: [{{name: node}}], {inner}}}]",
    ),
)
# Partial structs, and what they are a part of.
_PATCHED = {
    **dict.fromkeys(
        ("trainer.PodSpecPatch", "trainer.PodTemplateSpecOverride", "trainer.PodSpecOverride"), "core.PodSpec"
    ),
    **dict.fromkeys(("trainer.ContainerPatch", "trainer.ContainerOverride"), "core.Container"),
    "trainer.JobSpecPatch": "batch.JobSpec",
    "trainer.JobSetSpecPatch": "jobset.JobSetSpec",
}
_LONGEST = 120  # Maximum number of characters of the user's text to repeat in a hint.


def placement_hint(owner: str, field: str, siblings: Mapping[str, Any], release: str, path: Path = ()) -> str:
    """Return a hint for a field that `owner`, a part of a TrainJob, lacks; empty if it exists nowhere else.

    `siblings` are the fields of the owner as written.
    """
    value = siblings.get(field)
    if owner in _PATCHED and _has(release, _PATCHED[owner], field):
        home = dict(_IN_RUNTIME)[_PATCHED[owner]]
        home = home.replace("containers", "initContainers" if "initContainers" in path else "containers")
        why = "Pod Security baseline refuses it, and " if field in ("hostNetwork", "hostPID", "hostIPC") else ""
        return f"{why}patches cannot set it; {_in_runtime(field, value, home, siblings.get('name') or names.NODE)}"
    if owner not in _OWNERS:
        return ""
    for pod, container, text in _PATCHES:
        inner = f"{field}: {_flow(value)}"
        if _has(release, container, field) and field != "name":
            inner = f"containers: [{{name: node, {inner}}}]"
        elif not _has(release, pod, field):
            continue
        return "write it under spec as " + text.format(field=field.lower(), inner=inner)
    for struct, parent in _IN_RUNTIME:
        if _has(release, struct, field):
            return _in_runtime(field, value, parent)
    return ""


def _in_runtime(field: str, value: Any, parent: str, innermost: str = names.NODE) -> str:
    prefix = "set numNodes under trainer; or, for all jobs of the runtime, " if field == "mlPolicy" else ""
    text = f"{field}: {_flow(value)}"
    for step in reversed(parent.rstrip(".").split(".") if parent else ()):
        name = step.removesuffix("[]")
        if step == name:
            text = f"{name}: {{{text}}}"
        else:
            text, innermost = f"{name}: [{{name: {innermost}, {text}}}]", names.NODE
    return f"{prefix}add `{text}` to the spec of the runtime, for all of its jobs (`trainc runtimes show NAME > runtime.yaml` copies a built-in one)"


def _has(release: str, struct: str, field: str) -> bool:
    try:
        return field in definition(release, struct).fields
    except KeyError:
        return False


def _flow(value: Any) -> str:
    """Format a value as YAML on one line, or `...` if it is long or cannot be written as JSON."""
    # Each level has two brackets. Deeper values would be too much for json, which recurses.
    if value is None or any(len(path) > _LONGEST for path, _ in walk(value)):
        return "..."
    try:
        import json

        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return "..."
    return text if len(text) <= _LONGEST else "..."


def planned_hint(owner: str, field: str, value: Any) -> str:
    """Return what to do until a later Trainer or JobSet has a field; empty if no accepted proposal adds it.

    Source: kubeflow/trainer docs/proposals (2782, 2899, 3015, 4064, 4162), kubernetes-sigs/jobset keps/969, as of August 2026.
    """
    if any(release not in PREVIEWS for release in releases_with(owner, field)):
        return ""
    text: str = HINTS["planned"].get(owner, {}).get(field, "")
    return text.replace("VALUE", _flow(value))


def has_field(kind: str, path: Path, release: str) -> bool:
    """Return whether `release` has a field at `path` ("spec", "trainer", "env", 0, "name") of `kind`."""
    shape: Shape = Struct(ROOTS[kind])
    for step in path:
        match shape:
            case Struct(name) if step in (fields := definition(release, name).fields):
                shape = fields[str(step)]
            case ListOf(inner) if isinstance(step, int):
                shape = inner
            case MapOf(inner) if isinstance(step, str):
                shape = inner
            case _:
                return False
    return True


def releases_with(definition_name: str, field: str) -> tuple[str, ...]:
    """Return the releases in which `definition_name` has `field`, oldest first."""
    return tuple(release for release in RELEASES if _has(release, definition_name, field))


def release_hint(definition_name: str, field: str, release: str) -> str:
    """Return a hint about a field that only other releases have; empty if none does."""
    releases = releases_with(definition_name, field)
    if not releases:
        return ""
    if RELEASES.index(releases[0]) > RELEASES.index(release):
        return remove(
            f"remove it, or set release to {releases[0]} in trainc.yaml (--release): the field is new in Trainer {releases[0]}"
        )
    removed = RELEASES[RELEASES.index(releases[-1]) + 1]
    replacement = HINTS["replacements"].get(f"{definition_name}.{field}")
    gone = f"the field was removed in Trainer {removed}"
    return f"use {replacement}: {gone}" if replacement else remove(f"remove it: {gone}")
