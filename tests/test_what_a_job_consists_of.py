"""What a compiled job consists of is said once: graph, diff, report, fits, run and policies name the same pods and devices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainc.features.authoring.graph.formats import graph_json, graph_text
from trainc.features.authoring.graph.model import read_graph
from trainc.features.authoring.run.model import Machine
from trainc.features.authoring.run.plan import plan_of
from trainc.features.cluster.fits.cluster import Cluster
from trainc.features.cluster.fits.workload import workload_of
from trainc.features.cluster.policies.children import children
from trainc.features.gitops.diff.model import totals_of
from trainc.features.gitops.report.page import row_of
from trainc.kube.jobset import JobSet
from trainc.plugins.ranks import Processes, Ranks
from trainc.plugins.registry import PLUGINS

FOLDER = Path(__file__).parents[1] / "golden"
ALL = {path.stem: list(yaml.safe_load_all(path.read_text(encoding="utf-8"))) for path in sorted(FOLDER.glob("*.yaml"))}
GOLDENS = {name: manifests for name, manifests in ALL.items() if [m["kind"] for m in manifests].count("JobSet") == 1}
MACHINE = Machine("/w", {}, {}, (), {})
# Per step: its name, its pods at a time, and their compute devices.
Parts = list[tuple[str, int, int]]


def parts(jobset: JobSet) -> Parts:
    return [(job.name, job.pods, job.pods * sum(job.devices.values())) for job in jobset.jobs]


def of_a_picture(manifests: Sequence[dict[str, Any]]) -> Parts:
    steps = graph_json(read_graph(manifests))["steps"]
    pods = [step["pods"] * step["replicas"] for step in steps]
    return [(s["name"], n, n * sum(s["gpus"].values())) for s, n in zip(steps, pods, strict=True)]


def counted_by_hand(manifests: Sequence[dict[str, Any]]) -> Parts:
    """The same from the text of the manifests, for a JobSet of plain containers."""
    (jobset,) = (manifest for manifest in manifests if manifest["kind"] == "JobSet")
    found = []
    for step in jobset["spec"]["replicatedJobs"]:
        spec = step["template"]["spec"]
        pods = step.get("replicas", 1) * min(spec.get("parallelism", 1), spec.get("completions", spec["parallelism"]))
        amounts = [
            {**c.get("resources", {}).get("limits", {}), **c.get("resources", {}).get("requests", {})}
            for c in spec["template"]["spec"]["containers"]
        ]
        devices = sum(int(n) for each in amounts for name, n in each.items() if "gpu" in name or "tpu" in name)
        found.append((step["name"], pods, pods * devices))
    return found


@pytest.mark.parametrize("golden", GOLDENS)
def test_every_reader_counts_the_same_pods_and_devices(golden: str) -> None:
    manifests = GOLDENS[golden]
    (jobset,) = JobSet.among(manifests)
    expected = parts(jobset)
    pods, devices = sum(n for _, n, _ in expected), sum(n for _, _, n in expected)

    assert counted_by_hand(manifests) == expected
    assert of_a_picture(manifests) == expected

    workload = workload_of(jobset.document, "", Cluster())
    assert [(p.name, p.count) for p in workload.pod_sets] == [(name, n) for name, n, _ in expected]
    assert sum(n for p in workload.pod_sets for name, n in p.total.items() if "gpu" in name) == devices

    at_once = [job for job in jobset.jobs if job.name not in jobset.awaited]
    totals = totals_of(jobset)
    assert totals.nodes == sum(job.pods for job in at_once)
    assert totals.gpus == sum(job.pods * sum(job.devices.values()) for job in at_once)

    size = row_of("llm", jobset, "", manifests, None).size  # type: ignore[arg-type]
    # Devices of the network have no noun.
    assert (size.pods, sum(n for noun, n in size.devices.items() if "/" not in noun)) == (pods, devices)

    local = {step.name: [pod.name for pod in step.pods] for step in plan_of(manifests, MACHINE, PLUGINS).steps}
    expected_pods = {job.name: list(jobset.pods_of(job)) for job in jobset.jobs if job.name in local}
    assert local == expected_pods

    built = [subject.data for subject in children(jobset.document, "")]
    replicas = [job["metadata"]["name"] for job in built if job["kind"] == "Job"]
    assert {name.rpartition("-")[0] for name in replicas} == {f"{jobset.name}-{name}" for name, n, _ in expected if n}
    assert {p["spec"]["hostname"] for p in built if p["kind"] == "Pod" and "hostname" in p["spec"]} <= {
        pod for job in jobset.jobs for pod in jobset.pods_of(job)
    }


@pytest.mark.parametrize("golden", GOLDENS)
def test_every_reader_counts_the_same_ranks(golden: str) -> None:
    manifests = GOLDENS[golden]
    (jobset,) = JobSet.among(manifests)
    drawn = graph_text(read_graph(manifests))
    listed = {ranks.step: ranks for ranks in Ranks.read(manifests)}
    for job in jobset.jobs:
        processes = Processes.of(job)
        per_pod, ranks = processes.counts if processes is not None else (0, 0)
        assert not ranks or f"{ranks:,} rank" in drawn
        if job.name in listed:
            assert (listed[job.name].per_pod, listed[job.name].total) == (per_pod, ranks)
            assert listed[job.name].pods == tuple(jobset.pods_of(job))
        if (nodes := job_variable(job.pod_spec, "PET_NNODES")).isdecimal():
            assert int(nodes) == job.pods
        if (told := job_variable(job.pod_spec, "JAX_NUM_PROCESSES")).isdecimal():
            assert int(told) == ranks


def job_variable(pod: Any, name: str) -> str:
    values = (v.get("value", "") for c in pod["containers"] for v in c.get("env", ()) if v["name"] == name)
    return str(next(values, ""))
