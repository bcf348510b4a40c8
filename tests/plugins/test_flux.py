"""Flux: the cluster that the scripts describe, and what is mounted around them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, job, main, one, pod, pods, refused, runtime, trainjob
from tables import cases

FLUX: dict[str, Any] = {"flux": {}}


def scripts(result: Any) -> dict[str, str]:
    found: dict[str, str] = one(result, "ConfigMap")["data"]
    return found


@cases("case", "trainer", "hosts", "resources", "run")
def test_the_scripts_describe_the_cluster(
    case: str, trainer: dict[str, Any], hosts: str, resources: str, run: str
) -> None:
    result = compiled(trainjob(trainer), runtime(policy=FLUX))
    entrypoint, init = scripts(result)["entrypoint.sh"], scripts(result)["init.sh"]
    assert f"flux R encode --hosts='{hosts}' {resources} >" in entrypoint, case
    assert f'flux run {run} "$@"' in entrypoint, case
    assert 'if [ "$(hostname)" != "llm-node-0-0" ]' in entrypoint
    assert f'hosts = [{{ host = "{hosts}" }}]' in init
    assert "%h.llm.team-a.svc.cluster.local:%p" in init
    assert "default_port = 8050" in init
    assert f"for {trainer.get('numNodes', 1)} node(s)" in init


def test_the_controller_gives_each_task_all_gpus() -> None:
    trainer = {"numNodes": 1, "numProcPerNode": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}
    result = compiled(trainjob(trainer), runtime(policy=FLUX), semantics="controller")
    assert "flux run -N 1 -n 2 -g 8 $*" in scripts(result)["entrypoint.sh"]


def test_the_policy_sizes_the_cluster_where_the_trainjob_is_silent() -> None:
    sized = runtime(policy={"numNodes": 5, "flux": {"numProcPerNode": 2}})
    assert "flux run -N 5 -n 10" in scripts(compiled(trainjob({}), sized))["entrypoint.sh"]
    assert (
        "flux run -N 4 -n 4"
        in scripts(compiled(trainjob({"numNodes": 4, "numProcPerNode": 1}), sized))["entrypoint.sh"]
    )


def test_hosts_have_the_names_that_the_pods_will_have() -> None:
    rt = runtime(job(), policy=FLUX, network={"subdomain": "mesh"})
    assert "%h.mesh.team-a.svc.cluster.local:%p" in scripts(compiled(trainjob({}), rt))["init.sh"]
    as_upstream = compiled(trainjob({"numNodes": 1}), rt, semantics="controller")
    assert "%h.llm.team-a.svc.cluster.local:%p" in scripts(as_upstream)["init.sh"]
    homeless = trainjob({})
    del homeless["metadata"]["namespace"]
    assert 'default_connect = "tcp://%h.llm:%p"' in scripts(compiled(homeless, runtime(policy=FLUX)))["init.sh"]


@cases("case", "in_runtime", "in_job", "image", "device", "queue")
def test_settings_come_from_variables(
    case: str, in_runtime: list[Any], in_job: list[Any], image: str, device: str, queue: str
) -> None:
    rt = runtime(job(containers=[container(env=in_runtime)]), policy=FLUX)
    result = compiled(trainjob({"env": in_job}), rt)
    (installer,) = pod(result)["spec"]["initContainers"]
    assert installer["image"] == image, case
    init = scripts(result)["init.sh"]
    assert f'default_bind = "tcp://{device}:%p"' in init, case
    assert f'queue-policy = "{queue}"' in init, case


def test_flux_is_installed_and_mounted() -> None:
    result = compiled(trainjob({"command": ["train", "a b"], "args": ["--x"]}), runtime(policy=FLUX))
    (installer,) = pod(result)["spec"]["initContainers"]
    config = {"name": "llm-flux-entrypoint", "mountPath": "/etc/flux-config", "readOnly": True}
    assert installer["name"] == "flux-installer"
    assert installer["command"] == ["/bin/bash", "/etc/flux-config/init.sh"]
    assert installer["volumeMounts"] == [{"name": "flux-install", "mountPath": "/mnt/flux"}, config]
    trainer = main(result)
    assert trainer["command"] == ["/bin/bash", "/etc/flux-config/entrypoint.sh", "train", "a b", "--x"]
    assert "args" not in trainer
    assert trainer["volumeMounts"] == [
        {"name": "flux-install", "mountPath": "/mnt/flux"},
        {"name": "spack-install", "mountPath": "/opt/software"},
        config,
        {"name": "flux-curve", "mountPath": "/curve", "readOnly": True},
        {"name": "shared-memory", "mountPath": "/dev/shm", "readOnly": True},
    ]
    assert pod(result)["spec"]["volumes"] == [
        {"name": "spack-install", "emptyDir": {}},
        {"name": "flux-install", "emptyDir": {}},
        {"name": "llm-flux-entrypoint", "configMap": {"name": "llm-flux-entrypoint", "defaultMode": 0o755}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        {"name": "flux-curve", "secret": {"secretName": "llm-flux-curve", "defaultMode": 0o400}},
    ]
    assert list(result.secrets) == ["llm-flux-curve"]
    (reported,) = [d for d in result.diagnostics if d.code == "SecretNeeded"]
    assert "flux keygen curve.cert" in reported.message + reported.hint
    assert "--type Opaque --from-file curve.cert=curve.cert" in reported.message + reported.hint


def test_shared_memory_came_with_2_3() -> None:
    result = compiled(trainjob({"numNodes": 1}), runtime(policy=FLUX), release="2.2", semantics="controller")
    assert "shared-memory" not in {volume["name"] for volume in pod(result)["spec"]["volumes"]}
    assert "shared-memory" not in {mount["name"] for mount in main(result)["volumeMounts"]}


@pytest.mark.parametrize(
    ("case", "trainer", "words"),
    [
        ("the template's", {}, ["sh", "-c", "x y"]),
        ("the TrainJob's command", {"command": ["go"]}, ["go", "x y"]),
        ("the TrainJob's args", {"args": ["z"]}, ["sh", "-c", "z"]),
        ("an empty command clears the template's", {"command": []}, ["x y"]),
    ],
)
def test_the_command_that_flux_runs(case: str, trainer: dict[str, Any], words: list[str]) -> None:
    rt = runtime(job(containers=[container(command=["sh", "-c"], args=["x y"])]), policy=FLUX)
    assert main(compiled(trainjob(trainer), rt))["command"][2:] == words, case


@pytest.mark.parametrize(
    ("release", "trainer", "word"),
    [
        ("2.3", {"numNodes": 1}, "sh -c"),
        ("2.2", {"numNodes": 1}, ""),
        ("2.3", {"numNodes": 1, "args": ["a", "b"]}, "sh -c a b"),
        ("2.2", {"numNodes": 1, "command": ["go"], "args": ["b"]}, "go b"),
    ],
)
def test_the_controller_makes_one_word_of_the_command(release: str, trainer: dict[str, Any], word: str) -> None:
    rt = runtime(job(containers=[container(command=["sh", "-c"], args=["lost"])]), policy=FLUX)
    result = compiled(trainjob(trainer), rt, release=release, semantics="controller")
    assert main(result)["command"][2:] == [word]


def test_what_flux_cannot_run_is_refused() -> None:
    taken = runtime(job(pod={"initContainers": [container("flux-installer")]}), policy=FLUX)
    (error,) = refused(trainjob({}), taken)
    assert (error.code, error.path) == ("ReservedInitContainer", "spec.trainer.initContainers")
    (error,) = refused(trainjob({"numProcPerNode": 0}), runtime(policy=FLUX))
    assert (error.code, error.path) == ("InvalidNumProcPerNode", "spec.trainer.numProcPerNode")
    assert "is 0" in error.message
    errors = refused(trainjob({"numProcPerNode": "auto"}), runtime(policy=FLUX))
    assert ["is 'auto'; Flux needs a number" in error.message for error in errors if error.severity == "error"] == [
        True
    ]
    two = {"nvidia.com/gpu": 1, "amd.com/gpu": 1}
    (error,) = refused(trainjob({"resourcesPerNode": {"limits": two}}), runtime(policy=FLUX))
    assert (error.code, error.path) == ("AmbiguousGPU", "spec.trainer.resourcesPerNode.limits")


def test_the_controller_crashes_without_num_nodes_and_gitops_does_not() -> None:
    trainers: tuple[dict[str, Any] | None, ...] = (None, {})
    for trainer in trainers:
        (error,) = refused(trainjob(trainer), runtime(policy=FLUX), semantics="controller")
        assert (error.code, error.path) == ("ControllerPanics", "spec.trainer")
        assert pods(compiled(trainjob(trainer), runtime(policy=FLUX))) == 1
