"""What is found in several environments is said once where it is the same."""

from __future__ import annotations

import pytest

from trainc.cli.causes import merge_diagnostics
from trainc.cli.diagnostics import full_message
from trainc.findings import Diagnostic, Hint, Source, suggest
from trainc.findings.listed import Listed
from trainc.findings.text import first_of

LINE = Source("jobs/a.yaml", 1, 1)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["has 16 nodes", "has 12 nodes"], ["has 16 or 12 nodes"]),
        (["has 16 nodes", "has 16 nodes"], ["has 16 nodes"]),
        (["has # nodes", "has 5 nodes"], ["has # nodes", "has 5 nodes"]),
        (["has \0 nodes", "has 5 nodes"], ["has \0 nodes", "has 5 nodes"]),
        (["a 1 b # c", "a # b 2 c"], ["a # b 2 c", "a 1 b # c"]),
    ],
)
def test_texts_that_differ_in_numbers_alone_are_one(texts: list[str], said: list[str]) -> None:
    found = {str(n): [Diagnostic("NoNodeFits", "error", text, "", source=LINE)] for n, text in enumerate(texts)}
    assert sorted(d.message for d in merge_diagnostics(found)) == sorted(said)


def of(code: str, label: str, message: str, hint: str = "", line: int = 1, severity: str = "error") -> Diagnostic:
    return Diagnostic(code, severity, message, hint, label, "spec", Source("runtimes/a.yaml", line, 1))  # type: ignore[arg-type]


def kept(*names: str, message: str = "too long") -> Diagnostic:
    return of(
        "PolicyDenied", f"JobSet {names[0]}", Listed(lambda all_: f"{message}; kept: {first_of(all_)}", names, message)
    )


RULE = Source("policies/a.yaml", 3, 5)
NOTE = Diagnostic("KeptCannotRebuild", "info", "2 kept jobs would be refused", source=RULE)
FAULTY = RULE.refusing("correct it", "faulty rule")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {
                "big": [kept("a/x", "a/y")],
                "small": [kept("b/z")],
                "lab": [of("PolicyDenied", "JobSet c/l", "too long")],
            },
            ["too long; kept: a/x, a/y, b/z (and 1 more like it)"],
        ),
        (
            {"big": [kept("a/x")], "lab": [of("PolicyDenied", "ClusterTrainingRuntime r", "too long")]},
            ["ClusterTrainingRuntime r: too long; kept: a/x"],
        ),
        (
            {"a": [of("X", "JobSet a/x", "no C", "use b")], "b": [of("X", "JobSet b/x", "no C", "use b, c")], "c": []},
            ["no C (in a, b)"],
        ),
        ({"": [of("X", "JobSet a/x", "one"), of("X", "JobSet a/x", "other")]}, ["one", "other"]),
        ({"": [of("X", f"JobSet a/{name}", name) for name in "xyz"]}, ["x (and 2 more like it)"]),
        (
            {
                "": [
                    of("A", "TrainJob a/x", "is of another one", suggest("cgf", ["cfg"]), severity="warning"),
                    of("B", "JobSet a/x", "is not there", suggest("cgf", ["cfg"]), severity="warning"),
                ]
            },
            ["is of another one"],
        ),
        (
            {"big": [NOTE], "lab": [of("PolicyDenied", f"JobSet l/{n}", f"fails for {n}", FAULTY, n) for n in (1, 2)]},
            ["fails for 1; 2 kept jobs would be refused"],
        ),
        ({"big": [NOTE], "lab": [of("PolicyDenied", "JobSet l/a", "no", RULE.refusing("x"))]}, [NOTE.message, "no"]),
    ],
    ids=[
        "kept jobs and one that is built",
        "a runtime and a job",
        "a hint that is true of both",
        "two problems of an object",
        "other words for each object",
        "one misspelt word",
        "a faulty rule is at its own line",
        "a job answers for a rule that is right",
    ],
)
def test_one_cause_is_one_finding(found: dict[str, list[Diagnostic]], said: list[str]) -> None:
    merged = [(d.object, full_message(d).removeprefix("spec: ")) for d in merge_diagnostics(found)]
    for (head, text), want in zip(merged, said, strict=True):
        assert want in (text, text.partition(" (in ")[0], f"{head}: {text}")


def test_a_trait_goes_with_its_hint() -> None:
    near = suggest("cgf", ["cfg"])
    assert isinstance(near, Hint)
    assert of("X", "", "", RULE.refusing(near + "; or not")).trait == "misspelt"
    assert of("X", "", "", "did you mean cfg?").trait == ""
