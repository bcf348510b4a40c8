"""A dump of a cluster: what is in it, for what it is complete, and lists that a person writes."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from tables import cases

from trainc.kube.documents import identity_of, mapping, value_at
from trainc.options import Limits
from trainc.reading.cluster import CLUSTER, KINDS, Dump
from trainc.reading.yaml_reader import read_documents

Json = dict[str, Any]


def an_object(kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    group = KINDS[kind].group
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": metadata, **fields}


def printed(*items: Json) -> Json:
    """A List as kubectl prints it."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(items)}


SECRETS = [an_object("Secret", "hf", "team-a"), an_object("Secret", "hf", "team-b")]


@pytest.mark.parametrize(
    ("documents", "complete"),
    [
        ([printed(*SECRETS)], {"team-a", "team-b", "team-c"}),
        ([printed(SECRETS[0])], {"team-a"}),
        ([printed(SECRETS[0]), printed(SECRETS[1])], {"team-a", "team-b"}),
        ([printed(SECRETS[0], an_object("ConfigMap", "c", "team-b"))], {"team-a", "team-b", "team-c"}),
        ([printed(SECRETS[0], an_object("Node", "n"))], {"team-a"}),
        ([printed(an_object("ConfigMap", "c", "team-a"), an_object("ConfigMap", "c", "team-b"))], set()),
        (SECRETS, set()),
        ([{"kind": "List", "items": SECRETS}], set()),
        ([{"kind": "List", "metadata": {}, "items": SECRETS}], set()),
        ([printed()], set()),
    ],
    ids=[
        *("all namespaces", "one namespace", "two of them", "another kind shows that it is all", "nodes do not"),
        *("a kind that was not printed", "single objects", "a list that a person wrote", "its metadata", "nothing"),
    ],
)
def test_a_printed_list_is_complete_for_its_kinds_where_they_were_asked_for(
    documents: list[Json], complete: set[str]
) -> None:
    dump = Dump.of_objects(documents)
    assert {name for name in ("team-a", "team-b", "team-c") if dump.is_complete("Secret", name)} == complete


def test_kinds_of_the_whole_cluster_are_complete_if_they_were_printed() -> None:
    dump = Dump.of_objects([printed(an_object("StorageClass", "fast"))])
    assert dump.is_complete("StorageClass")
    assert not dump.is_complete("PriorityClass")


def test_files_say_as_much_as_objects() -> None:
    text = """
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- {kind: Secret, metadata: {name: hf, namespace: team-a}}
- {kind: Secret, metadata: {name: hf, namespace: team-b}}
---
apiVersion: v1
kind: ConfigMapList
items:
- {metadata: {name: c, namespace: team-a}}
"""
    documents, problems = read_documents(text.encode(), "all.yaml", Limits())
    dump = Dump.of_documents(documents)
    assert problems == []
    assert (dump.is_complete("Secret", "team-c"), dump.is_complete("ConfigMap", "team-a")) == (True, False)
    assert dump.names("ConfigMap", "team-a") == ["c"]


def test_objects_of_another_group_do_not_count() -> None:
    other = {"apiVersion": "example.com/v1", "kind": "Topology", "metadata": {"name": "t"}}
    assert not Dump.of_objects([other]).of("Topology")
    assert Dump.of_objects([{**other, "apiVersion": "kueue.x-k8s.io/v1alpha1"}]).get("Topology", "", "t")


def test_the_first_of_two_objects_counts() -> None:
    dump = Dump.of_objects([an_object("Node", "n", a=1), an_object("Node", "n", a=2), {"kind": "Node"}, {}, None])
    node = dump.get("Node", "", "n")
    assert node is not None
    assert (node["a"], [one["a"] for one in dump.repeated], dump.nameless) == (1, [2], [{"kind": "Node"}, {}])
    assert [one.get("a") for one in dump.list_all("Node")] == [1, None]


