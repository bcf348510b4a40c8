"""Inputs as sets of manifests: what is compiled, what is taken as it is, and that no input is too odd to be judged."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import pytest
from builders import runtime, trainjob
from comparing import bent, diff_markdown, diff_of, jobset, manifests
from hypothesis import given, settings, strategies as st

from trainc import CompileError, Diagnostic, Options, Source
from trainc.features.gitops.diff.sides import read_manifests, with_runtime
from trainc.features.gitops.diff.text import diff_json, diff_text
from trainc.pipeline.compiler import SILENT, Result, Trace, compile_job
from trainc.pipeline.inputs import Inputs
from trainc.pipeline.session import Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.reading.document import Document
from trainc.startup.records import replace

Json = dict[str, Any]
OPTIONS = Options(release="2.3")
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "team-a"}, "data": {"a": "b"}}


def inputs(*documents: Json) -> Inputs:
    return Inputs([Document.of(document) for document in documents], [], [])


def kinds(*documents: Json) -> list[str]:
    return [manifest["kind"] for manifest in read_manifests(inputs(*documents), OPTIONS).manifests]


def test_sources_are_compiled_and_what_is_next_to_them_is_not_compared() -> None:
    found = read_manifests(inputs(trainjob(), runtime(), CONFIG), OPTIONS)
    assert found.compiled
    assert [manifest["kind"] for manifest in found.manifests] == ["JobSet"]


def test_output_is_taken_as_it_is_without_strangers() -> None:
    stranger = {**CONFIG, "kind": "Deployment"}
    assert kinds(*manifests(), CONFIG, stranger) == ["PodGroup", "JobSet", "ConfigMap"]


def test_nothing_is_an_empty_set() -> None:
    assert kinds() == []
    assert kinds(runtime()) == []


def test_objects_without_a_name_are_no_objects() -> None:
    assert kinds({**CONFIG, "metadata": {}}, {**CONFIG, "metadata": None}, {**CONFIG, "apiVersion": 1}) == []


BROKEN = {
    "another version": ({"apiVersion": "jobset.x-k8s.io/v1"}, "NotAJobSet"),
    "a field of another type": ({"spec": {"replicatedJobs": "none"}}, "WrongType"),
}


@pytest.mark.parametrize(("fields", "code"), BROKEN.values(), ids=BROKEN)
def test_a_jobset_that_cannot_be_judged_is_refused(fields: Json, code: str) -> None:
    with pytest.raises(CompileError) as refused:
        kinds({**jobset(), **fields})
    assert [d.code for d in refused.value.diagnostics] == [code]
    assert refused.value.diagnostics[0].object == "JobSet team-a/llm"


def test_annotations_that_are_none_are_refused() -> None:
    with pytest.raises(CompileError, match="annotations must be a mapping"):
        kinds({**CONFIG, "metadata": {"name": "c", "annotations": ["a"]}})


def test_a_field_that_the_release_does_not_know_is_not_an_obstacle() -> None:
    assert kinds(bent(jobset(), lambda m: m["spec"].update(fromTheFuture=1))) == ["JobSet"]


def test_a_runtime_is_replaced_wherever_it_comes_from_and_no_other() -> None:
    given = Inputs(
        [Document.of(trainjob()), Document.of(runtime(name="other"))],
        [[Document.of(runtime()), Document.of(CONFIG)]],
        [],
    )
    changed = with_runtime(given, "rt", Document.of(runtime(name="new", policy={"numNodes": 7})))
    assert [d.data["metadata"]["name"] for d in changed.documents] == ["llm", "other", "rt"]
    assert [[d.data["kind"] for d in source] for source in changed.runtime_sources] == [["ConfigMap"]]
    (made,) = read_manifests(changed, OPTIONS).manifests
    assert made["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 7


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, "", "x", "1e99", [], {}, [None], [[]], [{}], {"a": None}, {"name": 1}, [{"name": "x"}] * 2]
)


def everywhere(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, inner in inside for found in everywhere(inner, (*path, key)))]


def spoilt(manifest: Json, path: tuple[Any, ...], junk: Any) -> Json:
    changed = copy.deepcopy(manifest)
    owner: Any = changed
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = junk
    return changed


WHOLE = [*manifests(), CONFIG]
PLACES = [(i, path) for i, manifest in enumerate(WHOLE) for path in everywhere(manifest) if path]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=2), st.booleans())
def test_whatever_is_in_a_manifest_it_is_compared_or_refused(
    wounds: list[tuple[tuple[int, tuple[Any, ...]], Any]], backwards: bool
) -> None:
    after = list(WHOLE)
    for (number, path), junk in wounds:
        if path in everywhere(after[number]):
            after[number] = spoilt(after[number], path, junk)
    try:
        found = read_manifests(inputs(*after), OPTIONS).manifests
    except CompileError:
        return
    sides = (found, WHOLE) if backwards else (WHOLE, found)
    diff = diff_of(*sides)
    assert diff_json(diff).endswith("}\n")
    assert diff_markdown(diff)
    assert diff_text(diff, lambda _, text: text)


# What two sets have in common, because their documents share their data, is worked out once.


TRAINER = {"numNodes": 2, "command": ["python", "train.py"]}
OTHER_DOCUMENTS: dict[str, tuple[list[Json], Options]] = {
    "nothing": ([], OPTIONS),
    "other options": ([], Options(release="2.2")),
    "another document beside": ([CONFIG], OPTIONS),
}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the jobs that are compiled, one by one."""
    names: list[str] = []

    def counting(document: ValidDocument, session: Session, trace: Trace = SILENT) -> Result:
        names.append(document.key[1])
        return compile_job(document, session, trace)

    monkeypatch.setattr("trainc.pipeline.session.compile_job", counting)
    return names


