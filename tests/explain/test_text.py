"""An explanation as text: a line for each field, in the words and columns that people read."""

from __future__ import annotations

from typing import Any

from builders import container, job, runtime, trainjob
from explained import explained

from trainc.explain.expressions import NoMatch, choose
from trainc.explain.model import Explanation
from trainc.explain.text import explanation_text, shorten_value

JOB = trainjob({"numNodes": 4, "command": ["torchrun", "train.py"], "image": "mine:1"})
RUNTIME = runtime(
    job(containers=[container(command=["bash"], env=[{"name": "A", "value": "1"}])]),
    policy={"torch": {}, "numNodes": 1},
    gang={"coscheduling": {}},
)


def chosen(expression: str | None = None) -> Explanation:
    found = choose(explained(JOB, RUNTIME).explanation, expression)
    assert isinstance(found, Explanation)
    return found


def test_a_few_fields_are_a_table_with_those_who_set_them_before_beneath() -> None:
    assert explanation_text(chosen("template.spec.parallelism")).splitlines()[1:] == [
        "",
        "spec.replicatedJobs[node].template.spec.parallelism",
        "",
        "  4",
        "    <- plugin Torch at EnforceMLPolicy",
        "       from TrainJob team-a/llm spec.trainer.numNodes = 4",
        "",
        "  1",
        "    before: ClusterTrainingRuntime rt",
        "       from ClusterTrainingRuntime rt spec.mlPolicy.numNodes = 1",
    ]


def test_a_container_is_a_section_with_aligned_columns() -> None:
    plain = runtime(job(containers=[container(command=["bash"], env=[{"name": "A", "value": "1"}])]))
    found = choose(explained(JOB, plain).explanation, "...containers")
    assert isinstance(found, Explanation)
    assert explanation_text(found).splitlines()[2:] == [
        "JobSet team-a/llm",
        "",
        "job node, container node  spec.replicatedJobs[node]...containers[node]",
        "  command       [torchrun, train.py]  <- TrainJob spec.trainer.command",
        "                [bash]                   before: ClusterTrainingRuntime rt",
        '  env[A].value  "1"                   <- ClusterTrainingRuntime rt',
        "  image         mine:1                <- TrainJob spec.trainer.image",
        "                example.com/train:1      before: ClusterTrainingRuntime rt",
    ]


def test_names_of_items_are_left_out_and_found_all_the_same() -> None:
    assert "env[A].name" not in explanation_text(chosen("...env"))
    assert "env[A].name" in explanation_text(chosen("...env[A].name"))


def test_a_field_that_the_jobset_lacks_is_looked_for_in_the_other_objects() -> None:
    assert [o.name.kind for o in chosen("minMember").objects] == ["PodGroup"]
    assert "PodGroup:spec.minMember" in explanation_text(chosen("PodGroup:spec.minMember"))
    assert [o.name.kind for o in chosen("podgroup/llm:metadata").objects] == ["PodGroup"]


def test_a_miss_is_not_an_explanation() -> None:
    found = choose(explained(JOB, RUNTIME).explanation, "minMembers")
    assert isinstance(found, NoMatch)
    assert "PodGroup:minMember" in [name.replace("spec.", "") for name in found.near]


def test_colour_is_added_by_role_and_changes_no_word() -> None:
    roles: set[str] = set()

    def paint(text: str, role: str) -> str:
        roles.add(role)
        return text

    assert explanation_text(chosen(), paint) == explanation_text(chosen())
    assert roles >= {"heading", "path", "value", "faint", "plugin", "trainjob", "runtime", "default"}


def test_values_that_could_be_taken_for_others_are_quoted_and_long_ones_shortened() -> None:
    values: list[Any] = ["4", "true", "", "a b", " a", 4, True, {}, None]
    assert [shorten_value(value) for value in values] == [
        '"4"', '"true"', '""', "a b", '" a"', "4", "true", "{}", "null",
    ]  # fmt: skip
    assert shorten_value("x" * 100, 20) == "x" * 13 + "…" + "x" * 6
    assert shorten_value("one\ntwo\n") == "one (2 lines)"
    assert shorten_value(["a", "4"]) == '[a, "4"]'
