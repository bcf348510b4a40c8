"""Hints that can be followed, by people who have never seen Trainer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import Json
from trainings import reported, shell, training

from trainc import CompileError, Options, catalog, compile_paths, compile_trainjob

TOKEN = {"name": "ACCESS_TOKEN", "value": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"}


def of_code(code: str, document: Json) -> list[Any]:
    return [d for d in reported(document) if d.code == code]


def test_a_token_of_an_initializer_is_reported_once_and_at_the_job() -> None:
    model = {"storageUri": "hf://meta-llama/Llama-3.2-1B", "env": [TOKEN]}
    fields: Json = {"runtime": "torchtune-llama3.2-1b", "nodes": 1, "initializer": {"model": model}}
    (found,) = of_code("PlainToken", training(["tune", "run"], **fields))
    assert (found.object, found.path) == ("TrainJob team-a/llm", "spec.initializer.model.env[0]")


@pytest.mark.parametrize(("name", "resource"), [("gpu", "nvidia.com/gpu"), ("tpu", "google.com/tpu"), ("cpu", "cpu")])
def test_an_amount_outside_of_limits_gets_a_resource_that_exists(name: str, resource: str) -> None:
    (found,) = of_code("UnknownField", training(["torchrun", "t.py"], gpus=0, resourcesPerNode={name: 8}))
    assert found.hint == f"put it under limits: limits: {{{resource}: 8}}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("spec: {runtimeRef: {name: a}}}", "remove this }, which closes nothing"),
        ("spec: [a]]", "remove this ], which closes nothing"),
        ("spec: {a: b} c", "put the whole value in quotes"),
    ],
)
def test_a_bracket_too_many_is_removed(text: str, hint: str, tmp_path: Any) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n{text}\n", encoding="utf-8")
    with pytest.raises(CompileError) as failed:
        compile_paths([str(path)], options=Options(release="2.3"))
    assert hint in next(d.hint for d in failed.value.diagnostics if d.code == "YAMLSyntax")


def test_a_word_processors_dash_before_an_option_was_two() -> None:
    (found,) = of_code("TypographicCharacter", training(["torchrun", "t.py", "\u2013lr", "1"]))
    assert found.hint == "write --lr"
    (found,) = of_code("TypographicCharacter", training(["torchrun", "t.py", "\u201c\u2013lr\u201d", "1"]))
    assert found.hint == "write --lr"
    assert "which the program treats as a letter" in found.message
    (found,) = of_code("TypographicCharacter", training(shell("torchrun t.py \u2013\u2013lr 1")))
    assert "which the shell treats as a letter" in found.message
    assert found.severity == "warning"


@pytest.mark.parametrize("command", [["torchrun", "\u2013nnodes=2", "t.py"], shell("torchrun \u2014nnodes=2 t.py")])
def test_a_dash_that_makes_an_option_the_script_is_an_error(command: list[str]) -> None:
    (found,) = of_code("TypographicCharacter", training(command))
    assert (found.severity, found.hint.split()[0]) == ("error", "write")
    assert "torchrun takes for the beginning of its script's name" in found.message


@pytest.mark.parametrize(("delimiter", "hint"), [("EOM", "the Kubeflow SDK writes this script"), ("EOF", "<< 'EOF'")])
def test_who_writes_a_here_document_decides_what_to_change(delimiter: str, hint: str) -> None:
    script = f"cat > t.py << {delimiter}\nprint('$x')\n{delimiter}\ntorchrun t.py"
    (found,) = of_code("HeredocRewritten", training(script))
    assert hint in found.hint


@pytest.mark.parametrize("release", ["2.1", "2.2", "2.3"])
def test_deepspeed_on_its_own_runtime_gets_its_list_of_hosts(release: str) -> None:
    document = training(["deepspeed", "t.py"], runtime="deepspeed-distributed")
    found = compile_trainjob(document, list(catalog(release)), Options(release=release)).diagnostics
    (foreign,) = [d for d in found if d.code == "ForeignLauncher"]
    assert "add --hostfile=/etc/mpi/hostfile, or start the program with mpirun" in foreign.hint


def test_an_error_that_nobody_catches_in_a_notebook_is_a_list_of_findings() -> None:
    with pytest.raises(CompileError) as failed:
        compile_trainjob(training(["torchrun"]), list(catalog("2.3")), Options(release="2.3"))
    lines = failed.value._render_traceback_()
    assert lines == str(failed.value).splitlines()
    assert not any("trainc/" in line for line in lines)
    assert json.dumps(lines)
