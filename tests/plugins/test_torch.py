"""Torch: what torchrun and torchtune are told, and what is refused because they could not do it."""

from __future__ import annotations

from typing import Any

import pytest
from builders import LABEL, compiled, container, env, job, main, one, pods, refused, runtime, said, trainjob

TORCH: dict[str, Any] = {"torch": {}}


def gpu_job(devices: int, **fields: Any) -> dict[str, Any]:
    return job(containers=[container(resources={"limits": {"nvidia.com/gpu": devices}}, **fields)])


def tune(
    release_runtime: str, trainer: dict[str, Any], *, release: str = "2.3", devices: int = 1, **policy: Any
) -> Any:
    """A torchtune job on a runtime of that name."""
    jobs = gpu_job(devices, command=["tune", "run", "tokenizer.path=/w/t", "output_dir=/w/o", "dropped=1"])
    body = {"command": ["tune", "run"], **trainer}
    document = trainjob(body, runtime=release_runtime)
    return document, runtime(jobs, policy={"numNodes": 1, "torch": policy}, name=release_runtime), release


def words(case: Any) -> list[str]:
    document, rt, release = case
    found: list[str] = main(compiled(document, rt, release=release))["command"]
    return found


@pytest.mark.parametrize(
    ("case", "resources", "asked", "processes"),
    [
        ("GPUs are left to torchrun", {"limits": {"nvidia.com/gpu": 4}}, "auto", "auto"),
        ("without GPUs the cores count", {"limits": {"cpu": 3}}, "auto", "3"),
        ("cores are rounded up", {"limits": {"cpu": "2500m"}}, "auto", "3"),
        ("a request comes before a limit", {"limits": {"cpu": 8}, "requests": {"cpu": 2}}, "auto", "2"),
        ("without either there is one process", {}, "auto", "1"),
        ("cpu counts cores beside GPUs", {"limits": {"cpu": 5, "nvidia.com/gpu": 4}}, "cpu", "5"),
        ("gpu is a word for torchrun", {"limits": {"cpu": 5, "nvidia.com/gpu": 4}}, "gpu", "gpu"),
        ("a number stands", {"limits": {"cpu": 5}}, 7, "7"),
    ],
)
def test_processes_per_node(case: str, resources: dict[str, Any], asked: Any, processes: str) -> None:
    document = trainjob({"numProcPerNode": asked, "resourcesPerNode": resources})
    for release, semantics in (("2.3", "gitops"), ("2.1", "gitops"), ("2.1", "controller")):
        result = compiled(document, runtime(policy=TORCH), release=release, semantics=semantics)
        assert env(result)["PET_NPROC_PER_NODE"] == processes, (case, release, semantics)


@pytest.mark.parametrize(
    ("case", "resources", "asked", "processes"),
    [
        ("limits decide where they count cores", {"limits": {"cpu": 2}, "requests": {"cpu": 6}}, "auto", "2"),
        (
            "requests decide where limits have a GPU",
            {"limits": {"nvidia.com/gpu": 1}, "requests": {"cpu": 6}},
            "auto",
            "6",
        ),
        ("a missing list answers one", {"limits": {"nvidia.com/gpu": 4}}, "auto", "1"),
        ("cpu without cores answers one", {"limits": {"cpu": 4}, "requests": {"memory": "1Gi"}}, "cpu", "4"),
        ("no list of cores for cpu", {"requests": {"memory": "1Gi"}}, "cpu", "1"),
        ("no cores at all is one process", {"limits": {"memory": "1Gi"}, "requests": {}}, "auto", "1"),
        ("a number stands beside a GPU", {"limits": {"nvidia.com/gpu": 4}, "requests": {"nvidia.com/gpu": 4}}, 3, "3"),
    ],
)
def test_processes_per_node_in_2_0(case: str, resources: dict[str, Any], asked: Any, processes: str) -> None:
    document = trainjob({"numProcPerNode": asked, "resourcesPerNode": resources})
    result = compiled(document, runtime(policy=TORCH), release="2.0", semantics="controller")
    assert env(result)["PET_NPROC_PER_NODE"] == processes, case


