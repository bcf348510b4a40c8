"""Mistakes of a platform engineer in settings, rules and clusters: each is said once, at the line where it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from repositories import SETTINGS, build, commit, edit, git, job, runtime, write
from tables import cases

RULES = """\
policies: [policies]
cluster: cluster
images: {registries: [registry.example.com]}
namespaces:
  "jobs/**": []
  "jobs/nlp/**": [nlp]
  "jobs/ads/**": [ads]
"""
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: acme}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [jobsets]}
  variables:
  - {name: jobs, expression: object.spec.replicatedJobs}
  validations:
  - expression: variables.jobs.all(j, j.template.spec.parallelism <= 16)
    message: at most 16 pods
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: acme}
spec: {policyName: acme, validationActions: [Deny]}
---
apiVersion: v1
kind: Namespace
metadata: {name: nlp}
---
apiVersion: v1
kind: Namespace
metadata: {name: ads}
"""
CLUSTER = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec: {nodeLabels: {pool: h100}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpu}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 96}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpu, namespace: nlp}
spec: {clusterQueue: gpu}
---
apiVersion: trainc/v1alpha1
kind: Cluster
nodes:
- {name: h100, count: 16, allocatable: {cpu: 190, nvidia.com/gpu: 8, pods: 100}, labels: {pool: h100}}
"""


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    write("trainc.yaml", SETTINGS + RULES)
    write("policies/acme.yaml", POLICY)
    write("cluster/kueue.yaml", CLUSTER)
    runtime()
    runtime("unused")
    for team, name in (("nlp", "llm"), ("nlp", "bert"), ("ads", "rank")):
        job(team, name)
        labels = "labels: {kueue.x-k8s.io/queue-name: gpu}, " if team == "nlp" else ""
        edit(f"jobs/{team}/{name}.yaml", "metadata: {", f"metadata: {{{labels}")
    build()
    commit("jobs")


@cases("file", "old", "new", "place", "says")
def test_what_kept_jobs_would_be_refused_for_is_one_note_at_its_cause(
    file: str, old: str, new: str, place: str, says: str
) -> None:
    edit(file, old, new)
    for words in (["check"], ["check", "--base", "main"], ["build", "--check"]):
        result = run(*words)
        assert result.status == 0, result.stderr
        assert f"{place}: info[KeptCannotRebuild] {says}" in result.stderr
        assert result.stderr.count("KeptCannotRebuild]") == 1
