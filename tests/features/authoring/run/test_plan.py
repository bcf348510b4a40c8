"""What a job is on one machine: variables, addresses, ports, folders and programs, read from its manifests."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, job, runtime, trainjob

from trainc.features.authoring.run.model import (
    Folders,
    Hosts,
    Machine,
    Plan,
    Program,
    Size,
    SuccessRule,
    expand_variables,
    scale_job,
)
from trainc.features.authoring.run.plan import plan_of
from trainc.kube.jobset import JobSet
from trainc.plugins.registry import PLUGINS

RUN = {"command": ["sh", "train.sh"]}
PROGRAMS = {"sh": "/bin/sh", "python3": "/usr/bin/python3"}


def planned(
    trainer: dict[str, Any], *jobs: dict[str, Any], policy: Any = None, machine: Any = None, **spec: Any
) -> Plan:
    result = compiled(trainjob(trainer), runtime(*jobs, policy=policy, **spec))
    here = {"workdir": "/w", "environ": {}, "programs": PROGRAMS, "ports": (40001, 40002, 40003), "local_folders": {}}
    return plan_of(result.manifests, Machine(**{**here, **(machine or {})}), PLUGINS)


def programs(plan: Plan, step: str = "node") -> list[Program]:
    return [program for each in plan.steps if each.name == step for pod in each.pods for program in pod.programs]


def codes(plan: Plan) -> list[str]:
    return [finding.code for finding in plan.findings]


def test_every_rank_is_told_its_own_number_and_the_same_address() -> None:
    found = [p.env for p in programs(planned({"numNodes": 2, "numProcPerNode": 2, **RUN}, policy={"torch": {}}))]
    assert [env["PET_NODE_RANK"] for env in found] == ["0", "1"]
    assert {(env["PET_NNODES"], env["PET_NPROC_PER_NODE"]) for env in found} == {("2", "2")}
    assert {(env["PET_MASTER_ADDR"], env["PET_MASTER_PORT"]) for env in found} == {("127.0.0.1", "40001")}


def test_an_address_with_its_port_is_mapped_as_one() -> None:
    (first, _) = programs(planned({"numNodes": 2, **RUN}, policy={"jax": {}}))
    assert first.env["JAX_COORDINATOR_ADDRESS"] == "127.0.0.1:40001"


def test_references_in_a_command_have_the_values_of_this_machine() -> None:
    command = ["sh", "-c", "echo $(PET_MASTER_ADDR):$(PET_MASTER_PORT) $$(PET_NNODES) $(NOBODY)"]
    (first, _) = programs(planned({"numNodes": 2, "command": command}, policy={"torch": {}}))
    assert first.command[2] == "echo 127.0.0.1:40001 $(PET_NNODES) $(NOBODY)"


def test_several_servers_at_one_port_get_one_each_and_a_lone_one_keeps_it() -> None:
    peers = '{"worker": ["llm-node-0-0.llm:2222", "llm-node-0-1.llm.team-a.svc:2222"]}'
    env = [{"name": "TF_CONFIG", "value": peers}, {"name": "METRICS", "value": "http://llm-node-0-0.llm:9090/x"}]
    (first, _) = programs(planned({"numNodes": 2, "env": env, **RUN}, policy={"torch": {}}))
    assert first.env["TF_CONFIG"] == '{"worker": ["127.0.0.1:40002", "127.0.0.1:40003"]}'
    assert first.env["METRICS"] == "http://127.0.0.1:9090/x"


@pytest.mark.parametrize(
    "text", ["xllm-node-0-0.llm", "llm-node-0-0.llm2", "llm-node-0-0.llm.example.com", "llm-node-0-0"]
)
def test_a_name_that_no_pod_answers_to_stays(text: str) -> None:
    jobset = {"metadata": {"name": "llm", "namespace": "team-a"}, "spec": {"replicatedJobs": [{"name": "node"}]}}
    assert Hosts(JobSet.read(jobset)).localized(text, {}) == text


def test_volumes_are_folders_and_claims_are_shared() -> None:
    pod = {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c4"}}, {"name": "scratch", "emptyDir": {}}]
    }
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "scratch", "mountPath": "/scratch"}]
    node = job(containers=[container(volumeMounts=mounts)], pod=pod)
    plan = planned(
        {"numNodes": 2, "command": ["sh", "/data/train.sh", "--out=/scratch", "/database"]}, node, policy={"torch": {}}
    )
    first, second = programs(plan)
    assert first.command == ("sh", "/w/volumes/c4/train.sh", "--out=/w/volumes/llm-node-0-0/scratch", "/database")
    assert second.command[1:3] == ("/w/volumes/c4/train.sh", "--out=/w/volumes/llm-node-0-1/scratch")
    assert {"/w/volumes/c4", "/w/volumes/llm-node-0-0/scratch"} <= set(plan.folders)


def test_of_two_folders_the_inner_one_counts() -> None:
    folders = Folders({"/data": "/w/a", "/data/deep": "/w/b", "/": "/w/never"})
    assert folders.localized("/data /data/deep/x /data-set my/data") == "/w/a /w/b/x /data-set my/data"


def test_a_launcher_reads_the_hostfile_as_it_was_emitted() -> None:
    launcher = job("launcher", dependsOn=[{"name": "node", "status": "Ready"}])
    nodes = job("node", None, [container(command=["/usr/sbin/sshd", "-De"])])
    plan = planned({"numNodes": 2, "command": ["sh", "run.sh"]}, nodes, launcher, policy={"mpi": {"numProcPerNode": 2}})
    (only,) = programs(plan, "launcher")
    file = only.env["OMPI_MCA_orte_default_hostfile"]
    assert plan.files[file] == "llm-node-0-0.llm slots=2\nllm-node-0-1.llm slots=2\n"
    assert {program.command[0] for program in programs(plan)} == {"sshd"}
    assert "/w/bin/ssh" in plan.executable
    assert plan.steps[1].after == (("node", "Ready"),)


def test_a_secret_is_taken_from_the_shell_or_missed() -> None:
    env = [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]
    trainer = {"numNodes": 1, "env": env, **RUN}
    missed = planned(trainer, policy={"torch": {}})
    assert (codes(missed), "HF_TOKEN" in programs(missed)[0].env) == (["ValueNotHere"], False)
    given = planned(trainer, policy={"torch": {}}, machine={"environ": {"HF_TOKEN": "x"}})
    assert (codes(given), programs(given)[0].env["HF_TOKEN"]) == ([], "x")


def test_a_program_of_the_image_is_replaced_by_that_of_this_machine_or_refused() -> None:
    replaced = planned({"command": ["/opt/conda/bin/python3", "t.py"]}, policy={"torch": {}})
    assert (codes(replaced), programs(replaced)[0].command[0]) == (["CommandReplaced"], "python3")
    assert codes(planned({"command": ["nowhere", "t.py"]}, policy={"torch": {}})) == ["ProgramNotHere"]


def test_torchrun_is_that_of_an_interpreter_where_the_path_has_none() -> None:
    plan = planned({"command": ["torchrun", "t.py"]}, policy={"torch": {}})
    assert codes(plan) == []
    assert plan.files["/w/bin/torchrun"] == '#!/bin/sh\nexec /usr/bin/python3 -m torch.distributed.run "$@"\n'


def test_torchtune_is_run_where_it_is_and_stood_in_for_where_only_torch_is() -> None:
    asked = {"command": ["tune", "run", "--rdzv_endpoint=x", "r.py", "--config", "c.yaml"]}
    there = planned(asked, policy={"torch": {}})
    assert there.files["/w/bin/tune"] == '#!/bin/sh\nexec /usr/bin/python3 -m torchtune._cli.tune "$@"\n'
    assert codes(there) == []
    replaced = planned(asked, policy={"torch": {}}, machine={"missing": frozenset({"torchtune"})})
    assert replaced.files["/w/bin/tune"] == '#!/bin/sh\nexec /usr/bin/python3 /w/bin/tune_ranks.py "$@"\n'
    assert "nothing is trained" in replaced.files["/w/bin/tune_ranks.py"]
    assert (codes(replaced), replaced.findings[0].severity) == (["RecipeReplaced"], "warning")
    neither = planned(asked, policy={"torch": {}}, machine={"missing": frozenset({"torch", "torchtune"})})
    assert codes(neither) == ["ProgramNotHere"]


def test_the_policies_of_a_job_are_read() -> None:
    node = job()
    node["template"]["spec"] |= {
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 2,
        "maxFailedIndexes": 1,
        "successPolicy": {"rules": [{"succeededIndexes": "0,2-4", "succeededCount": 3}, {"succeededCount": 2}]},
    }
    node["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    (step,) = planned({**RUN, "numNodes": 5}, node, policy={"torch": {}}).steps
    assert (step.backoff_limit, step.limit_per_index, step.most_failed) == (2**31 - 1, 2, 1)
    assert step.success_rules == (SuccessRule(frozenset({0, 2, 3, 4}), 3), SuccessRule(None, 2))


def test_an_initializer_without_a_command_is_taken_as_done() -> None:
    data = job("data", "dataset-initializer", [container("dataset-initializer")])
    node = job(dependsOn=[{"name": "data", "status": "Complete"}])
    plan = planned(RUN, data, node, policy={"torch": {}})
    assert ([step.name for step in plan.steps], codes(plan)) == (["node"], ["NothingToStart"])
    assert plan.findings[0].severity == "warning"


def test_steps_in_order_wait_for_each_other() -> None:
    first = job("first", None, [container(command=["sh", "train.sh"])])
    plan = planned(RUN, first, job(), policy={"torch": {}}, startupPolicy={"startupPolicyOrder": "InOrder"})
    assert [step.after for step in plan.steps] == [(), (("first", "Ready"),)]


def test_a_size_is_written_where_the_job_says_it() -> None:
    trainer = {"numNodes": 16, "numProcPerNode": 8, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8, "cpu": 4}}}
    smaller, findings = scale_job(trainjob(trainer), Size(2, 1))
    assert smaller["spec"]["trainer"] == {
        "numNodes": 2,
        "numProcPerNode": 1,
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": 1, "cpu": 4}},
    }
    assert [finding.message for finding in findings] == [
        "--pods 2: this run uses 2 instead of 16",
        "--procs 1: this run uses 1 instead of 8",
        "--procs 1: this run uses 1 instead of 8",
    ]
    assert scale_job(smaller, Size(2, 1)) == (smaller, [])


@pytest.mark.parametrize(
    ("text", "value"), [("$(A)", "1"), ("$$(A)", "$(A)"), ("$$$(A)", "$1"), ("$(B)", "$(B)"), ("$A", "$A")]
)
def test_references_are_expanded_as_the_kubelet_does(text: str, value: str) -> None:
    assert expand_variables(text, {"A": "1"}) == value


def test_a_config_map_of_any_shape_is_planned_and_its_keys_lead_nowhere_else() -> None:
    volumes = {"volumes": [{"name": "c", "configMap": {"name": "c"}}]}
    mounts = [container("node", volumeMounts=[{"name": "c", "mountPath": "/c"}])]
    manifests = compiled(trainjob(RUN), runtime(job(containers=mounts, pod=volumes), policy={"torch": {}})).manifests
    data = {"../../escaped": "x", "..": "x", "a/b": "x", "": "x", "...": "x", "good.json": 1}
    shapes: list[Any] = [{}, {"metadata": {"name": ["c"]}}, {"metadata": {"name": "c"}, "data": []}]
    for given in (*shapes, {"metadata": {"name": "c"}, "data": data}):
        here = Machine("/w", {}, PROGRAMS, (40001, 40002, 40003), {})
        plan = plan_of([{"kind": "ConfigMap", **given}, *manifests], here, PLUGINS)
        files = {path for path in plan.files if path.startswith("/w/volumes")}
        assert files == ({"/w/volumes/c/good.json"} if given.get("data") else set())