def test_the_runtimes_policy_counts_where_the_trainjob_is_silent() -> None:
    rt = runtime(policy={"numNodes": 3, "torch": {"numProcPerNode": 2}})
    assert env(compiled(trainjob({}), rt))["PET_NPROC_PER_NODE"] == "2"
    assert env(compiled(trainjob({"numProcPerNode": 5}), rt))["PET_NPROC_PER_NODE"] == "5"
    assert env(compiled(trainjob({}), rt))["PET_NNODES"] == "3"


def test_the_rank_is_the_completion_index_and_the_master_the_first_pod() -> None:
    variables = env(compiled(trainjob({"numNodes": 2}), runtime(policy=TORCH)))
    assert variables == {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": {
            "fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
        },
        "PET_MASTER_ADDR": "llm-node-0-0.llm",
        "PET_MASTER_PORT": "29500",
    }


def test_containers_that_the_policy_names_get_the_rendezvous_too() -> None:
    targets = [{"jobName": "node", "containerNames": ["side", "watch"]}]
    rt = runtime(
        job(containers=[container(), container("side"), container("watch")]),
        job("other", None, [container("c")]),
        policy={"numNodes": 2, "torch": {"envInjection": {"targets": targets}}},
    )
    result = compiled(trainjob({"env": [{"name": "A", "value": "1"}]}), rt)
    for name in ("side", "watch"):
        assert env(result, name=name) == {k: v for k, v in env(result).items() if k != "A"}
    assert env(result, "other", "c") == {}


def test_a_runtime_without_a_trainer_has_one_node_to_tell_of() -> None:
    targets = [{"jobName": "other", "containerNames": ["c"]}]
    rt = runtime(job("other", None, [container("c")]), policy={"torch": {"envInjection": {"targets": targets}}})
    assert env(compiled(trainjob(), rt, semantics="controller"), "other", "c")["PET_NNODES"] == "1"


def test_a_missing_target_of_the_policy_is_refused() -> None:
    targets = [{"jobName": "node", "containerNames": ["side", "ghost"]}, {"jobName": "gone", "containerNames": ["c"]}]
    rt = runtime(
        job(containers=[container(), container("side")]), policy={"torch": {"envInjection": {"targets": targets}}}
    )
    errors = refused(trainjob({}), rt)
    assert [(e.code, e.path) for e in errors] == [("EnvInjectionTargetMissing", "spec.runtimeRef")] * 2
    ghost, gone = sorted(errors, key=lambda error: "'gone'" in error.message)
    assert "container 'ghost' of job 'node'" in ghost.message
    assert "container 'c' of job 'gone'" in gone.message


@pytest.mark.parametrize("word", ["auto", "cpu", "gpu"])
def test_words_that_torchrun_knows_are_accepted(word: str) -> None:
    compiled(trainjob({"numProcPerNode": word}), runtime(policy=TORCH))


def test_reserved_variables_and_unknown_words_are_refused_at_their_place() -> None:
    trainer = {"numProcPerNode": "many", "env": [{"name": "OK", "value": "1"}, {"name": "PET_NNODES", "value": "1"}]}
    errors = refused(trainjob(trainer), runtime(policy=TORCH))
    assert {(e.code, e.path) for e in errors} == {
        ("InvalidNumProcPerNode", "spec.trainer.numProcPerNode"),
        ("ReservedEnv", "spec.trainer.env[1]"),
    }
    assert any("'many'" in e.message and "auto, cpu, gpu" in e.message for e in errors)
    assert any("PET_NNODES" in e.message and "torchrun" in e.message for e in errors)


@pytest.mark.parametrize("release", ["2.0", "2.1"])
def test_until_2_1_the_controller_looks_at_variables_only_beside_num_proc_per_node(release: str) -> None:
    reserved = [{"name": "PET_NNODES", "value": "1"}]
    compiled(trainjob({"env": reserved}), runtime(policy=TORCH), release=release, semantics="controller")
    document = trainjob({"env": reserved, "numProcPerNode": 1})
    errors = refused(document, runtime(policy=TORCH), release=release, semantics="controller")
    assert [e.code for e in errors] == ["ReservedEnv"]


