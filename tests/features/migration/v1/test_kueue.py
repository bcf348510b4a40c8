"""Kueue's own objects: v1beta1 becomes v1beta2 in the spelling that Kueue stores, with every comment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import run
from tables import cases

from trainc import migrate
from trainc.features.migration.v1.migrate import migrate_text
from trainc.options import Limits

QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: gpus
spec:
  cohort: company # lends
  namespaceSelector: {} # everyone
  admissionChecks:
    - provisioning # slow
  flavorFungibility:
    whenCanBorrow: Borrow
    whenCanPreempt: Preempt # at once
  resourceGroups:
    - coveredResources: [cpu, memory]
      flavors:
        - name: default
          resources:
            - name: cpu
              nominalQuota: '1000' # cores
            - {name: memory, nominalQuota: 36Gi, borrowingLimit: 1024Mi}
"""
MIGRATED = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: gpus
spec:
  cohortName: company # lends
  namespaceSelector: {} # everyone
  # slow
  admissionChecksStrategy:
    admissionChecks:
      - name: provisioning
  flavorFungibility:
    whenCanBorrow: MayStopSearch
    whenCanPreempt: MayStopSearch # at once
  resourceGroups:
    - coveredResources: [cpu, memory]
      flavors:
        - name: default
          resources:
            - name: cpu
              nominalQuota: 1k # cores
            - {name: memory, nominalQuota: 36Gi, borrowingLimit: 1Gi}
"""


def queue(kind: str, spec: Any, version: str = "v1beta1") -> dict[str, Any]:
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "metadata": {"name": "q"}, "spec": spec}


def test_a_clusterqueue_keeps_its_comments_and_changes_no_other_line() -> None:
    result = migrate_text(QUEUE, "queue.yaml", Limits())
    assert (result.text, result.diagnostics) == (MIGRATED, ())
    assert migrate_text(MIGRATED, "queue.yaml", Limits()).text == MIGRATED


@cases("written", "stored")
def test_a_quota_is_written_as_kueue_stores_it(written: Any, stored: Any) -> None:
    resource = {"name": "cpu", "nominalQuota": written, "lendingLimit": written}
    group = {"flavors": [{"name": "f", "resources": [resource]}]}
    for kind in ("ClusterQueue", "Cohort"):
        (made,) = migrate([queue(kind, {"resourceGroups": [group], "fairSharing": {"weight": written}})]).documents
        (resource,) = made["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        assert resource == {"name": "cpu", "nominalQuota": stored, "lendingLimit": stored}
        assert made["spec"]["fairSharing"] == {"weight": stored}


@cases("old", "spec")
def test_every_kind_is_of_the_new_version_and_its_fields_with_it(old: dict[str, Any], spec: Any) -> None:
    result = migrate([old])
    (made,) = result.documents
    assert (made["apiVersion"], result.diagnostics) == ("kueue.x-k8s.io/v1beta2", [])
    if spec is not None:
        assert made["spec"] == spec


def test_a_field_that_is_gone_is_said_to_be() -> None:
    result = migrate([queue("AdmissionCheck", {"controllerName": "c", "retryDelayMinutes": 5})])
    assert result.documents[0]["spec"] == {"controllerName": "c"}
    assert [(d.code, d.path) for d in result.diagnostics] == [("MigrationChanges", "spec.retryDelayMinutes")]


@pytest.mark.parametrize(
    "document",
    [
        queue("ClusterQueue", {"cohortName": "c"}, "v1beta2"),
        queue("Workload", {"podSets": []}),
        queue("MultiKueueConfig", {}, "v1alpha1"),
        {"apiVersion": "config.kueue.x-k8s.io/v1beta1", "kind": "Configuration"},
    ],
)
def test_what_is_current_or_kueues_own_stays(document: dict[str, Any]) -> None:
    assert migrate([document]).documents == [document]


def test_queues_in_a_folder_are_migrated_with_a_word_about_kueues_version(tmp_path: Path) -> None:
    path = tmp_path / "queue.yaml"
    path.write_text(QUEUE, encoding="utf-8")
    result = run("migrate", str(tmp_path))
    assert (result.status, path.read_text(encoding="utf-8")) == (0, MIGRATED)
    assert result.stderr.startswith("note: Kueue serves v1beta2 since 0.15")
    assert run("migrate", "--check", str(tmp_path)).status == 0
