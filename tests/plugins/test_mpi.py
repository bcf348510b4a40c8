"""MPI: hosts, slots, keys and variables, as each implementation's mpirun wants them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import codes, compiled, container, env, job, main, one, pod, pods, refused, runtime, trainjob
from tables import cases

from trainc import CompileError, Options, compile_trainjob

SSH = "-o ConnectionAttempts=10"
# What Open MPI 5 reads.
PRTE = {
    "PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile",
    "PRTE_MCA_prte_keep_fqdn_hostnames": "false",
    "PRTE_MCA_prte_set_default_slots": "1",
    "PRTE_MCA_plm_ssh_args": SSH,
}


def mpi(policy: dict[str, Any] | None = None, *, numNodes: int | None = 2, jobs: Any = None, **spec: Any) -> Any:  # noqa: N803 - the API's word
    """An MPI runtime with a launcher and a node job."""
    body: dict[str, Any] = {"mpi": policy or {}}
    if numNodes is not None:
        body["numNodes"] = numNodes
    rt = runtime(*(jobs or (job("launcher"), job("node", None))), policy=body, **spec)
    # Trainer's own API knows OpenMPI only; its predecessor names the others.
    return (
        rt
        if body["mpi"].get("mpiImplementation", "OpenMPI") == "OpenMPI"
        else {**rt, "apiVersion": "kubeflow.org/v2alpha1"}
    )


def hosts(result: Any) -> list[str]:
    text: str = one(result, "ConfigMap")["data"]["hostfile"]
    return text.splitlines()


@cases("implementation", "line", "launcher", "worker")
def test_each_implementation_is_told_its_hosts_in_its_own_words(
    implementation: str, line: str, launcher: dict[str, str], worker: dict[str, str]
) -> None:
    rt = mpi({"mpiImplementation": implementation, "numProcPerNode": 3})
    result = compiled(trainjob({}), rt)
    assert hosts(result)[0] == line
    assert env(result, "launcher") == launcher
    assert env(result, "node") == worker
    for name in {**launcher, **worker}.keys() - PRTE:
        (error,) = refused(trainjob({"env": [{"name": "A", "value": ""}, {"name": name, "value": "x"}]}), rt)
        assert (error.code, error.path) == ("ReservedEnv", "spec.trainer.env[1]")
        assert "mpirun" in error.message


@pytest.mark.parametrize("implementation", ["Intel", "MPICH"])
def test_pods_of_hydra_find_each_other_by_bare_name(implementation: str) -> None:
    dns = {"searches": ["mine.example", "llm.team-a.svc.cluster.local"], "nameservers": ["10.0.0.1"]}
    jobs = (job("launcher"), job("node", None, pod={"dnsConfig": dns}))
    result = compiled(trainjob({}), mpi({"mpiImplementation": implementation}, jobs=jobs))
    assert pod(result, "launcher")["spec"]["dnsConfig"] == {"searches": ["llm.team-a.svc.cluster.local"]}
    assert pod(result, "node")["spec"]["dnsConfig"] == dns
    homeless = trainjob({})
    del homeless["metadata"]["namespace"]
    (error,) = refused(homeless, mpi({"mpiImplementation": implementation}))
    assert (error.code, error.path) == ("NamespaceMissing", "metadata.namespace")
    assert implementation in error.message


def test_openmpi_needs_no_namespace() -> None:
    homeless = trainjob({})
    del homeless["metadata"]["namespace"]
    result = compiled(homeless, mpi())
    assert "dnsConfig" not in pod(result, "launcher")["spec"]
    assert one(result, "ConfigMap")["metadata"]["name"] == "llm-mpi-hostfile"
    assert "namespace" not in one(result, "ConfigMap")["metadata"]


def test_keys_and_hostfile_are_mounted_where_mpirun_looks() -> None:
    result = compiled(trainjob({}), mpi({"sshAuthMountPath": "/home/mpi/.ssh"}))
    keys = {"name": "mpi-ssh-auth", "mountPath": "/home/mpi/.ssh"}
    assert main(result, "node")["volumeMounts"] == [keys]
    assert main(result, "launcher")["volumeMounts"] == [keys, {"name": "mpi-hostfile", "mountPath": "/etc/mpi"}]
    secret, hostfile = pod(result, "launcher")["spec"]["volumes"]
    assert secret == {
        "name": "mpi-ssh-auth",
        "secret": {
            "secretName": "llm-mpi-ssh-auth",
            "defaultMode": 0o400,
            "items": [
                {"key": "ssh-privatekey", "path": "id_rsa", "mode": 0o640},
                {"key": "ssh-publickey", "path": "id_rsa.pub", "mode": 0o644},
                {"key": "ssh-publickey", "path": "authorized_keys", "mode": 0o644},
            ],
        },
    }
    assert hostfile == {
        "name": "mpi-hostfile",
        "configMap": {
            "name": "llm-mpi-hostfile",
            "items": [{"key": "hostfile", "path": "hostfile", "mode": 0o444}],
        },
    }
    assert pod(result, "node")["spec"]["volumes"] == [secret]
    assert main(compiled(trainjob({}), mpi()), "node")["volumeMounts"][0]["mountPath"] == "/root/.ssh"


def test_until_2_2_the_keys_have_no_modes() -> None:
    result = compiled(trainjob({}), mpi(), release="2.2")
    secret = pod(result, "node")["spec"]["volumes"][0]["secret"]
    assert "defaultMode" not in secret
    assert all(set(item) == {"key", "path"} for item in secret["items"])


def test_the_keys_secret_is_named_and_never_built() -> None:
    result = compiled(trainjob({}), mpi())
    assert list(result.secrets) == ["llm-mpi-ssh-auth"]
    assert not [m for m in result.manifests if m["kind"] == "Secret"]
    (reported,) = [d for d in result.diagnostics if d.code == "SecretNeeded"]
    text = reported.message + reported.hint
    for part in (
        "ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f id_ecdsa",
        "kubectl create secret generic llm-mpi-ssh-auth --namespace team-a --type kubernetes.io/ssh-auth",
        "--from-file ssh-privatekey=id_ecdsa",
        "--from-file ssh-publickey=id_ecdsa.pub",
    ):
        assert part in text


@cases("case", "trainer", "policy", "slots")
def test_slots(case: str, trainer: dict[str, Any], policy: dict[str, Any], slots: int) -> None:
    result = compiled(trainjob(trainer), mpi(policy))
    assert hosts(result) == [f"llm-node-0-{i}.llm slots={slots}" for i in range(2)], case
    assert env(result, "launcher")["OMPI_MCA_orte_set_default_slots"] == str(slots)


def test_2_0_never_counts_gpus_for_slots() -> None:
    document = trainjob({"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}})
    assert hosts(compiled(document, mpi(), release="2.0", semantics="controller"))[0].endswith("slots=1")


@pytest.mark.parametrize(
    ("case", "trainer", "policy_nodes", "as_node", "nodes", "found"),
    [
        ("the policy's nodes", {}, 3, False, 3, ["node-0-0", "node-0-1", "node-0-2"]),
        ("the TrainJob's nodes come first", {"numNodes": 1}, 3, False, 1, ["node-0-0"]),
        ("the launcher is one of them", {"numNodes": 3}, None, True, 2, ["launcher-0-0", "node-0-0", "node-0-1"]),
        ("one node is the launcher alone", {"numNodes": 1}, None, True, 0, ["launcher-0-0"]),
        ("nobody asks", {}, None, False, 1, ["node-0-0"]),
    ],
)
def test_the_hostfile_names_every_host_once(
    case: str, trainer: dict[str, Any], policy_nodes: int | None, as_node: bool, nodes: int, found: list[str]
) -> None:
    result = compiled(trainjob(trainer), mpi({"runLauncherAsNode": as_node}, numNodes=policy_nodes))
    assert pods(result, "launcher") == 1
    assert pods(result, "node") == nodes
    assert [line.partition(".")[0] for line in hosts(result)] == [f"llm-{name}" for name in found], case


def test_the_controller_keeps_one_node_besides_the_launcher() -> None:
    rt = mpi({"runLauncherAsNode": True}, numNodes=None)
    for requested, nodes in ((1, 1), (2, 1), (3, 2)):
        assert pods(compiled(trainjob({"numNodes": requested}), rt, semantics="controller"), "node") == nodes
    plain = mpi(numNodes=None)
    assert pods(compiled(trainjob({"numNodes": 3}), plain, semantics="controller"), "node") == 3


def test_every_replica_of_the_nodes_is_a_host() -> None:
    jobs = (job("launcher"), job("node", None, replicas=2))
    result = compiled(trainjob({"numNodes": 2}), mpi(jobs=jobs, network={"subdomain": "mesh"}))
    assert hosts(result) == [f"llm-node-{r}-{i}.mesh slots=1" for r in range(2) for i in range(2)]
    first = compiled(trainjob({"numNodes": 2}), mpi(jobs=jobs), release="2.2", semantics="controller")
    assert hosts(first) == [f"llm-node-0-{i}.llm slots=1" for i in range(2)]


@cases("case", "trainer", "policy", "nodes", "jobs", "code", "path")
def test_what_mpirun_could_not_do_is_refused(
    case: str, trainer: dict[str, Any], policy: dict[str, Any], nodes: int | None, jobs: Any, code: str, path: str
) -> None:
    (error,) = refused(trainjob(trainer), mpi(policy, numNodes=nodes, jobs=jobs))
    assert (error.code, error.path) == (code, path), case


def test_one_node_without_a_launcher_is_fine() -> None:
    assert pods(compiled(trainjob({"numNodes": 1}), mpi(jobs=(job("node"),)))) == 1
    alone = compiled(trainjob({"numNodes": 1}), mpi(jobs=(job("launcher"),)))
    assert hosts(alone) == ["llm-launcher-0-0.llm slots=1"]


def test_the_largest_hostfile_that_fits() -> None:
    # 2^20 bytes, and each host's line has the job's name of 3 letters twice.
    assert "HostfileTooLarge" not in codes(compiled(trainjob({"numNodes": 3000}), mpi()))


@pytest.mark.parametrize("nodes", [50_000, 2_147_483_647])
@pytest.mark.parametrize("semantics", ["controller", "gitops"])
def test_the_hosts_that_are_written_are_counted_not_those_that_were_asked_for(semantics: str, nodes: int) -> None:
    launcher = job("launcher")
    launcher["template"]["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    rt = mpi({"mpiImplementation": "OpenMPI", "runLauncherAsNode": True}, numNodes=nodes, jobs=(launcher, job("node")))
    options = Options(release="2.3", semantics=semantics)  # type: ignore[arg-type]
    if semantics == "gitops":  # Which gives numNodes to the nodes.
        assert len(hosts(compile_trainjob(trainjob({"numNodes": 4}), [rt], options))) == 4
        return
    with pytest.raises(CompileError) as error:
        compile_trainjob(trainjob({"numNodes": 4}), [rt], options)
    assert "HostfileTooLarge" in {d.code for d in error.value.diagnostics}


def test_the_controller_reserves_variables_since_2_3() -> None:
    document = trainjob({"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "x"}]})
    compiled(document, mpi(), release="2.2", semantics="controller")
    assert [e.code for e in refused(document, mpi(), semantics="controller")] == ["ReservedEnv"]


def test_a_trainjobs_variables_and_resources_reach_the_nodes_of_a_launcher_that_is_one() -> None:
    trainer = {"numNodes": 2, "env": [{"name": "A", "value": "1"}], "image": "example.com/mine:2"}
    jobs = (job("launcher", containers=[container()]), job("node", None, containers=[container()]))
    result = compiled(trainjob(trainer), mpi({"runLauncherAsNode": True}, numNodes=None, jobs=jobs))
    assert env(result, "launcher")["A"] == "1"
    assert env(result, "node")["A"] == "1"
    assert main(result, "launcher")["image"] == "example.com/mine:2"
    assert main(result, "node")["image"] == "example.com/train:1"
    alone = compiled(trainjob(trainer), mpi(numNodes=None, jobs=jobs))
    assert "A" not in env(alone, "node")


def test_no_nodes_are_fine_for_a_launcher_that_is_none() -> None:
    assert pods(compiled(trainjob({"numNodes": 0}), mpi(numNodes=None)), "node") == 0


OWN = {"name": "PRTE_MCA_plm_ssh_args", "value": "-v"}


@pytest.mark.parametrize(("semantics", "expected"), [("gitops", PRTE), ("controller", {})])
@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_open_mpi_5_is_told_its_hosts_under_gitops(release: str, semantics: str, expected: dict[str, str]) -> None:
    found = env(compiled(trainjob({}), mpi(), release=release, semantics=semantics), "launcher")
    assert {name: value for name, value in found.items() if name.startswith("PRTE_")} == expected
    assert found["OMPI_MCA_plm_rsh_args"] == SSH


@pytest.mark.parametrize("of_the_job", [True, False])
def test_a_variable_of_open_mpi_5_that_a_job_or_its_runtime_sets_stays(of_the_job: bool) -> None:
    trainer, launcher = ({"env": [OWN]}, container()) if of_the_job else ({}, container(env=[OWN]))
    result = compiled(trainjob(trainer), mpi(jobs=(job("launcher", "trainer", [launcher]), job("node", None))))
    assert {**PRTE, "PRTE_MCA_plm_ssh_args": "-v"}.items() <= env(result, "launcher").items()


@pytest.mark.parametrize(
    ("image", "warned"),
    [
        ("mpioperator/openmpi:5.0.7", True),
        ("acme/train:v2-ompi5", True),
        ("acme/open-mpi-v6:latest", True),
        ("mpioperator/openmpi:4.1.8", False),
        ("acme/openmpi:latest", False),
        ("acme/train:5.0.7", False),
    ],
)
def test_an_image_that_names_open_mpi_5_is_warned_about_where_the_controller_does_not_tell_it_its_hosts(
    image: str, warned: bool
) -> None:
    job_of = trainjob({"image": image})
    for semantics in ("controller", "gitops"):
        found = [d for d in compiled(job_of, mpi(), semantics=semantics).diagnostics if d.code == "HostfileNotRead"]
        expected = [("warning", "spec.trainer.image")] if warned and semantics == "controller" else []
        assert [(d.severity, d.path) for d in found] == expected