def test_two_gpu_resources_are_refused_where_auto_has_to_count_them() -> None:
    two = {"nvidia.com/gpu": 1, "amd.com/gpu": 1}
    in_runtime = runtime(job(containers=[container(resources={"limits": two})]), policy=TORCH)
    (error,) = refused(trainjob({}), in_runtime)
    assert (error.code, error.path) == ("AmbiguousGPU", "spec.runtimeRef")
    assert "limits name amd.com/gpu and nvidia.com/gpu" in error.message
    (error,) = refused(trainjob({"resourcesPerNode": {"requests": two, "limits": two}}), runtime(policy=TORCH))
    assert (error.code, error.path) == ("AmbiguousGPU", "spec.trainer.resourcesPerNode.requests")
    compiled(trainjob({"numProcPerNode": 2}), in_runtime)


@pytest.mark.parametrize(
    ("case", "trainer", "devices", "command"),
    [
        ("one device", {}, 1, ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"]),
        (
            "one process",
            {"numProcPerNode": 1},
            4,
            ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"],
        ),
        ("several devices", {}, 4, ["RDZV", "full_finetune_distributed", "--config", "llama3_2/1B_full"]),
        (
            "LoRA on one device",
            {"args": ["model.lora_attn_modules=[q_proj]"]},
            1,
            ["lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"],
        ),
        (
            "LoRA on several devices",
            {"args": ["model.lora_attn_modules=[q_proj]"]},
            4,
            ["RDZV", "lora_finetune_distributed", "--config", "llama3_2/1B_lora"],
        ),
        (
            "DoRA is a kind of LoRA",
            {"args": ["model.lora_attn_modules=[q]", "model.quantize_base=True", "model.use_dora=True"]},
            4,
            ["RDZV", "lora_finetune_distributed", "--config", "llama3_2/1B_lora"],
        ),
        (
            "quantization that is switched off",
            {"args": ["model.lora_attn_modules=[q]", "model.quantize_base=false"]},
            4,
            ["RDZV", "lora_finetune_distributed", "--config", "llama3_2/1B_lora"],
        ),
    ],
)
def test_torchtune_is_told_the_recipe_for_its_size(
    case: str, trainer: dict[str, Any], devices: int, command: list[str]
) -> None:
    endpoint = "--rdzv_endpoint=llm-node-0-0.llm:29500"
    expected = [endpoint if word == "RDZV" else word for word in command]
    found = words(tune("torchtune-llama3.2-1b", trainer, devices=devices))
    assert found == ["tune", "run", *expected, "tokenizer.path=/w/t", "output_dir=/w/o"], case


def test_qlora_has_a_configuration_of_its_own() -> None:
    trainer = {"args": ["model.lora_attn_modules=[q]", "model.quantize_base= True "]}
    found = words(tune("torchtune-llama3.2-3b", trainer))
    assert found[2:5] == ["lora_finetune_single_device", "--config", "llama3_2/3B_qlora_single_device"]


def test_the_largest_model_trains_on_several_nodes() -> None:
    found = words(tune("torchtune-llama3.3-70b", {"numNodes": 2}, devices=8))
    assert found[2:6] == [
        "--rdzv_endpoint=llm-node-0-0.llm:29500",
        "full_finetune_distributed",
        "--config",
        "llama3_3/70B_full_multinode",
    ]
    result = compiled(*tune("torchtune-llama3.3-70b", {"numNodes": 2}, devices=8)[:2])
    assert pods(result) == 2
    assert "PET_MASTER_ADDR" not in env(result)
    assert env(result)["PET_NNODES"] == "2"


@pytest.mark.parametrize(
    ("case", "name", "trainer", "devices", "code", "paths", "part"),
    [
        ("another form of name", "tune", {}, 1, "UnsupportedModel", ["spec.runtimeRef.name"], "'tune'"),
        (
            "an unknown model", "torchtune-llama9-1b", {}, 1, "UnsupportedModel", ["spec.runtimeRef.name"], "llama9/1B",
        ),
        (
            "a small model on two nodes", "torchtune-llama3.2-1b", {"numNodes": 2}, 1, "TooManyNodes",
            ["spec.trainer.numNodes"], "llama3_2/1B",
        ),
        (
            "an argument that the runtime sets", "torchtune-llama3.2-1b", {"args": ["a=b", "output_dir=/x"]}, 1,
            "ReservedArgument", ["spec.trainer.args[1]"], "output_dir",
        ),
        (
            "LoRA on several nodes", "torchtune-llama3.3-70b",
            {"numNodes": 2, "args": ["model.lora_attn_modules=[q]"]}, 8, "MultiNodeLoRA", ["spec.trainer.numNodes"], "2",
        ),
        (
            "QLoRA of a small model on several devices", "torchtune-llama3.2-1b",
            {"args": ["model.quantize_base=true"]}, 4, "UnsupportedQLoRA",
            ["spec.trainer.numProcPerNode", "spec.trainer.resourcesPerNode"], "llama3_2/1B",
        ),
        (
            "QLoRA of Qwen", "torchtune-qwen2.5-1.5b", {"args": ["model.quantize_base=true"]}, 1, "UnsupportedQLoRA",
            ["spec.runtimeRef.name"], "qwen2_5/1.5B",
        ),
    ],
)  # fmt: skip
def test_what_torchtune_cannot_do_is_refused(
    case: str, name: str, trainer: dict[str, Any], devices: int, code: str, paths: list[str], part: str
) -> None:
    document, rt, release = tune(name, trainer, devices=devices)
    errors = refused(document, rt, release=release)
    assert [(e.code, e.path) for e in errors] == [(code, path) for path in paths], case
    assert all(part in e.message for e in errors), case


@pytest.mark.parametrize(
    ("release", "asked", "recipe"),
    [
        ("2.0", "model.quantize_base=True", "full_finetune_single_device"),
        ("2.1", "model.quantize_base=True", "lora_finetune_single_device"),
        ("2.2", "model.quantize_base=False", "lora_finetune_single_device"),
        ("2.3", "model.quantize_base=False", "full_finetune_single_device"),
    ],
)
def test_each_release_reads_the_arguments_in_its_way(release: str, asked: str, recipe: str) -> None:
    size = "70b" if release == "2.0" else "1.5b"
    name = "torchtune-llama3.3-70b" if size == "70b" else "torchtune-llama3.2-1b"
    trainer = {"args": [asked], "numNodes": 1, "numProcPerNode": 1}
    assert recipe in words(tune(name, trainer, release=release))


ELASTIC = {"minNodes": 2, "maxNodes": 4, "maxRestarts": 3}


def elastic(trainer: dict[str, Any] | None = None, *, nodes: int | None = None, **policy: Any) -> Any:
    """An elastic job of `nodes` nodes; the runtime may not name their number beside a range."""
    asked = {} if nodes is None else {"numNodes": nodes}
    rt = runtime(policy={"torch": {"elasticPolicy": policy}}, gang={"coscheduling": {}})
    return trainjob({**asked, **(trainer or {})}), rt


def test_an_elastic_job_joins_through_c10d() -> None:
    result = compiled(*elastic({"numProcPerNode": 2}, nodes=3, **ELASTIC))
    assert env(result) == {
        "PET_NNODES": "2:4",
        "PET_NPROC_PER_NODE": "2",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "llm-node-0-0.llm:29500",
        "PET_RDZV_ID": "llm",
        "PET_MAX_RESTARTS": "3",
    }
    assert pods(result) == 3
    assert one(result, "PodGroup")["spec"]["minMember"] == 2
    assert one(result, "JobSet")["spec"]["failurePolicy"]["maxRestarts"] == 3


@pytest.mark.parametrize(
    ("case", "policy", "nodes", "nnodes", "pods_at_first"),
    [
        ("a missing maximum is the minimum", {"minNodes": 2}, None, "2:2", 2),
        ("a missing minimum is the maximum", {"maxNodes": 3}, 3, "3:3", 3),
        ("without bounds the size is the runtime's", {}, 5, "5:5", 5),
        ("the job starts with numNodes", {"minNodes": 1, "maxNodes": 4}, 3, "1:4", 3),
        ("both bounds may be the size", {"minNodes": 3, "maxNodes": 3}, 3, "3:3", 3),
    ],
)
def test_the_range_of_an_elastic_job(
    case: str, policy: dict[str, Any], nodes: int | None, nnodes: str, pods_at_first: int
) -> None:
    result = compiled(*elastic({}, nodes=nodes, **policy))
    assert (env(result)["PET_NNODES"], pods(result)) == (nnodes, pods_at_first), case
    assert "PET_MAX_RESTARTS" not in env(result)
    assert "maxRestarts" not in one(result, "JobSet")["spec"].get("failurePolicy", {})


@pytest.mark.parametrize(
    ("case", "trainer", "nodes", "policy", "path"),
    [
        (
            "the bounds are the wrong way round",
            {},
            None,
            {"minNodes": 3, "maxNodes": 2},
            "spec.mlPolicy.torch.elasticPolicy",
        ),
        ("zero nodes", {}, None, {"minNodes": 0, "maxNodes": 2}, "spec.mlPolicy.torch.elasticPolicy"),
        (
            "negative restarts",
            {},
            None,
            {"minNodes": 1, "maxRestarts": -1},
            "spec.mlPolicy.torch.elasticPolicy.maxRestarts",
        ),
        ("the TrainJob starts outside the range", {"numNodes": 5}, None, ELASTIC, "spec.trainer.numNodes"),
    ],
)
def test_a_range_that_torchrun_would_refuse_is_refused(
    case: str, trainer: dict[str, Any], nodes: int | None, policy: dict[str, Any], path: str
) -> None:
    (error,) = refused(*elastic(trainer, nodes=nodes, **policy))
    assert (error.code, error.path) == ("ElasticRangeInvalid", path), case


def test_variables_of_c10d_are_reserved_in_elastic_jobs_only() -> None:
    trainer = {"env": [{"name": "PET_RDZV_ID", "value": "x"}]}
    (error,) = refused(*elastic(trainer, nodes=3, **ELASTIC))
    assert (error.code, error.path) == ("ReservedEnv", "spec.trainer.env[0]")
    assert env(compiled(trainjob(trainer), runtime(policy=TORCH)))["PET_RDZV_ID"] == "x"


def test_restarts_that_the_template_sets_otherwise_are_warned_of() -> None:
    document, rt = elastic({}, nodes=3, **ELASTIC)
    rt["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 1, "restartStrategy": "Recreate"}
    result = compiled(document, rt)
    (warning,) = said("ElasticMaxRestartsConflict", document, rt)
    assert warning.object == "ClusterTrainingRuntime rt"
    assert (warning.severity, warning.path) == ("warning", "spec.mlPolicy.torch.elasticPolicy.maxRestarts")
    assert "3 times" in warning.message
    assert "1 times" in warning.message
    assert one(result, "JobSet")["spec"]["failurePolicy"]["maxRestarts"] == 1
    rt["spec"]["template"]["spec"]["failurePolicy"]["maxRestarts"] = 3
    assert not [d for d in compiled(document, rt).diagnostics if d.code == "ElasticMaxRestartsConflict"]


def test_metrics_that_nobody_can_measure_are_named() -> None:
    metrics = [
        {"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization"}}}
        for name in ("cpu", "memory")
    ]
    document, rt = elastic({"resourcesPerNode": {"requests": {"cpu": 1}}}, nodes=3, **ELASTIC, metrics=metrics)
    (warning,) = said("ElasticMetricsNotEmitted", document, rt)
    assert warning.object == "ClusterTrainingRuntime rt"
    assert (warning.severity, warning.path) == ("warning", "spec.mlPolicy.torch.elasticPolicy.metrics")
    assert "no memory to measure" in warning.message
    assert "3 nodes" in warning.hint


def test_2_0_gives_every_job_of_the_trainer_step_the_first_ones_count() -> None:
    rt = runtime(job(), job("again", "trainer", [container("c")]), policy={"numNodes": 3, "torch": {}})
    assert LABEL in rt["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["metadata"]["labels"]
    assert pods(compiled(trainjob({}), rt, release="2.0", semantics="controller"), "again") == 3
