"""Which object is which of the other side, under plain names and under names with a content hash, and in which job."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import compiled, job, runtime, trainjob
from comparing import bent, diff_of, manifests, trainer

from trainc import Options, compile_trainjob
from trainc.features.gitops.diff.model import group_by_job, pair_objects, plain_names, replace_hashed_names

Json = dict[str, Any]
MPI = runtime(job("launcher"), job("node", None), policy={"mpi": {}}, gang={"volcano": {}})


def hashed(nodes: int, name: str = "llm") -> list[Json]:
    options = Options(release="2.3", name_hash=True)
    return compile_trainjob(trainjob({"numNodes": nodes}, name=name), [MPI], options).manifests


def test_objects_are_the_same_by_version_kind_namespace_and_name() -> None:
    def thing(**fields: Any) -> Json:
        metadata = {"name": fields.pop("name", "x"), "namespace": fields.pop("namespace", "team-a")}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}

    others = [thing(apiVersion="v2"), thing(kind="Secret"), thing(namespace="team-b"), thing(name="y")]
    for other in others:
        pairs = pair_objects([thing()], [other])
        assert [(pair.before is None, pair.after is None) for pair in pairs].count((False, False)) == 0
    (pair,) = pair_objects([thing(data={"a": "b"})], [thing()])
    assert (pair.before, pair.after) == (thing(data={"a": "b"}), thing())


def test_of_two_objects_with_one_name_the_later_counts() -> None:
    first, second = manifests()[-1], manifests(numNodes=4)[-1]
    (pair,) = pair_objects([first, second], [second])
    assert pair.before == pair.after
    diff = diff_of([first, second], [second])
    assert diff.jobs == ()
    assert diff.notes == ("before contains JobSet team-a/llm more than once; the last one is used.",)


def test_a_hashed_name_is_matched_by_its_plain_one() -> None:
    before, after = hashed(2), hashed(3)
    assert {m["metadata"]["name"] for m in before}.isdisjoint(m["metadata"]["name"] for m in after)
    pairs = pair_objects(before, after)
    assert all(pair.before and pair.after and pair.renamed for pair in pairs)
    assert {(pair.key.kind, pair.key.name) for pair in pairs} == {
        ("JobSet", "llm"),
        ("PodGroup", "llm"),
        ("ConfigMap", "llm-mpi-hostfile"),
    }


def test_a_new_hash_alone_is_not_a_field_that_changed() -> None:
    diff = diff_of(hashed(2), hashed(3))
    (found,) = diff.jobs
    text = json.dumps([[change.before, change.after] for o in found.objects for change in o.changes])
    assert not any(m["metadata"]["name"] in text for m in (*hashed(2), *hashed(3)))
    assert set(found.outcomes.values()) == {"re-created"}


def test_turning_hashes_on_is_the_same_job_under_a_new_name() -> None:
    plain = compiled(trainjob({"numNodes": 2}), MPI).manifests
    (found,) = diff_of(plain, hashed(2)).jobs
    renamed = {o.key.kind: o.renamed for o in found.objects}
    assert renamed["JobSet"] == ("llm", hashed(2)[-1]["metadata"]["name"])
    assert [o.changes for o in found.objects] == [(), (), ()]


PLAIN = {
    "one hash and another": (["a-bcdfgh"], ["a-xz2456"], {"a-bcdfgh": "a", "a-xz2456": "a"}),
    "a plain name and a hash": (["a"], ["a-bcdfgh"], {"a": "a", "a-bcdfgh": "a"}),
    "a name that both sides have": (["a-bcdfgh"], ["a-bcdfgh"], {}),
    "two runs that are kept, and a new one": (["a-bcdfgh", "a-xz2456"], ["a-zzzzzz"], {}),
    "a suffix with vowels": (["a-eeeeee"], ["a-bcdfgh"], {}),
    "a job that is new": ([], ["a-bcdfgh"], {}),
}


@pytest.mark.parametrize(("before", "after", "expected"), PLAIN.values(), ids=PLAIN)
def test_a_plain_name_needs_one_job_on_both_sides(before: list[str], after: list[str], expected: Json) -> None:
    assert plain_names(before, after) == expected


def test_names_are_made_plain_where_they_are_names() -> None:
    plain = {"a-bcdfgh": "a", "a-bcdfgh-bcdfgh": "b"}
    values = ["a-bcdfgh", "a-bcdfgh-node-0-0.a-bcdfgh", "x-a-bcdfgh", "a-bcdfghi", "a-bcdfgh-bcdfgh"]
    assert replace_hashed_names({"v": values}, plain) == {"v": ["a", "a-node-0-0.a", "x-a-bcdfgh", "a-bcdfghi", "b"]}


def test_objects_go_with_the_job_that_mounts_them() -> None:
    mpi = compiled(trainjob({"numNodes": 2}), MPI).manifests
    stranger = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "llm-notes", "namespace": "team-a"}}
    secret = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": {"name": "llm-mpi-ssh-auth", "namespace": "team-a"},
    }
    groups = group_by_job(pair_objects([], [*mpi, stranger, secret]))
    assert [[(pair.key.kind, pair.key.name) for pair in group.pairs] for group in groups] == [
        [
            ("ConfigMap", "llm-mpi-hostfile"),
            ("ExternalSecret", "llm-mpi-ssh-auth"),
            ("PodGroup", "llm"),
            ("JobSet", "llm"),
        ],
        [("ConfigMap", "llm-notes")],
    ]


def test_a_job_is_the_same_whatever_else_there_is() -> None:
    other = manifests("other")
    diff = diff_of([*manifests(), *other], [*other, *manifests(numNodes=4)])
    assert [found.label for found in diff.jobs] == ["team-a/llm"]
    assert diff.unchanged == 1


def test_what_a_secret_holds_is_not_shown() -> None:
    def secret(value: str) -> Json:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": value}}

    (found,) = diff_of([secret("aaa")], [secret("bbb")]).jobs
    (change,) = found.objects[0].changes
    assert (change.before, change.after) == ("(not shown)", "(not shown)")


def test_an_image_that_is_another_is_found() -> None:
    after = [bent(m, lambda x: trainer(x).update(image="b")) if m["kind"] == "JobSet" else m for m in manifests()]
    (found,) = diff_of(manifests(), after).jobs
    assert [change.after for o in found.objects for change in o.changes] == ["b"]
