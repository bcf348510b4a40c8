"""Field expressions: what they name, and what is offered when they name nothing."""

from __future__ import annotations

import pytest
from tables import cases

from trainc.explain.expressions import QueryError, matches, parse, suggest_paths
from trainc.kube.documents import FieldPath, format_field, leaves

DOCUMENT = {
    "metadata": {"labels": {"app.kubernetes.io/name": "x", "plain": "y"}},
    "spec": {
        "replicatedJobs": [
            {
                "name": job,
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "node",
                                "env": [{"name": "PET_NNODES", "value": "4"}, {"name": "PET_NODE_RANK", "value": "0"}],
                                "volumeMounts": [{"mountPath": "/etc/mpi", "name": "hosts"}],
                                "command": ["a", "b"],
                            }
                        ]
                    }
                },
            }
            for job in ("node", "launcher")
        ]
    },
}
LEAVES = leaves(DOCUMENT)


def found(expression: str) -> list[str]:
    return [format_field(p) for p, leaf in LEAVES.items() if matches(parse(expression), p, leaf.index)]


@cases("expression", "first", "count")
def test_an_expression_names_fields(expression: str, first: str, count: int) -> None:
    assert (found(expression)[0], len(found(expression))) == (first, count)


@pytest.mark.parametrize(
    "expression", ["metadata.label", "env", "spec.replicatedJobs[2]", "metadata.labels.plain.more"]
)
def test_an_expression_that_is_not_a_path_from_the_root_names_nothing(expression: str) -> None:
    assert found(expression) == []


def test_every_leaf_is_found_by_its_own_path() -> None:
    for path in LEAVES:
        assert found(format_field(path)) == [format_field(path)]


def test_an_expression_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(QueryError, match=r"cannot parse '\[node' in"):
        parse("spec.replicatedJobs[node")


@pytest.mark.parametrize(
    ("expression", "offered"),
    [
        ("env[PET_NNODE]", "env[PET_NNODES]"),
        ("metadata.lables", "metadata.labels"),
        ("spec.replicatedJobs[nod]", "spec.replicatedJobs[node]"),
    ],
)
def test_a_miss_offers_what_reads_alike(expression: str, offered: str) -> None:
    paths: list[FieldPath] = list(LEAVES)
    assert offered in suggest_paths(expression, paths)


def test_items_without_names_of_their_own_are_numbered() -> None:
    tree = {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], "ports": [{"containerPort": 1}, {}]}
    assert [format_field(path) for path in leaves(tree)] == [
        "env[0].name",
        "env[0].value",
        "env[1].name",
        "env[1].value",
        "ports[0].containerPort",
        "ports[1]",
    ]
