"""Whatever stands in a v1 job, it is migrated or refused, and never a defect of trainc."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from trainc import CompileError, migrate
from trainc.api.kube import identity_of
from trainc.features.migration.v1 import migrate as migration
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

KEY = identity_of
SHAPES = sorted((Path(__file__).parent / "shapes").glob("*.yaml"))
JUNK: tuple[Any, ...] = (None, 0, -1, 3, True, "", "x", "$(RANK)", [], [1], {}, {"a": 1}, ["x"], [None], 1.5, "1e3")


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield (*path, step)
        yield from paths(item, (*path, step))


def changed(document: dict[str, Any], random: Random) -> dict[str, Any]:
    """The document with one value gone or replaced."""
    result = copy.deepcopy(document)
    *above, last = random.choice(list(paths(document)))
    parent = result
    for step in above:
        parent = parent[step]
    if random.random() < 0.3:
        del parent[last]
    else:
        parent[last] = random.choice(JUNK)
    return result


@pytest.mark.parametrize("shape", SHAPES, ids=lambda path: path.stem)
def test_a_job_with_one_value_changed_is_migrated_or_refused(shape: Path) -> None:
    documents, _ = read_documents(shape.read_bytes(), shape.name, Limits())
    random = Random(shape.name)
    for _ in range(15):
        job = changed(random.choice(documents).data, random)
        with suppress(CompileError):
            migrate([job], into=random.choice(("runtime", "catalog")), variables=random.choice(("keep", "torchrun")))


def job(name: str, image: str = "a", replicas: int = 2) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "pytorch", "image": image}]}}
    worker = {"replicas": replicas, "template": pod}
    head = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, "namespace": "a"}}
    return {**head, "spec": {"pytorchReplicaSpecs": {"Worker": worker}}}


@pytest.mark.parametrize("replicas", [100_001, 2**31 - 1, 2**63, 10**400])
def test_a_job_of_more_pods_than_have_an_index_is_refused_before_they_are_listed(replicas: int) -> None:
    with pytest.raises(CompileError, match="100000"):
        migrate([job("llm", replicas=replicas)])


def test_a_job_is_compared_with_no_other_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[object] = []

    def counted(document: Any) -> Any:
        requested.append(document)
        return KEY(document)

    monkeypatch.setattr(migration, "identity_of", counted)
    migrate([job("llm", image=str(number)) for number in range(200)])
    few = len(requested)
    migrate([job("llm", image=str(number)) for number in range(400)])
    assert len(requested) - few < 3 * few
    names = [one["metadata"]["name"] for one in migrate([job("llm", str(n)) for n in range(3)]).documents[1::2]]
    assert len(set(names)) == 3
