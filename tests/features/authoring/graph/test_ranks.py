"""The ranks of a job: on which pod and device they are, and in which groups the frameworks put them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from builders import compiled, runtime, trainjob
from commands import run

from trainc.cli.command import Status
from trainc.features.authoring.graph.model import ranks_json, ranks_text
from trainc.ir.parallelism import frameworks, groups
from trainc.plugins.ranks import Layout, Ranks

MODEL = ("--tensor-model-parallel-size", "4", "--pipeline-model-parallel-size", "2")
TUNE = ("tune", "run", "--rdzv_endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT)", "--nproc_per_node=8")
MEGATRON = ("torchrun", "pretrain_gpt.py", *MODEL)


def ranks(*command: str, nodes: int = 2, devices: int = 8, policy: str = "torch", **trainer: Any) -> list[Ranks]:
    spec = {"numNodes": nodes, "resourcesPerNode": {"limits": {"nvidia.com/gpu": devices}}, **trainer}
    if command:
        spec["command"] = list(command)
    return Ranks.read(compiled(trainjob(spec), runtime(policy={policy: {}})).manifests)


def test_the_table_names_the_pod_and_device_of_each_rank() -> None:
    assert ranks_text(ranks(*MEGATRON)).splitlines() == [
        "node: 16 ranks, 2 pods x 8 per pod",
        "      device   0   1   2   3   4   5   6   7",
        "llm-node-0-0   0   1   2   3   4   5   6   7",
        "llm-node-0-1   8   9  10  11  12  13  14  15",
        "Megatron-LM: tensor 4 x data 2 x pipeline 2",
        "  tensor    4 groups of 4, each in one pod: 0-3, 4-7, 8-11, 12-15",
        "  data      8 groups of 2, each in one pod: 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, ...",
        "  pipeline  8 groups of 2, across pods: 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, ...",
    ]


def test_json_has_all_groups() -> None:
    (found,) = ranks_json(ranks(*MEGATRON, nodes=1))
    assert found == {
        "step": "node",
        "pods": ["llm-node-0-0"],
        "processes": 8,
        "ranks": 8,
        "frameworks": [
            {
                "name": "Megatron-LM",
                "degrees": {"tp": 4, "cp": 1, "dp": 1, "pp": 2},
                "groups": {"tp": [[0, 1, 2, 3], [4, 5, 6, 7]], "pp": [[0, 4], [1, 5], [2, 6], [3, 7]]},
            }
        ],
    }


@pytest.mark.parametrize(
    ("command", "layout"),
    [
        (("torchrun", "train.py"), None),
        (
            ("torchrun", "-m", "torchtitan.train", "--parallelism.tensor_parallel_degree=4"),
            Layout("torchtitan", {"tp": 4, "cp": 1, "dp_shard": 4, "dp_replicate": 1, "pp": 1}),
        ),
        (
            (*TUNE, "full_finetune_distributed", "--config", "x.yaml", "tensor_parallel_dim=2"),
            Layout("torchtune", {"tp": 2, "cp": 1, "dp_shard": 8, "dp_replicate": 1}),
        ),
        (
            ("sh", "-c", "torchrun pretrain_gpt.py --tensor-model-parallel-size 8"),
            Layout("Megatron-LM", {"tp": 8, "cp": 1, "dp": 2, "pp": 1}),
        ),
    ],
)
def test_the_degrees_of_each_framework_are_completed(command: tuple[str, ...], layout: Layout | None) -> None:
    (found,) = ranks(*command)
    assert found.layouts == (() if layout is None else (layout,))


def test_ranks_by_arrival_are_one_order_of_many() -> None:
    note = "the pods get their ranks in the order in which they arrive; this is one order of many"
    given = ("torchrun", "--rdzv-backend=c10d", "--rdzv-endpoint=llm-node-0-0.llm:29500", "train.py")
    assert note in ranks_text(ranks(*given)).splitlines()
    assert note not in ranks_text(ranks("torchrun", "train.py")).splitlines()


def test_long_lists_show_their_beginning_and_end() -> None:
    text = ranks_text(ranks("torchrun", "train.py", nodes=1000)).splitlines()
    assert text[0] == "node: 8,000 ranks, 1,000 pods x 8 per pod"
    assert len(text) == 19
    assert text[-2].split() == ["..."]
    assert text[-1].split() == ["llm-node-0-999", *map(str, range(7992, 8000))]


def test_steps_that_are_too_large_for_a_list_are_left_out() -> None:
    assert ranks("torchrun", "train.py", nodes=20_000) == []
    assert ranks_text([]).startswith("no step whose ranks can be listed")


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg"])
def test_pictures_have_no_ranks(form: str) -> None:
    result = run("graph", "none.yaml", "--ranks", "--format", form)
    assert result.status == Status.USAGE
    assert result.stderr == f"trainc graph: --ranks works with --format text and json, not {form}\n"


def factorizations(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (number,)
        return
    for first in range(1, number + 1):
        if number % first == 0:
            for others in factorizations(number // first, parts - 1):
                yield (first, *others)


def by_coordinates(sizes: Sequence[int], along: int) -> list[list[int]]:
    """The groups from the coordinates of each rank, the first one counting fastest: equal but for the one along."""
    found = defaultdict(list)
    for rank, reversed_coordinates in enumerate(product(*(range(size) for size in reversed(sizes)))):
        coordinates = reversed_coordinates[::-1]
        found[coordinates[:along] + coordinates[along + 1 :]].append(rank)
    return sorted(found.values())


def test_groups_are_the_ranks_that_differ_in_one_coordinate() -> None:
    order = ("tp", "cp", "dp", "pp")
    seen = 0
    for ranks in range(1, 65):
        for sizes in factorizations(ranks, len(order)):
            for along, axis in enumerate(order):
                found = groups(dict(zip(order, sizes, strict=True)), order, axis)
                assert sorted(found) == by_coordinates(sizes, along)
                seen += 1
    assert seen > 5_000


def test_every_framework_numbers_the_ranks_of_its_axes() -> None:
    for framework in frameworks():
        if framework.order:
            assert framework.order[0] == "tp"
            assert set(framework.fills) <= set(framework.order)
