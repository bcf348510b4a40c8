"""Devices by whatever name: as many processes as there are devices, whoever makes them and however they are divided."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Json, job, runtime, trainjob
from tables import cases
from trainings import findings, reported, training

from trainc import Options, compile_paths
from trainc.kube.devices import accelerator, accelerators, claimed_devices


def of(resource: str, count: int, flag: int | None = None, **fields: Any) -> Json:
    command = ["torchrun", *([f"--nproc_per_node={flag}"] if flag else []), "t.py"]
    return training(command, gpus=0, limits={resource: count}, **fields)


IDLE, MORE = ("warning", "IdleDevices"), ("warning", "MoreProcessesThanDevices")


@cases("resource", "count", "flag", "more", "expected")
def test_processes_are_compared_with_devices_of_every_kind(
    resource: str, count: int, flag: int | None, more: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    fields = {key: more[key] for key in more if key == "numProcPerNode"}
    document = of(resource, count, flag, **fields)
    document["spec"]["trainer"]["resourcesPerNode"]["limits"] |= {
        k: v for k, v in more.items() if k != "numProcPerNode"
    }
    assert findings(document) == [tuple(each) for each in expected]


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


ROOTLESS = {"securityContext": {"runAsUser": 1000}}
INIT = {"name": "own", "image": "a:1", "command": ["true"], "securityContext": {"runAsUser": 0}}


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"command": "apt-get update && apt-get install -y git\ntorchrun t.py\n", "pod": ROOTLESS}, "only root installs"),
        ({"command": "pip install -q peft\ntorchrun t.py\n", "pod": ROOTLESS}, ""),
        ({"command": ["torchrun", "t.py"], "env": {"HF_HOME": "/root/.cache/hf"}, "pod": ROOTLESS}, "the folder is root's"),
        ({"command": ["torchrun", "t.py"], "env": {"HF_HOME": "/home/me/hf"}, "pod": ROOTLESS}, ""),
        ({"command": ["torchrun", "t.py"], "pod": {"securityContext": {"runAsUser": 0, "runAsNonRoot": True}}}, "refuses user 0"),
        ({"command": ["torchrun", "t.py"], "pod": {"securityContext": {"runAsUser": 1000, "runAsNonRoot": True}, "initContainers": [INIT]}}, "refuses user 0"),
        ({"command": ["torchrun", "t.py"], "pod": {**ROOTLESS, "initContainers": [INIT]}}, ""),
        ({"command": ["torchrun", "t.py"], "pod": {"nodeSelector": {"cloud.google.com/gke-accelerator": "a100"}}}, "labels such as"),
        ({"command": ["torchrun", "t.py"], "limits": {"memory": "64Mi"}}, "gibibytes"),
        ({"command": ["torchrun", "t.py --lr 1"]}, "a script of this name"),
        ({"command": ["torchrun", "t.py", "--kw", """'{"a": 1}'"""]}, "quotes"),
        ({"command": ["torchrun", "t.py"], "gpus": 0, "limits": {"nvidia.com/mig-3g40gb": 1}}, "no known device"),
        ({"command": ["python", "t.py"], "runtime": "jax-distributed", "image": "ghcr.io/acme/jax:1", "gpus": 0, "limits": {"google.com/tpu": 3}}, "so many TPU chips"),
        ({"command": ["torchrun", "t.py"], "image": "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", "pod": {"securityContext": {"runAsNonRoot": True}}}, "runs as root unless"),
        ({"command": ["torchrun", "t.py"], "image": "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", "pod": {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000}}}, ""),
        ({"command": ["bash", "-c", 'torchrun t.py "$@"', "--lr", "1"]}, "for its own name"),
        ({"command": ["bash", "-c", 'torchrun t.py "$@"', "--", "--lr", "1"]}, ""),
        ({"command": "FORCE_TORCHRUN=1 \\\n\ntorchrun t.py\n"}, "variable of the script alone"),
        ({"command": "wget -q https://a.io/d.tgz | tar xz\ntorchrun t.py\n"}, "nothing comes through the pipe"),
        ({"command": "wget -qO- https://a.io/d.tgz | tar xz\ntorchrun t.py\n"}, ""),
        ({"command": ["torchrun", "t.py"], "env": {"NCCL_NET_GDR_LEVEL": "9"}}, "NCCL ignores it"),
        ({"command": ["torchrun", "t.py"], "env": {"NCCL_CROSS_NIC": "true"}}, "takes 0, 1 or 2"),
    ],
)  # fmt: skip
def test_what_stops_a_program_in_its_pod_is_reported(fields: dict[str, Any], part: str) -> None:
    warnings = [d.message for d in reported(training(**fields)) if d.severity == "warning"]
    assert len(warnings) == bool(part)
    assert part in "".join(warnings)


IMAGES = (
    "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime",
    "rocm/pytorch:rocm6.4.1_ubuntu24.04_py3.12_pytorch_release_2.6.0",
)
INSTANCE, TOPOLOGY = "node.kubernetes.io/instance-type", "cloud.google.com/gke-tpu-topology"


@pytest.mark.parametrize(
    ("resource", "count", "nodes", "selector", "image", "expected"),
    [
        ("nvidia.com/gpu", 8, 1, {}, IMAGES[1], "made for ROCm"),
        ("amd.com/gpu", 8, 1, {}, IMAGES[1], ""),
        ("nvidia.com/gpu", 8, 1, {}, IMAGES[0], ""),
        ("nvidia.com/gpu", 8, 1, {INSTANCE: "trn1.32xlarge"}, "a:1", "or request aws.amazon.com/neuron"),
        ("nvidia.com/gpu", 1, 1, {INSTANCE: "m5.4xlarge"}, "a:1", "have no nvidia.com/gpu"),
        ("nvidia.com/gpu", 1, 1, {INSTANCE: "Standard_D8s_v5"}, "a:1", "have no nvidia.com/gpu"),
        ("nvidia.com/gpu", 1, 1, {INSTANCE: "n1-standard-8"}, "a:1", ""),
        ("nvidia.com/gpu", 8, 1, {INSTANCE: "p5.48xlarge"}, "a:1", ""),
        ("amd.com/gpu", 8, 1, {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, "a:1", "or request nvidia.com/gpu"),
        ("aws.amazon.com/neuron", 16, 1, {INSTANCE: "trn1.32xlarge"}, "a:1", ""),
        ("google.com/tpu", 4, 4, {TOPOLOGY: "2x4"}, "a:1", "write numNodes: 2"),
        ("google.com/tpu", 4, 2, {TOPOLOGY: "2x4"}, "a:1", ""),
    ],
)  # fmt: skip
def test_devices_are_those_of_the_node_and_of_the_image(
    resource: str, count: int, nodes: int, selector: Json, image: str, expected: str
) -> None:
    job = of(resource, count, nodes=nodes, numProcPerNode=count, pod={"nodeSelector": selector}, image=image)
    said = [f"{d.message} {d.hint}" for d in reported(job) if d.severity == "warning"]
    assert [expected in each for each in said] == [True] * bool(expected)