HAND = {
    "apiVersion": "trainc/v1alpha1",
    "kind": "Cluster",
    "namespaces": {
        "team-a": {
            "queues": ["gpus"],
            "claims": ["datasets"],
            "secrets": {"hf": ["token"], "pull": None},
            "configMaps": ["settings"],
            "serviceAccounts": [],
        }
    },
    "storageClasses": ["fast"],
    "nodes": [{"name": "h100", "count": 2, "allocatable": {"nvidia.com/gpu": 8}, "labels": {"gpu": "h100"}}],
}


def test_lists_by_hand_are_complete_for_what_they_list() -> None:
    dump = Dump.of_objects([HAND])
    assert dump.problems == []
    assert (dump.names("LocalQueue", "team-a"), dump.names("Secret", "team-a")) == (["gpus"], ["hf", "pull"])
    known, unknown = dump.get("Secret", "team-a", "hf"), dump.get("Secret", "team-a", "pull")
    assert known is not None
    assert unknown is not None
    assert (list(mapping(known["data"])), "data" in unknown) == (["token"], False)
    listed = ("LocalQueue", "PersistentVolumeClaim", "Secret", "ConfigMap", "ServiceAccount")
    assert [kind for kind in listed if not dump.is_complete(kind, "team-a")] == []
    assert [kind for kind in listed if dump.is_complete(kind, "team-b")] == []
    assert (dump.is_complete("StorageClass"), dump.is_complete("PriorityClass")) == (True, False)
    assert (dump.covers("LocalQueue", "team-a"), dump.covers("LocalQueue", "team-b")) == (True, False)


def test_types_of_nodes_stand_for_that_many_nodes() -> None:
    nodes = Dump.of_objects([HAND]).of("Node")
    assert [name for _, name in nodes] == ["h100-0", "h100-1"]
    node = nodes["", "h100-1"]
    assert value_at(node, ("metadata", "labels")) == {"kubernetes.io/hostname": "h100-1", "gpu": "h100"}
    assert value_at(node, ("status", "allocatable")) == {"pods": "110", "nvidia.com/gpu": 8}


def test_what_was_exported_takes_precedence() -> None:
    exported = an_object("Secret", "hf", "team-a", data={"other": ""})
    dump = Dump.of_objects([HAND, exported])
    assert dump.get("Secret", "team-a", "hf") is exported


ODD: list[Any] = [
    None,
    True,
    -1,
    1.5,
    10**30,
    "",
    "x" * 300,
    [],
    [None],
    [[]],
    {},
    {"a": None},
    {"": {}},
    {3: []},
    [{}] * 3,
]


@given(st.integers(0, 2**32))
def test_any_value_in_any_place_of_a_list_is_read_or_named(seed: int) -> None:
    random = Random(seed)
    document: Json = deepcopy(HAND)
    holders: list[Any] = [document]
    for each in holders:  # which grows
        holders += [
            part for part in (each.values() if isinstance(each, dict) else each) if isinstance(part, dict | list)
        ]
    for _ in range(random.randint(1, 3)):
        holder = random.choice([each for each in holders if each])
        key = random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if holder is not document or key not in ("apiVersion", "kind"):
            holder[key] = random.choice(ODD)
    dump = Dump.of_objects([document])
    assert all(problem.path and problem.hint for problem in dump.problems)
    assert all(identity_of(one)[1] for kind in ("Secret", "ConfigMap", "Node") for one in dump.of(kind).values())


def test_the_schema_for_editors_takes_the_lists_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    example = yaml.safe_load(page.partition("<!-- file: cluster/prod.yaml -->\n```yaml\n")[2].partition("```")[0])
    validator = Draft202012Validator(CLUSTER.json_schema())
    assert list(validator.iter_errors(example)) == []
    assert Dump.of_objects([example]).problems == []
    assert [error.json_path for error in validator.iter_errors({**example, "nodes": [{"count": 2}]})] == ["$.nodes[0]"]


@cases("change", "path", "hint")
def test_a_mistake_in_a_list_is_named_with_its_path(change: Json, path: str, hint: str) -> None:
    (problem,) = Dump.of_objects([{**HAND, **change}]).problems
    assert (problem.code, problem.path, hint in problem.hint) == ("SnapshotUnreadable", path, True)
