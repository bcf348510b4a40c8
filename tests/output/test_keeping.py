"""Which rendered files are kept, with what second line, and what a base revision proves, as a function of texts."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from trainc.emit.yaml_writer import dump_yaml
from trainc.output.keeping import Base, BuildLine, Choices, Keeping, digest_of, prove
from trainc.output.ownership import first_line

FIRST = first_line("jobs/llm.yaml")
JOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "llm"}, "spec": {"a": 1}}
DIGEST, OTHER = digest_of(JOB), "0123456789ab"
OLD, NEW = (
    {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "llm", "namespace": "nlp"},
        "spec": {
            "replicatedJobs": [
                {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{"name": name}]}}}}}
            ]
        },
    }
    for name in ("old", "new")
)
OLD_BODY, NEW_BODY = dump_yaml([OLD]), dump_yaml([NEW])
NOW = f"# Built from TrainJob {DIGEST} by trainc 0.2.0 for Trainer 2.3.\n"
BEFORE = f"# Built from TrainJob {DIGEST} by trainc 0.1.0 for Trainer 2.2.\n"
OF_OTHER = f"# Built from TrainJob {OTHER} by trainc 0.1.0 for Trainer 2.2.\n"


def keeping(file: str | None, *, rebuild: str = "", keep: str = "", digests: dict[Any, str] | None = None) -> Keeping:
    choices = Choices(tuple(filter(None, [rebuild])), tuple(filter(None, [keep])))
    known = {("nlp", "llm"): DIGEST} if digests is None else digests
    return Keeping("rendered", known, "0.2.0", "2.3", {"nlp/llm.yaml": file}.get, choices=choices)


class Case(NamedTuple):
    """A file, the objects that compiling gives, and the file from its second line on that a build writes."""

    file: str | None
    compiled: Any
    text: str | None
    held: Any = None
    rebuild: str = ""
    keep: str = ""
    undecided: bool = False


CASES = {
    "a new job is compiled": Case(None, NEW, NOW + NEW_BODY),
    "the same TrainJob keeps the body and the versions": Case(
        FIRST + BEFORE + OLD_BODY, NEW, BEFORE + OLD_BODY, held=[OLD]
    ),
    "the same TrainJob and the same body": Case(FIRST + BEFORE + NEW_BODY, NEW, BEFORE + NEW_BODY, held=[NEW]),
    "the same TrainJob that no longer compiles": Case(FIRST + BEFORE + OLD_BODY, None, BEFORE + OLD_BODY, held=[OLD]),
    "another TrainJob is compiled": Case(FIRST + OF_OTHER + OLD_BODY, NEW, NOW + NEW_BODY),
    "another TrainJob with the same body keeps the versions": Case(FIRST + OF_OTHER + NEW_BODY, NEW, BEFORE + NEW_BODY),
    "another TrainJob that does not compile": Case(FIRST + OF_OTHER + OLD_BODY, None, None),
    "a job that is to be rebuilt": Case(FIRST + BEFORE + OLD_BODY, NEW, NOW + NEW_BODY, rebuild="llm"),
    "a job that is to be rebuilt and does not compile": Case(FIRST + BEFORE + OLD_BODY, None, None, rebuild="llm"),
    "another job is to be rebuilt": Case(
        FIRST + BEFORE + OLD_BODY, NEW, BEFORE + OLD_BODY, held=[OLD], rebuild="ads/*"
    ),
    "another TrainJob that is to be kept": Case(
        FIRST + OF_OTHER + OLD_BODY, NEW, BEFORE + OLD_BODY, held=[OLD], keep="nlp/llm"
    ),
    "all are to be rebuilt, and one is to be kept": Case(
        FIRST + BEFORE + OLD_BODY, NEW, BEFORE + OLD_BODY, held=[OLD], rebuild="all", keep="nlp/*"
    ),
    "no second line and what compiling gives": Case(FIRST + NEW_BODY, NEW, NOW + NEW_BODY),
    "no second line and something else": Case(FIRST + OLD_BODY, NEW, NOW + NEW_BODY, undecided=True),
    "no second line, to be rebuilt": Case(FIRST + OLD_BODY, NEW, NOW + NEW_BODY, rebuild="all"),
    "no second line, to be kept": Case(FIRST + OLD_BODY, NEW, NOW + OLD_BODY, held=[OLD], keep="all"),
    "a second line of somebody's own": Case(f"{FIRST}# Built.\n{OLD_BODY}", NEW, NOW + NEW_BODY, undecided=True),
    "a file of somebody else's is never kept": Case(BEFORE + OLD_BODY, NEW, NOW + NEW_BODY),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_build_writes(case: str) -> None:
    file, compiled, text, held, rebuild, keep, undecided = CASES[case]
    decided = keeping(file, rebuild=rebuild, keep=keep)
    assert decided.hold("nlp", "llm", None if compiled is None else [compiled]) == held
    rendered = decided.rendered.get(("nlp", "llm"))
    assert (rendered.text if rendered else None) == text
    assert bool(decided.undecided) is undecided
    assert [d.code for d in decided.diagnostics()] == ["KeepOrRebuild"] * undecided


def test_a_job_that_nobody_knows_is_compiled() -> None:
    assert keeping(FIRST + BEFORE + OLD_BODY, digests={}).hold("nlp", "llm", [NEW]) is None


def test_a_kept_file_that_cannot_be_read_stops_the_build_at_its_line() -> None:
    decided = keeping(f"{FIRST}{BEFORE}a: [\n")
    assert decided.hold("nlp", "llm", [NEW]) == []
    (found,) = decided.diagnostics()
    assert (found.code, str(found.source).partition(":")[0]) == ("YAMLSyntax", "rendered/nlp/llm.yaml")
    assert found.source is not None
    assert found.source.line >= 3


def test_a_kept_jobset_that_is_not_one_stops_the_build() -> None:
    body = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: llm}\nspec: {replicatedJobs: 3}\n"
    decided = keeping(FIRST + BEFORE + body)
    assert decided.hold("nlp", "llm", [NEW]) == []
    assert [(d.code, d.severity) for d in decided.diagnostics()] == [("WrongType", "error")]


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"metadata": {"name": "llm"}, "kind": "TrainJob", "spec": {"a": 1}, "apiVersion": JOB["apiVersion"]}, True),
        ({**JOB, "spec": {"a": 2}}, False),
        ({**JOB, "spec": {"a": "1"}}, False),
        ({**JOB, "spec": {"a": 1, "b": None}}, False),
        ({**JOB, "metadata": {"name": "llm", "labels": {"a": "ü"}}}, False),
    ],
)
def test_the_digest_depends_on_what_the_trainjob_says_and_not_on_how(changed: dict[str, Any], same: bool) -> None:
    assert (digest_of(changed) == DIGEST) is same


CHOSEN = {
    ("llm", "nlp", "llm"): True,
    ("llm", "ads", "llm"): True,
    ("llm", "nlp", "llm-2"): False,
    ("nlp", "nlp", "llm"): False,
    ("nlp/llm", "nlp", "llm"): True,
    ("nlp/llm", "ads", "llm"): False,
    ("nlp/*", "nlp", "llm"): True,
    ("nlp/*", "ads", "nlp"): False,
    ("ll*", "nlp", "llm"): True,
    ("all", "nlp", "llm"): True,
    ("llm", "", "llm"): True,
    ("nlp/*", "", "llm"): False,
}


@pytest.mark.parametrize(("choice", "namespace", "name"), CHOSEN)
def test_a_choice_is_a_name_a_name_in_its_namespace_or_a_glob(choice: str, namespace: str, name: str) -> None:
    chosen = CHOSEN[choice, namespace, name]
    assert Choices(rebuild=(choice,)).rebuilds(namespace, name) is chosen
    assert Choices(keep=(choice,)).keeps(namespace, name) is chosen
    assert (Choices(rebuild=(choice,)).unused([(namespace, name)]) == []) is chosen


class Proof(NamedTuple):
    """What the base has, its digest of the TrainJob, and why a kept file is refused; empty if it is not."""

    before: str | None
    digest: str
    refused: str
    permitted: bool = False


ELSEWHERE = first_line("jobs/moved.yaml")
PROOFS = {
    "the same file": Proof(FIRST + BEFORE + OLD_BODY, DIGEST, ""),
    "a moved source": Proof(ELSEWHERE + BEFORE + OLD_BODY, DIGEST, ""),
    "another TrainJob": Proof(FIRST + BEFORE + OLD_BODY, OTHER, "its TrainJob has changed", permitted=True),
    "no TrainJob": Proof(FIRST + BEFORE + OLD_BODY, "", "its TrainJob has changed", permitted=True),
    "another body": Proof(FIRST + BEFORE + NEW_BODY, DIGEST, "the file has changed"),
    "a shorter body": Proof(FIRST + BEFORE + OLD_BODY[:-5], DIGEST, "the file has changed"),
    "a longer body": Proof(FIRST + BEFORE + "a: 1\n" + OLD_BODY, DIGEST, "the file has changed"),
    "another second line": Proof(FIRST + OF_OTHER + OLD_BODY, DIGEST, "the file has changed", permitted=True),
    "no second line": Proof(FIRST + OLD_BODY, DIGEST, "the file has changed", permitted=True),
    "a file of somebody else's": Proof(f"# x\n{BEFORE}{OLD_BODY}", DIGEST, "the file has changed"),
    "no file": Proof(None, DIGEST, "the file is new", permitted=True),
}


@pytest.mark.parametrize("proof", PROOFS)
@pytest.mark.parametrize("adopted", [(), ("rendered/nlp/llm.yaml",), ("rendered/**",), ("llm.yaml",), ("jobs/**",)])
def test_what_a_base_proves_and_permits(proof: str, adopted: tuple[str, ...]) -> None:
    before, digest, refused, permitted = PROOFS[proof]
    decided = keeping(FIRST + BEFORE + OLD_BODY)
    decided.hold("nlp", "llm", [NEW])
    data = {"nlp/llm.yaml": None if before is None else before.encode()}
    base = Base("main", "rendered", data.get, {("nlp", "llm"): digest} if digest else {}, adopted)
    errors, let_in = prove("rendered", decided.kept_files, {}, base)
    if permitted and adopted not in {(), ("jobs/**",)}:
        assert (errors, let_in) == ([], ["nlp/llm.yaml"])
    elif refused:
        (error,) = errors
        assert error.code == "KeptNotProven"
        assert f"and {refused} since main" in error.message
        assert ("adopted: [rendered/nlp/llm.yaml]" in error.hint) is permitted
    else:
        assert (errors, let_in) == ([], [])


def test_a_file_that_is_what_compiling_gives_needs_no_proof() -> None:
    decided = keeping(FIRST + BEFORE + NEW_BODY)
    decided.hold("nlp", "llm", [NEW])
    assert decided.kept_files == []


def test_the_line_is_read_as_it_is_written() -> None:
    assert str(BuildLine(DIGEST, "0.2.0", "2.3")) == NOW
