"""Applying what was applied is safe: kubectl's client-side merge finds nothing to patch, or nothing that is refused.

For custom resources kubectl apply builds a JSON merge patch from the last applied manifest, the new one and the live
object: nulls for what left the manifest, values for what differs from the live object, lists whole. JobSet's webhook
fills in defaults on CREATE only, so that a list without them would be taken back and refused as immutable.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from builders import container, job, one, runtime, trainjob

from trainc import CompileError, Options, admit, compile_trainjob, refusals
from trainc.kube.releases import RELEASES

Json = dict[str, Any]
CASES_PER_RELEASE = 40
SERVER_METADATA = {"uid": "6e3b", "resourceVersion": "7", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}


def merge_patch(before: Json, after: Json) -> Json:
    """The JSON merge patch (RFC 7386) that turns `before` into `after`."""
    patch: Json = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            if inner := merge_patch(old, value):
                patch[key] = inner
        elif key not in before or value != old:
            patch[key] = value
    return patch


def only(patch: Json, *, nulls: bool) -> Json:
    """The part of a merge patch that deletes, or the part that adds and changes."""
    kept: Json = {}
    for key, value in patch.items():
        if isinstance(value, dict):
            if inner := only(value, nulls=nulls):
                kept[key] = inner
        elif (value is None) == nulls:
            kept[key] = value
    return kept


def merged(document: Any, patch: Any) -> Any:
    """`document` after a merge patch."""
    if not isinstance(patch, dict):
        return patch
    base = document if isinstance(document, dict) else {}
    changed = {key: merged(base.get(key), value) for key, value in patch.items() if value is not None}
    return {**{key: value for key, value in base.items() if key not in patch}, **changed}


def client_side_patch(applied: Json, manifest: Json, live: Json) -> Json:
    """What `kubectl apply` of `manifest` would send, where `applied` was applied last."""
    deletions = only(merge_patch(applied, manifest), nulls=True)
    changes = only(merge_patch(live, manifest), nulls=False)
    result: Json = merged(deletions, changes)
    return result


def live_object(manifest: Json, release: str) -> Json:
    """What the API server keeps of a manifest that was created."""
    (stored,) = admit(manifest, Options(release=release)).manifests
    return {**stored, "metadata": {**stored["metadata"], **SERVER_METADATA}, "status": {"restarts": 0}}


def with_placeholders(value: Any) -> Any:
    """`value` as Go's encoder leaves it: with empty objects for the structs of containers and pod templates."""
    if isinstance(value, list):
        return [with_placeholders(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {key: with_placeholders(item) for key, item in value.items()}
    if "image" in fields:
        fields.setdefault("resources", {})
    if isinstance(fields.get("spec"), dict) and "containers" in fields["spec"]:
        fields["metadata"] = {"creationTimestamp": None, **fields.get("metadata", {})}
    return fields


PORTS: Json = {"ports": [{"containerPort": 29500}], "resources": {"limits": {"nvidia.com/gpu": 8, "cpu": "2000m"}}}
RUNTIME = runtime(
    job("dataset-initializer", "dataset-initializer", [container("dataset-initializer")]),
    job(containers=[container(**PORTS)], dependsOn=[{"name": "dataset-initializer", "status": "Complete"}]),
    policy={"numNodes": 2, "torch": {}},
    failurePolicy={"maxRestarts": 3, "rules": [{"name": "retry", "action": "RestartJobSet"}]},
)


def emitted(release: str, **labels: str) -> Json:
    document = trainjob()
    document["metadata"]["labels"] = labels
    manifest: Json = one(compile_trainjob(document, [RUNTIME], Options(release=release)), "JobSet")
    return manifest


@pytest.mark.parametrize("release", RELEASES)
def test_a_second_apply_patches_nothing(release: str) -> None:
    manifest = emitted(release)
    assert client_side_patch(manifest, manifest, live_object(manifest, release)) == {}


@pytest.mark.conformance
@pytest.mark.parametrize("release", RELEASES)
def test_a_second_apply_of_recorded_jobs_patches_nothing(vectors: Path, release: str) -> None:
    manifests = list(islice(compiled_jobsets(vectors, release), CASES_PER_RELEASE))
    assert len(manifests) == CASES_PER_RELEASE
    patches = [client_side_patch(m, m, live_object(m, release)) for m in manifests]
    assert [patch for patch in patches if patch] == []


def compiled_jobsets(vectors: Path, release: str) -> Iterator[Json]:
    with gzip.open(vectors / f"trainer-{release}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            try:
                yield one(compile_trainjob(case["trainjob"], [case["runtime"]], Options(release=release)), "JobSet")
            except CompileError:
                continue


@pytest.mark.parametrize("release", RELEASES)
def test_where_go_left_empty_objects_the_patch_only_takes_them_away_and_is_accepted(release: str) -> None:
    manifest = emitted(release)
    live = with_placeholders(live_object(manifest, release))
    patch = client_side_patch(manifest, manifest, live)
    assert set(patch["spec"]) == {"replicatedJobs"}
    assert refusals(live, merged(live, patch), Options(release=release)) == []


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("default", ["completionMode", "restartPolicy"])
def test_without_a_webhook_default_in_its_lists_a_second_apply_is_refused(release: str, default: str) -> None:
    live = live_object(emitted(release), release)
    manifest = copy.deepcopy(emitted(release))
    for replicated in manifest["spec"]["replicatedJobs"]:
        spec = replicated["template"]["spec"]
        del (spec if default == "completionMode" else spec["template"]["spec"])[default]
    patch = client_side_patch(manifest, manifest, live)
    found = refusals(live, merged(live, patch), Options(release=release))
    assert {diagnostic.code for diagnostic in found} == {"WebhookDefaultMissing"}


def test_what_kueue_does_to_a_live_object_survives_a_second_apply() -> None:
    manifest = emitted("2.3", **{"kueue.x-k8s.io/queue-name": "gpus"})
    live = live_object(manifest, "2.3")
    live["spec"] = {**live["spec"], "suspend": True}
    assert client_side_patch(manifest, manifest, live) == {}


def test_a_changed_image_is_found_and_refused() -> None:
    applied = emitted("2.3")
    live = live_object(applied, "2.3")
    manifest = copy.deepcopy(applied)
    manifest["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    patch = client_side_patch(applied, manifest, live)
    (diagnostic,) = refusals(live, merged(live, patch))
    assert diagnostic.path.endswith("containers[0].image")
