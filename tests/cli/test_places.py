"""Findings are at the line that set the value, with the value as somebody wrote it: for kept jobs, and behind mirrors."""

from __future__ import annotations

import json

import pytest
from commands import run
from repositories import RUNTIME, SETTINGS, edit, git, starting_with, write

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: bert
  namespace: ads
  labels:
    tier: low
spec:
  runtimeRef:
    name: torch-h100
  trainer:
    image: registry.example.com/train
    command: [torchrun, train.py]
    env:
    - name: KEY
      valueFrom:
        secretKeyRef: {name: token, key: t}
"""
OVERLAY = """\
apiVersion: trainc/v1alpha1
kind: Overlay
metadata: {name: p}
mirrors:
  registry.example.com: mirror.example.com
patches:
- target: {kind: ClusterTrainingRuntime}
  patch:
    spec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    imagePullSecrets:
                    - name: pull
"""
CLUSTER = "apiVersion: trainc/v1alpha1\nkind: Cluster\nnamespaces:\n  ads: {secrets: [other]}\n"
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: tiers}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [jobset.x-k8s.io], apiVersions: [v1alpha2], operations: [CREATE, UPDATE], resources: [jobsets]}
  validations:
  - expression: "object.metadata.labels['tier'] != 'high'"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: tiers}
spec: {policyName: tiers, validationActions: [Deny]}
"""


@starting_with
def repository() -> None:
    write("jobs/ads/bert.yaml", JOB)
    write("runtimes/torch.yaml", RUNTIME.replace("NAME", "torch-h100"))
    write("overlays/p/overlay.yaml", OVERLAY)
    write("cluster/c.yaml", CLUSTER)
    write("policies/tiers.yaml", POLICY)
    write("trainc.yaml", f"{SETTINGS}overlay: overlays/p\n")
    assert run("build").status == 0
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "before")


def found(code: str) -> list[tuple[str, int, str]]:
    """The places and messages of the findings with a code."""
    report = json.loads(run("check", "--format", "json").stdout)["diagnostics"]
    return [(d["source"]["file"], d["source"]["line"], d["message"]) for d in report if d["code"] == code]


@pytest.mark.parametrize("rebuild", ["changed-jobs", "all"])
def test_what_the_cluster_lacks_is_at_its_line_in_a_kept_job_too(rebuild: str) -> None:
    edit("trainc.yaml", "rebuild: changed-jobs", f"rebuild: {rebuild}\ncluster: cluster")
    assert found("NotInCluster") == [
        ("jobs/ads/bert.yaml", 17, "there is no Secret token in namespace ads"),
        ("overlays/p/overlay.yaml", 19, "there is no Secret pull in namespace ads"),
    ]


@pytest.mark.parametrize("at_runtime", [False, True])
def test_an_image_without_a_digest_is_named_as_it_is_written(at_runtime: bool) -> None:
    edit("trainc.yaml", "overlay:", "images: {pinned: true}\noverlay:")
    edit("jobs/ads/bert.yaml", "train.py", "train2.py")
    place, image = ("jobs/ads/bert.yaml", 12), "registry.example.com/train"
    if at_runtime:
        edit("jobs/ads/bert.yaml", f"    image: {image}\n", "")
        place, image = ("runtimes/torch.yaml", 17), "registry.example.com/train:1"
    assert found("ImageNotPinned") == [
        (*place, f"the image {image} is not pinned by its digest, as trainc.yaml requires")
    ]
    assert f"{image}@sha256:<digest>" in run("check").stderr


def test_a_registry_that_a_mirror_chose_is_at_the_mirror() -> None:
    edit("trainc.yaml", "overlay:", "images: {registries: [mirrors.example.com/acme]}\noverlay:")
    edit("jobs/ads/bert.yaml", "train.py", "train2.py")
    assert [one[:2] for one in found("RegistryNotAllowed")] == [("overlays/p/overlay.yaml", 5)]
    edit("overlays/p/overlay.yaml", "mirror.example.com", "mirrors.example.com/acm")
    message = "trainc.yaml does not allow images from mirrors.example.com/acm"
    assert found("RegistryNotAllowed") == [("overlays/p/overlay.yaml", 5, message)]
    assert "did you mean mirrors.example.com/acme?" in run("check").stderr


def test_what_a_policy_denies_of_a_change_in_place_is_at_its_line() -> None:
    edit("trainc.yaml", "overlay:", "policies: [policies]\noverlay:")
    assert found("PolicyDenied") == []
    edit("jobs/ads/bert.yaml", "tier: low", "tier: high")
    assert [one[:2] for one in found("PolicyDenied")] == [("jobs/ads/bert.yaml", 7)]
    assert run("build").status == 1


@pytest.mark.parametrize("base", [(), ("--base", "HEAD")])
def test_what_the_rules_of_the_base_deny_is_at_its_line(base: tuple[str, ...]) -> None:
    edit("trainc.yaml", "overlay:", "images: {pinned: true}\noverlay:")
    git("add", "--all")
    git("commit", "--quiet", "--message", "pinned")
    edit("trainc.yaml", "images: {pinned: true}\n", "")
    edit("jobs/ads/bert.yaml", "train.py", "train2.py")
    assert run("build").status == 0
    report = json.loads(run("check", "--format", "json", *base).stdout)["diagnostics"]
    places = [d["source"]["file"] for d in report if d["code"] == "ImageNotPinned"]
    assert places == (["jobs/ads/bert.yaml"] if base else [])
