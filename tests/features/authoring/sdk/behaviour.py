"""What the offline client and the preflight do, asserted in an interpreter that has the SDK. Says `fine` at its end."""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from kubeflow.trainer.options import Name
from kubeflow.trainer.types.types import CustomTrainer

from trainc import CompileError, Options, compile_paths
from trainc.kubeflow import OfflineBackend, PreflightWarning, offline_client, preflight

OPTIONS = Options(release=sys.argv[1])


def train() -> None:
    print("training")


def priced() -> None:
    print("cost: $HOME")  # The shell of the pod puts a folder here.


def refused(client: Any, trainer: Any, code: str) -> None:
    found = None
    try:
        client.train(trainer=trainer, options=[Name("llm")])
    except CompileError as error:
        found = error
    assert found is not None, "it was not refused"
    assert code in str(found)
    assert any(diagnostic.hint for diagnostic in found.diagnostics)


def names_come_from_the_function_and_its_content() -> None:
    first, second = (offline_client(options=OPTIONS) for _ in range(2))
    trainer = CustomTrainer(func=train, num_nodes=2)
    name = first.train(trainer=trainer)
    assert name == second.train(trainer=trainer)
    assert name.startswith("train-")
    assert first.train(trainer=trainer) == f"{name}-2"
    assert first.train(trainer=CustomTrainer(func=train, num_nodes=3)) not in (name, f"{name}-2")
    assert first.train(trainer=trainer, options=[Name("llm")]) == "llm"
    assert isinstance(first.backend, OfflineBackend)
    assert len(first.backend.trainjobs) == 4


def what_is_written_compiles_to_the_same() -> None:
    client = offline_client(namespace="team-a", options=OPTIONS)
    client.train(trainer=CustomTrainer(func=train, num_nodes=2, resources_per_node={"gpu": 8}), options=[Name("llm")])
    with tempfile.TemporaryDirectory() as folder:
        (path,) = client.backend.write(folder)
        text = Path(path).read_text(encoding="utf-8")
        line = what_is_written_compiles_to_the_same.__code__.co_firstlineno + 2
        assert text.startswith(f"# Written by trainc from behaviour.py:{line}."), text
        assert "nvidia.com/gpu: 8\n" in text
        assert compile_paths([folder], options=OPTIONS).to_yaml() == client.backend.compilation.to_yaml()
        assert client.backend.write(folder) == [path]
        Path(path).write_text("kind: Mine\n", encoding="utf-8")
        try:
            client.backend.write(folder)
        except FileExistsError:
            return
    raise AssertionError("a file of somebody's own was replaced")


def a_script_goes_on_after_train() -> None:
    client = offline_client(options=OPTIONS)
    name = client.train(trainer=CustomTrainer(func=train))
    assert client.wait_for_job_status(name).status == "Complete"
    assert [job.name for job in client.list_jobs()] == [name]
    assert list(client.get_job_logs(name)) == []
    assert "torch-distributed" in [runtime.name for runtime in client.list_runtimes()]
    client.delete_job(name)


def a_refused_job_is_neither_kept_nor_sent() -> None:
    wrong = CustomTrainer(func=train, resources_per_node={"memory": "8G1"})
    client = offline_client(options=OPTIONS)
    refused(client, wrong, "InvalidQuantity")
    assert client.backend.trainjobs == []
    real = offline_client(namespace="team-a", options=OPTIONS)
    sent = real.backend.cluster.jobs
    checked = preflight(real, OPTIONS)
    refused(checked, wrong, "InvalidQuantity")
    assert sent == []
    assert checked.train(trainer=CustomTrainer(func=train), options=[Name("llm")]) == "llm"
    assert [job.document["metadata"]["name"] for job in sent] == ["llm"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checked.train(trainer=CustomTrainer(func=priced), options=[Name("priced")])
    assert any(issubclass(warning.category, PreflightWarning) for warning in caught), caught
    assert len(sent) == 2


def a_client_without_a_cluster_is_not_checked() -> None:
    try:
        preflight(object())
    except TypeError:
        return
    raise AssertionError


names_come_from_the_function_and_its_content()
what_is_written_compiles_to_the_same()
a_script_goes_on_after_train()
a_refused_job_is_neither_kept_nor_sent()
a_client_without_a_cluster_is_not_checked()
print("fine")