@pytest.mark.parametrize(("beside", "options"), OTHER_DOCUMENTS.values(), ids=OTHER_DOCUMENTS)
def test_a_job_that_both_sets_have_is_compiled_once_unless_something_else_differs(
    compiled: list[str], beside: list[Json], options: Options
) -> None:
    shared, was, becomes, torch = trainjob(name="a"), trainjob(name="b"), trainjob(TRAINER, name="b"), runtime()
    before = read_manifests(inputs(shared, was, torch), OPTIONS)
    after = read_manifests(inputs(shared, becomes, torch, *beside), options, other=before)
    assert compiled == ["a", "b", "b"] if (beside, options) == ([], OPTIONS) else ["a", "b", "a", "b"]
    assert after.manifests == read_manifests(inputs(shared, becomes, torch, *beside), options).manifests
    assert after.manifests[0] == before.manifests[0] if options == OPTIONS else after.manifests != before.manifests


def test_another_runtime_makes_another_job(compiled: list[str]) -> None:
    shared = trainjob()
    before = read_manifests(inputs(shared, runtime()), OPTIONS)
    read_manifests(inputs(shared, runtime()), OPTIONS, other=before)
    assert len(compiled) == 2


def test_each_set_has_the_severities_of_its_own_settings_and_the_places_of_its_own_documents() -> None:
    def strict(diagnostics: Iterable[Diagnostic], _: bool) -> list[Diagnostic]:
        return [replace(diagnostic, severity="error") for diagnostic in diagnostics]

    def placed(file: str) -> Inputs:
        return Inputs([Document(one, file, lambda _: Source(file, 1, 1)) for one in documents], [], [])

    documents = [trainjob(TRAINER), runtime(policy={"numNodes": 2, "torch": {}})]
    before = read_manifests(placed("old.yaml"), OPTIONS)
    after = read_manifests(placed("new.yaml"), OPTIONS, other=before)
    assert {d.source.file for d in before.diagnostics if d.source} == {"old.yaml"}
    assert after.diagnostics == read_manifests(placed("new.yaml"), OPTIONS).diagnostics
    with pytest.raises(CompileError) as alone:
        read_manifests(placed("new.yaml"), OPTIONS, strict)
    with pytest.raises(CompileError) as again:
        read_manifests(placed("new.yaml"), OPTIONS, strict, other=before)
    assert again.value.diagnostics == alone.value.diagnostics
