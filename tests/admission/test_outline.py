"""Outlines: what admission says of a JobSet is the same whichever JobSets it was asked about before."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
import yaml
from golden_files import ROOT
from perturb import changed, others
from tables import cases

from trainc.admission import admit
from trainc.admission.admit import outline_of, with_words
from trainc.findings import Finding
from trainc.ir.release import release_facts

CASES = ("torch-llm-pretrain", "mpi-openmpi")
ODD: tuple[Any, ...] = (1000, 7.0, "", "x" * 300, [], ["a", 7], [None])


def jobset_of(case: str) -> dict[str, Any]:
    documents = yaml.safe_load_all((ROOT / "golden" / f"{case}.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = next(document for document in documents if document and document["kind"] == "JobSet")
    return found


def places(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every field and item of a document with its value."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inside:
        yield (*path, key), value
        yield from places(value, (*path, key))


def judged(jobset: dict[str, Any]) -> tuple[Any, list[Finding]]:
    return admit.validate_admission(jobset, release_facts("2.3"), "error")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_verdict_is_the_same_with_and_without_outlines(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jobset = jobset_of(case)
    assert outline_of(jobset) is not None
    judged(jobset)
    for path, value in places(jobset):
        for other in chain(others(path, value), ODD):
            variant = changed(jobset, path, other)
            if outline_of(variant) is None:
                continue
            before = copy.deepcopy(variant)
            found = judged(variant)
            with monkeypatch.context() as patched:
                patched.setattr(admit, "outline_of", lambda _: None)
                assert found == judged(variant), (path, other)
            assert variant == before


def test_no_part_of_what_is_stored_is_shared() -> None:
    jobset = jobset_of(CASES[0])
    first, second = judged(jobset)[0], judged(jobset)[0]
    assert first == second
    kept = copy.deepcopy(second)
    for _, value in list(places(first)):
        if isinstance(value, dict | list):
            value.clear()
    assert second == kept
    assert judged(jobset)[0] == kept


def test_jobs_that_differ_in_words_have_one_outline() -> None:
    one, other = jobset_of(CASES[0]), jobset_of(CASES[0])
    other["metadata"] |= {"name": "llm-pretrail", "namespace": "team-b"}
    job = other["spec"]["replicatedJobs"][0]["template"]["spec"]
    job |= {"parallelism": 17, "completions": 17}
    [container] = job["template"]["spec"]["containers"]
    container |= {"image": "another:1", "args": ["--more"]}
    outline = outline_of(one)
    assert outline is not None
    assert outline == outline_of(other)
    assert with_words(outline, other) == other


@cases("requests", "limits", "compared")
@pytest.mark.parametrize("whole_pod", [False, True])
def test_amounts_are_left_out_only_where_their_order_is_all_that_matters(
    requests: dict[str, Any], limits: dict[str, Any], compared: bool, whole_pod: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    variants = []
    for factor in ("", "0"):  # Ten times as much.
        jobset = jobset_of(CASES[0])
        pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        more = [
            {name: times_ten(amount) if factor else amount for name, amount in each.items()}
            for each in (requests, limits)
        ]
        pod["containers"][0]["resources"] = {"requests": more[0], "limits": more[1]}
        if whole_pod:
            pod["resources"] = {"requests": {"cpu": "7"}}
        variants.append(jobset)
    outlines = {outline_of(jobset) for jobset in variants}
    assert (len(outlines) == 1 and None not in outlines) == (compared and not whole_pod)
    for jobset in variants:
        judged(jobset)
    answers = [judged(jobset) for jobset in variants]
    monkeypatch.setattr(admit, "outline_of", lambda _: None)
    assert answers == [judged(jobset) for jobset in variants]


def times_ten(amount: Any) -> Any:
    if not isinstance(amount, str):
        return amount * 10
    digits = amount.rstrip("GMimk")
    return f"{digits}0{amount[len(digits) :]}" if "." not in digits else f"{digits}1"
