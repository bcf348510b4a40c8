"""Devices by whatever name: as many processes as there are devices, whoever makes them and however they are divided."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Json, job, runtime, trainjob
from trainings import findings, reported, training

from trainc import Options, compile_paths
from trainc.kube.devices import accelerator, accelerators, claimed_devices


def of(resource: str, count: int, flag: int | None = None, **fields: Any) -> Json:
    command = ["torchrun", *([f"--nproc_per_node={flag}"] if flag else []), "t.py"]
    return training(command, gpus=0, limits={resource: count}, **fields)


IDLE, MORE = ("warning", "IdleDevices"), ("warning", "MoreProcessesThanDevices")
# A resource, how many of it, --nproc_per_node if it is given, other fields, and what is reported.
COUNTED: dict[str, tuple[str, int, int | None, dict[str, Any], list[tuple[str, str]]]] = {
    "GPUs of AMD": ("amd.com/gpu", 8, 8, {}, []),
    "half of the GPUs of AMD": ("amd.com/gpu", 8, 4, {}, [IDLE]),
    "GPUs of AMD that Trainer counts": ("amd.com/gpu", 8, None, {}, []),
    "GPUs of Intel": ("gpu.intel.com/xe", 4, 2, {}, [IDLE]),
    "a partition of a GPU of AMD": ("amd.com/cpx_nps4", 8, 16, {}, [MORE]),
    "Gaudi": ("habana.ai/gaudi", 8, 8, {}, []),
    "half of the Gaudis": ("habana.ai/gaudi", 8, 4, {}, [IDLE]),
    "Gaudis that Trainer does not count": ("habana.ai/gaudi", 4, None, {}, [IDLE]),
    "Gaudis of which the job says how many": ("habana.ai/gaudi", 4, None, {"numProcPerNode": 4}, []),
    "one Gaudi": ("habana.ai/gaudi", 1, None, {}, []),
    "Ascends": ("huawei.com/Ascend910", 8, 16, {}, [MORE]),
    "Neuron devices": ("aws.amazon.com/neuron", 16, 16, {}, []),
    "Neuron devices with two cores": ("aws.amazon.com/neuron", 16, 32, {}, []),
    "Neuron devices with eight cores": ("aws.amazon.com/neuron", 16, 128, {}, []),
    "more than the cores of Neuron devices": ("aws.amazon.com/neuron", 1, 16, {}, [MORE]),
    "half of the Neuron devices": ("aws.amazon.com/neuron", 16, 8, {}, [IDLE]),
    "Neuron cores": ("aws.amazon.com/neuroncore", 32, 16, {}, [IDLE]),
    "TPUs": ("google.com/tpu", 4, 4, {}, []),
    "TPUs of one process": ("google.com/tpu", 4, 1, {}, []),
    "TPUs that Trainer does not count": ("google.com/tpu", 4, None, {}, []),
    "half of the TPUs": ("google.com/tpu", 4, 2, {}, [IDLE]),
    "a MIG slice": ("nvidia.com/mig-3g.40gb", 1, 1, {}, []),
    "MIG slices, of which a process sees one": ("nvidia.com/mig-1g.10gb", 2, 2, {}, [MORE]),
    "more processes than MIG slices": ("nvidia.com/mig-3g.40gb", 1, 8, {}, [MORE]),
    "a MIG slice with CPUs, which Trainer counts instead": ("nvidia.com/mig-3g.40gb", 1, None, {"cpu": 16}, [MORE]),
    "a device of a vendor's own": ("acme.com/npu", 8, 4, {}, []),
    "a share of a GPU": ("nvidia.com/gpu.shared", 1, 4, {}, []),
    "GPUs beside a network device": ("nvidia.com/gpu", 8, 8, {"rdma/hca_shared_devices_a": 1}, []),
}


@pytest.mark.parametrize("case", COUNTED)
def test_processes_are_compared_with_devices_of_every_kind(case: str) -> None:
    resource, count, flag, more, expected = COUNTED[case]
    fields = {key: more[key] for key in more if key == "numProcPerNode"}
    document = of(resource, count, flag, **fields)
    document["spec"]["trainer"]["resourcesPerNode"]["limits"] |= {
        k: v for k, v in more.items() if k != "numProcPerNode"
    }
    assert findings(document) == expected


def test_what_trainer_does_not_count_is_reported_at_the_devices() -> None:
    (found,) = [d for d in reported(of("habana.ai/gaudi", 4)) if d.severity != "info"]
    assert found.path == 'spec.trainer.resourcesPerNode.limits["habana.ai/gaudi"]'
    assert "set numProcPerNode: 4" in found.hint


def test_devices_of_the_runtime_are_reported_there() -> None:
    node = job(containers=[{"name": "node", "image": "a:1", "command": ["torchrun", "t.py"]}])
    limits = {"resources": {"limits": {"habana.ai/gaudi": 4}}}
    node["template"]["spec"]["template"]["spec"]["containers"][0] |= limits
    (found,) = [d for d in reported(trainjob({}), runtime(node, policy={"torch": {}})) if d.severity != "info"]
    assert (found.code, found.object) == ("IdleDevices", "ClusterTrainingRuntime rt")


def test_another_launcher_is_not_told_by_trainer() -> None:
    document = of("habana.ai/gaudi", 4)
    document["spec"]["trainer"]["command"] = ["/opt/run", "t.py"]
    assert findings(document) == []


def template(name: str, **request: Any) -> Json:
    requests = [
        {"name": "gpus", "exactly": request},
        {"name": "net", "exactly": {"deviceClassName": "rdma.example.com"}},
    ]
    spec = {"spec": {"devices": {"requests": requests}}}
    metadata = {"name": name, "namespace": "team-a"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("flag", "request_", "expected"),
    [
        (8, {"deviceClassName": "gpu.nvidia.com", "count": 8}, []),
        (4, {"deviceClassName": "gpu.nvidia.com", "count": 8}, ["IdleDevices"]),
        (None, {"deviceClassName": "gpu.nvidia.com", "count": 8}, ["IdleDevices"]),
        (None, {"deviceClassName": "gpu.nvidia.com"}, []),
        (4, {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All"}, []),
        (4, {"deviceClassName": "compute-domain-default-channel.nvidia.com"}, []),
    ],
)
def test_devices_of_claims_are_counted(flag: int | None, request_: Json, expected: list[str], tmp_path: Any) -> None:
    import json

    pod = {"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "eight"}]}
    command = ["torchrun", *([f"--nproc_per_node={flag}"] if flag else []), "t.py"]
    resources = {"claims": [{"name": "gpus"}]}
    node = job(containers=[{"name": "node", "image": "a:1", "command": command, "resources": resources}], pod=pod)
    documents = [template("eight", **request_), runtime(node, policy={"torch": {}}), trainjob({"numNodes": 2})]
    (tmp_path / "job.yaml").write_text("\n---\n".join(map(json.dumps, documents)), encoding="utf-8")
    found = compile_paths([str(tmp_path)], options=Options(release="2.3")).diagnostics
    assert [d.code for d in found if d.severity != "info"] == expected


def test_names_of_devices_are_known_or_guessed() -> None:
    names = {
        "nvidia.com/mig-1g.5gb": "MIG slice",
        "amd.com/cpx_nps1": "GPU partition",
        "acme.com/gpu": "GPU",
        "rdma/ib": "",
    }
    assert {name: accelerator(name) for name in names} == names
    assert accelerators({"limits": {"nvidia.com/mig-1g.5gb": 2, "cpu": 4, "acme.com/gpu": 1}}) == {
        "nvidia.com/mig-1g.5gb": 2
    }


def test_claims_of_an_older_version_have_no_exactly() -> None:
    requests = [{"name": "a", "deviceClassName": "gpu.nvidia.com", "count": 2}]
    assert claimed_devices({"spec": {"devices": {"requests": requests}}}) == {"gpu.nvidia.com": 2}
