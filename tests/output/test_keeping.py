"""Which rendered files are kept, with what second line, and what a base revision proves, as a function of texts."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from trainc.emit.yaml_writer import dump_yaml
from trainc.output.choices import Choices
from trainc.output.keeping import Base, BuildLine, Keeping, digest_of, prove
from trainc.output.ownership import first_line

FIRST = first_line("jobs/llm.yaml")
JOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "llm"}, "spec": {"a": 1}}
DIGEST, OTHER = digest_of(JOB), "2:0123456789ab"
KEY = ("nlp", "llm")
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
OF_FORM_1 = NOW.replace("2:", "").replace("0.2.0", "0.1.0")
OF_OTHER = f"# Built from TrainJob {OTHER} by trainc 0.1.0 for Trainer 2.2.\n"


def keeping(
    file: str | None, *, rebuild: str = "", keep: str = "", trainjobs: Any = None, base: Base | None = None
) -> Keeping:
    choices = Choices(tuple(filter(None, [rebuild])), tuple(filter(None, [keep])))
    known = {KEY: JOB} if trainjobs is None else trainjobs
    return Keeping("rendered", known, "0.2.0", "2.3", {"nlp/llm.yaml": file}.get, lambda: base, choices=choices)


def at_base(
    text: str | None, trainjob: Any = None, history: tuple[str, ...] = (), adopted: tuple[str, ...] = ()
) -> Base:
    data = {"nlp/llm.yaml": None if text is None else text.encode()}
    known = {} if trainjob is None else {KEY: trainjob}
    return Base(
        "main", "rendered", data.get, lambda: known, lambda _: [("0123456789", text) for text in history], adopted
    )


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
    assert keeping(FIRST + BEFORE + OLD_BODY, trainjobs={}).hold("nlp", "llm", [NEW]) is None


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


LABELED = {**JOB, "metadata": {"name": "llm", "labels": {"a": "b"}}}
QUEUED = {**JOB, "metadata": {"name": "llm", "labels": {"kueue.x-k8s.io/queue-name": "b"}}}
LONGER = {**JOB, "spec": {"a": 1, "b": 2}}
METADATA = {"name": "llm", "namespace": "nlp"}
NEW_LABELED, OLD_LABELED = ({**one, "metadata": {**METADATA, "labels": {"a": "b"}}} for one in (NEW, OLD))
OF_LABELED = NOW.replace(DIGEST, digest_of(LABELED)).replace("0.2.0", "0.1.0").replace("2.3", "2.2")


class Changed(NamedTuple):
    """What a build gives for a TrainJob that is not that of the file, which is the base's, built from `was`."""

    trainjob: Any
    was: Any
    text: str
    compiled: Any = NEW
    history: tuple[str, ...] = ()
    file: str | None = FIRST + OF_OTHER + OLD_BODY
    standing: str = "compiled"


