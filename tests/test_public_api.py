"""The public interface: what `from trainc import ...` offers, and how its values behave."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from builders import compiled, job, runtime, trainjob

import trainc
from trainc import (
    Compilation,
    CompileError,
    Diagnostic,
    Options,
    Source,
    admit,
    compile_paths,
    compile_trainjob,
    refusals,
)

CASES = Path(__file__).parent / "cases"


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(hasattr(trainc, name) for name in trainc.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = trainc.nothing


def test_importing_trainc_imports_nothing_heavy() -> None:
    program = "import sys, trainc; print(*sorted(m for m in sys.modules if m.partition('.')[0] in sys.argv[1:]))"
    heavy = ["yaml", "jsonschema", "jinja2", "ruamel", "deepmerge", "argparse"]
    ran = subprocess.run([sys.executable, "-c", program, *heavy], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_valid_input_needs_neither_jsonschema_nor_templates() -> None:
    program = (
        "import sys, trainc; trainc.compile_paths([sys.argv[1]], options=trainc.Options(release='2.3'));"
        "print(*sorted({m.partition('.')[0] for m in sys.modules} & {'jsonschema', 'jinja2', 'ruamel', 'deepmerge'}))"
    )
    case = str(CASES / "torch-llm-pretrain.yaml")
    ran = subprocess.run([sys.executable, "-c", program, case], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_options_are_frozen_and_know_every_spelling_of_a_release() -> None:
    assert {Options(release=text).release for text in ("2.3", "v2.3", "2.3.1")} == {"2.3"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().semantics = "controller"  # type: ignore[misc]
    with pytest.raises(ValueError, match="unknown Trainer release"):
        Options(release="9.9")
    with pytest.raises(ValueError, match="unknown semantics"):
        Options(semantics="other")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "Team-A", "team_a", "team.a", "-a", "a-", "a b", "a\n", "a" * 64])
def test_options_refuse_what_no_namespace_is_called(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid namespace name"):
        Options(namespace=name)


@pytest.mark.parametrize(
    "domain", ["", "Cluster.local", "cluster.local.", ".local", "a..b", "a_b", "a/b", "a." * 126 + "ab"]
)
def test_options_refuse_what_no_cluster_domain_can_be(domain: str) -> None:
    with pytest.raises(ValueError, match="is not a valid cluster domain"):
        Options(cluster_domain=domain)


def test_options_accept_names_up_to_their_limits() -> None:
    longest = Options(namespace="a" * 63, cluster_domain="a." * 126 + "a")
    assert (len(longest.namespace or ""), len(longest.cluster_domain)) == (63, 253)
    assert Options(namespace="7", cluster_domain="k8s").cluster_domain == "k8s"


def test_a_compilation_has_manifests_diagnostics_secrets_and_text() -> None:
    result = compile_trainjob(trainjob({}), [runtime(job(), policy={"mpi": {}})], Options(release="2.3"))
    assert isinstance(result, Compilation)
    assert [m["kind"] for m in result.manifests] == ["ConfigMap", "JobSet"]
    assert result.secrets == ["llm-mpi-ssh-auth"]
    assert all(isinstance(d, Diagnostic) for d in result.diagnostics)
    assert result.to_yaml().count("\n---\n") == 1


def test_a_path_is_not_taken_for_a_list_or_a_document() -> None:
    with pytest.raises(TypeError, match=r"write \['jobs'\]"):
        trainc.compile_paths("jobs")
    document: Any = "job.yaml"
    with pytest.raises(TypeError, match="use compile_paths"):
        trainc.compile_trainjob(document, [])


@pytest.mark.parametrize("document", [{}, {"apiVersion": "v1", "kind": "Pod"}, runtime(job())])
def test_a_document_that_is_not_a_trainjob_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(CompileError, match="not a TrainJob") as refused:
        compile_trainjob(document, [])
    assert [d.code for d in refused.value.diagnostics] == ["NoTrainJob"]


def test_compile_paths_reads_what_the_command_line_reads() -> None:
    result = compile_paths([CASES / "torch-cpu.yaml"], options=Options(release="2.3"))
    assert result.to_yaml() == (CASES.parents[1] / "golden" / "torch-cpu.yaml").read_text(encoding="utf-8")


def test_an_error_holds_every_problem_in_order_and_survives_another_process() -> None:
    with pytest.raises(CompileError) as refused:
        compile_trainjob(trainjob({"numNode": 1, "image": 7}), [runtime()], Options(release="2.3"))
    error = refused.value
    assert [d.path for d in error.diagnostics] == ["spec.trainer.image", "spec.trainer.numNode"]
    again = pickle.loads(pickle.dumps(error))
    assert again.diagnostics == error.diagnostics
    assert "UnknownField" in str(again)


def test_a_source_reads_as_editors_expect() -> None:
    assert str(Source("jobs/a.yaml", 3, 7)) == "jobs/a.yaml:3:7"


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
@pytest.mark.parametrize("policy", [{"torch": {}}, {"jax": {}}, {"xgboost": {}}, {"mpi": {}}])
def test_what_is_done_to_the_objects_of_a_job_leaves_those_of_the_next_alone(policy: Any, semantics: Any) -> None:
    def objects() -> list[Any]:
        template = (
            runtime(job("launcher"), job("node", None), policy=policy) if "mpi" in policy else runtime(policy=policy)
        )
        return list(compiled(trainjob({"numNodes": 2}), template, semantics=semantics).manifests)

    first = objects()
    expected = deepcopy(first)
    _spoil(first)
    assert objects() == expected


def _spoil(value: Any) -> None:
    if isinstance(value, list | dict):
        for inner in list(value.values() if isinstance(value, dict) else value):
            _spoil(inner)
        value.clear()


def test_what_is_compiled_is_admitted_and_may_replace_itself() -> None:
    (jobset,) = compiled(trainjob({"numNodes": 2}), runtime(policy={"torch": {}})).manifests
    (stored,) = admit(jobset, Options(release="2.3")).manifests
    assert refusals(stored, jobset, Options(release="2.3")) == []
    jobset["spec"]["replicatedJobs"][0]["replicas"] = 2
    assert refusals(stored, jobset, Options(release="2.3"))


@pytest.mark.parametrize("record", [Options, trainc.Limits, Diagnostic, Source, Compilation])
def test_the_types_of_fields_can_be_asked_for(record: Any) -> None:
    assert get_type_hints(record).keys() >= {field.name for field in dataclasses.fields(record)}


def test_a_job_of_v1_is_not_left_out_in_silence(tmp_path: Path) -> None:
    """`trainc build` refuses it as well."""
    old = tmp_path / "old.yaml"
    old.write_text("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: old}\nspec: {}\n", encoding="utf-8")
    with pytest.raises(CompileError, match=r"error\[LegacyTrainingJob\]"):
        compile_paths([old])
    beside = compile_paths([old, CASES / "torch-cpu.yaml"], options=Options(release="2.3"))
    assert [d.severity for d in beside.diagnostics if d.code == "LegacyTrainingJob"] == ["warning"]