LINE = {name: NOW.replace(DIGEST, digest_of(one)) for name, one in {"queued": QUEUED, "longer": LONGER}.items()}
CHANGED = {
    "a label, in place": Changed(
        LABELED, JOB, OF_LABELED + dump_yaml([OLD_LABELED]), compiled=NEW_LABELED, standing="in place"
    ),
    "the queue is no label": Changed(QUEUED, JOB, LINE["queued"] + NEW_BODY),
    "anything else": Changed(LONGER, JOB, LINE["longer"] + NEW_BODY),
    "what history had": Changed(
        JOB,
        LONGER,
        BEFORE + OLD_BODY,
        history=(FIRST + OF_OTHER + NEW_BODY, FIRST + BEFORE + OLD_BODY),
        standing="back",
    ),
    "the latest of what history had": Changed(
        JOB, LONGER, BEFORE + NEW_BODY, history=(FIRST + BEFORE + NEW_BODY, FIRST + BEFORE + OLD_BODY), standing="back"
    ),
    "in place rather than back": Changed(
        JOB, LABELED, BEFORE + OLD_BODY, history=(FIRST + BEFORE + NEW_BODY,), standing="in place"
    ),
    "what history had by hand": Changed(JOB, LONGER, NOW + NEW_BODY, history=(BEFORE + OLD_BODY,)),
    "a job that returns": Changed(
        JOB, None, BEFORE + OLD_BODY, history=(FIRST + BEFORE + OLD_BODY,), file=None, standing="back"
    ),
    "a digest of another form, of the same TrainJob": Changed(
        JOB, JOB, OF_FORM_1 + OLD_BODY, file=FIRST + OF_FORM_1 + OLD_BODY, standing="kept"
    ),
    "a digest of another form, of another TrainJob": Changed(
        JOB, LONGER, NOW + NEW_BODY, file=FIRST + OF_FORM_1 + OLD_BODY
    ),
    "a digest of a later form": Changed(
        JOB,
        JOB,
        OF_OTHER.replace("2:", "3:") + OLD_BODY,
        file=FIRST + OF_OTHER.replace("2:", "3:") + OLD_BODY,
        standing="kept",
    ),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_a_build_writes_where_it_knows_the_base(case: str) -> None:
    trainjob, was, text, compiled, history, file, standing = CHANGED[case]
    base = at_base(file, was, history)
    decided = keeping(file, trainjobs={KEY: trainjob}, base=base)
    decided.hold("nlp", "llm", [compiled])
    rendered = decided.rendered[KEY]
    assert (rendered.text, rendered.standing) == (text, standing)
    # What a build writes, another leaves as it is and a check accepts.
    again = keeping(FIRST + text, trainjobs={KEY: trainjob}, base=base)
    again.hold("nlp", "llm", [compiled])
    assert again.rendered[KEY].text == text
    assert prove(again, "rendered", {}, base) == ([], [])


def test_a_changed_trainjob_cannot_be_kept() -> None:
    for file, was in ((FIRST + OF_OTHER + OLD_BODY, LONGER), (FIRST + OLD_BODY, LONGER)):
        decided = keeping(file, keep="all", base=at_base(file, was))
        decided.hold("nlp", "llm", [NEW])
        assert [d.code for d in decided.diagnostics()] == ["KeepOrRebuild"]


class Proof(NamedTuple):
    """What the base has, its TrainJob, and why a kept file is refused; empty if it is not."""

    before: str | None
    trainjob: Any
    refused: str
    permitted: bool = False
    help: str = ""


ELSEWHERE = first_line("jobs/moved.yaml")
PROOFS = {
    "the same file": Proof(FIRST + BEFORE + OLD_BODY, JOB, ""),
    "a moved source": Proof(ELSEWHERE + BEFORE + OLD_BODY, JOB, ""),
    "another TrainJob": Proof(FIRST + BEFORE + OLD_BODY, LONGER, "its TrainJob has changed", permitted=True),
    "no TrainJob": Proof(FIRST + BEFORE + OLD_BODY, None, "its TrainJob has changed", permitted=True),
    "another body": Proof(FIRST + BEFORE + NEW_BODY, JOB, "this file was changed by hand"),
    "a shorter body": Proof(FIRST + BEFORE + OLD_BODY[:-5], JOB, "this file was changed by hand"),
    "a longer body": Proof(FIRST + BEFORE + "a: 1\n" + OLD_BODY, JOB, "this file was changed by hand"),
    "another second line": Proof(FIRST + OF_OTHER + OLD_BODY, JOB, "the file has changed", permitted=True),
    "the line of another trainc": Proof(
        FIRST + NOW + NEW_BODY, JOB, "the file has changed", False, "built by trainc 0.1.0, and this is 0.2.0"
    ),
    "no second line": Proof(FIRST + OLD_BODY, JOB, "the file has changed", permitted=True),
    "a file of somebody else's": Proof(f"# x\n{BEFORE}{OLD_BODY}", JOB, "the file has changed"),
    "no file": Proof(None, JOB, "the file is new", permitted=True),
}


@pytest.mark.parametrize("proof", PROOFS)
@pytest.mark.parametrize("adopted", [(), ("rendered/nlp/llm.yaml",), ("rendered/**",), ("llm.yaml",), ("jobs/**",)])
def test_what_a_base_proves_and_permits(proof: str, adopted: tuple[str, ...]) -> None:
    before, trainjob, refused, permitted, help_ = PROOFS[proof]
    base = at_base(before, trainjob, adopted=adopted)
    decided = keeping(FIRST + BEFORE + OLD_BODY, base=base)
    decided.hold("nlp", "llm", [NEW])
    errors, let_in = prove(decided, "rendered", {}, base)
    if permitted and adopted not in {(), ("jobs/**",)}:
        assert (errors, let_in) == ([], ["nlp/llm.yaml"])
    elif refused:
        (error,) = errors
        assert error.code == "KeptNotProven"
        assert f"{refused} since main" in error.message
        assert help_ in error.hint
        assert ("adopted: [rendered/nlp/llm.yaml]" in error.hint) is permitted
    else:
        assert (errors, let_in) == ([], [])


def test_a_file_that_is_what_compiling_gives_needs_no_proof() -> None:
    decided = keeping(FIRST + BEFORE + NEW_BODY)
    decided.hold("nlp", "llm", [NEW])
    assert decided.kept_files == []


def test_the_line_is_read_as_it_is_written() -> None:
    assert str(BuildLine(DIGEST, "0.2.0", "2.3")) == NOW
