"""What a notebook shows: well-formed, escaped, with the picture, the size, the hints and the YAML; and what text shows."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from trainc import Compilation, CompileError, Diagnostic, Options, admit, catalog, compile_trainjob
from trainc.compilation import CompiledJob
from trainc.features.authoring.notebook import views
from trainc.functions import compile_documents
from trainc.reading.document import Document

JOB: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "llm", "namespace": "team-a"},
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {
            "numNodes": 4,
            "command": ["torchrun", "train.py", "--out=$OUTPUT"],
            "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}},
        },
    },
}
OPTIONS = Options(release="2.3")
HOSTILE = "</pre><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\x07\u202e"
ALLOWED = {"div", "b", "br", "details", "img", "li", "p", "pre", "span", "summary", "ul"}


def compiled(**trainer: Any) -> Compilation:
    job = copy.deepcopy(JOB)
    job["spec"]["trainer"] |= trainer
    return compile_trainjob(job, catalog("2.3"), OPTIONS)


def refused(**trainer: Any) -> CompileError:
    with pytest.raises(CompileError) as error:
        compiled(**trainer)
    return error.value


def html_of(shown: Any) -> str:
    """Its HTML, which is well-formed and holds nothing that a page would obey."""
    html: str = shown._repr_html_()
    for element in ET.fromstring(html).iter():
        assert element.tag in ALLOWED
        assert not any(name.startswith("on") for name in element.attrib)
        assert set(element.attrib) <= {"style", "alt", "src", "title"}
        assert element.attrib.get("src", "data:image/svg+xml;base64,").startswith("data:image/svg+xml;base64,")
    return html


def text_of(html: str) -> str:
    return "".join(ET.fromstring(html).itertext())


def images(html: str) -> Iterator[str]:
    for found in re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html):
        yield b64decode(found).decode()


def test_a_compilation_has_its_size_picture_warnings_and_yaml() -> None:
    pytest.importorskip("svg", reason="the extra `graph` is not installed")
    html = html_of(compiled())
    shown = text_of(html)
    assert "team-a/llm: 4 pods x 8 GPUs, torchrun, 8 processes per pod, 32 ranks" in shown
    assert "UnexpandedShellVariable" in shown
    assert "help: write $(OUTPUT)" in shown
    (details,) = ET.fromstring(html).iter("details")
    assert details.get("open") is None
    assert "kind: JobSet" in "".join(details.itertext())
    (picture,) = images(html)
    assert "JobSet team-a/llm" in picture
    assert ET.fromstring(picture).tag.endswith("svg")


def test_a_bundle_has_the_same_as_text() -> None:
    bundle = compiled()._repr_mimebundle_(include=None, exclude=None)
    assert bundle["text/html"] == compiled()._repr_html_()
    assert bundle["text/plain"].splitlines()[:2] == [
        "team-a/llm: 4 pods x 8 GPUs, torchrun, 8 processes per pod, 32 ranks, rendezvous at llm-node-0-0.llm:29500",
        "1 warning, 1 info",
    ]


def test_an_error_has_every_problem_with_its_hint() -> None:
    error = refused(numNode=2, image=7)
    shown = text_of(html_of(error))
    for text in (shown, str(error), error._repr_mimebundle_()["text/plain"]):
        assert "did you mean numNodes?" in text
        assert "spec.trainer.image" in text
    assert "refused: 2 errors" in shown
    assert shown.index("UnknownField") > 0


@pytest.mark.parametrize("field", ["command", "args", "env", "image"])
def test_hostile_texts_are_shown_and_not_obeyed(field: str) -> None:
    value = {"command": [HOSTILE], "args": [HOSTILE], "env": [{"name": "A", "value": HOSTILE}], "image": "x"}[field]
    try:
        shown: Any = compiled(**{field: value})
    except CompileError as error:
        shown = error
    html = html_of(shown)
    assert "<script" not in html
    assert "\x07" not in html
    assert "\u202e" not in html


def test_hostile_diagnostics_and_names_are_shown_and_not_obeyed() -> None:
    found = Diagnostic("X", "error", HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    assert "<script" not in html_of(CompileError([found]))
    manifest = {
        "kind": "JobSet",
        "metadata": {"name": HOSTILE},
        "spec": {"replicatedJobs": [{"name": HOSTILE, "template": {}}]},
    }
    compilation = Compilation((CompiledJob(HOSTILE, HOSTILE, (manifest,)),), [found])
    assert "<script" not in html_of(compilation)
    html_of(compilation.graph())
    assert all("<script" not in picture for picture in images(html_of(compilation)))


def test_without_the_extra_the_picture_is_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "svg", None)
    monkeypatch.delitem(sys.modules, "trainc.features.authoring.graph.drawing", raising=False)
    shown = text_of(html_of(compiled().graph()))
    assert "└─ node  4 pods" in shown


def test_of_many_jobs_the_first_are_shown() -> None:
    jobs = [
        {**JOB, "metadata": {"name": f"job-{number:02}", "namespace": "a"}} for number in range(views._MOST_JOBS + 3)
    ]
    documents = [Document.of(data) for data in (*catalog("2.3"), *jobs)]
    compilation = compile_documents(documents, (), OPTIONS)
    assert "and 3 more jobs" in text_of(html_of(compilation))
    assert "job-22" in compilation._repr_mimebundle_()["text/plain"]


def test_a_graph_is_a_tree_where_it_is_printed() -> None:
    graph = compiled().graph()
    assert str(graph) == repr(graph)
    assert "JobSet team-a/llm  4 pods, 32 GPUs" in str(graph)


def test_a_field_is_explained_as_the_command_explains_it() -> None:
    view = compiled().explain("parallelism")
    assert "from TrainJob team-a/llm spec.trainer.numNodes = 4" in str(view)
    assert "plugin Torch" in text_of(html_of(view))
    assert "spec.replicatedJobs[node]" in str(compiled().explain())


@pytest.mark.parametrize(
    ("field", "job", "message"),
    [
        ("paralelism", None, "did you mean"),
        ("spec.trainer.numNodes", None, "this input sets"),
        ("a[b", None, "cannot parse"),
        ("parallelism", "other", "there is no job other; choose one of team-a/llm"),
    ],
)
def test_what_cannot_be_explained_says_why(field: str, job: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        compiled().explain(field, job=job)


def test_of_several_jobs_one_is_named() -> None:
    jobs = [{**JOB, "metadata": {"name": name, "namespace": "a"}} for name in ("one", "two")]
    compilation = compile_documents([Document.of(data) for data in (*catalog("2.3"), *jobs)], (), OPTIONS)
    with pytest.raises(ValueError, match="there are several jobs; choose one of a/one, a/two"):
        compilation.explain("parallelism")
    assert "TrainJob a/two" in str(compilation.explain("parallelism", job="two"))


def test_what_was_in_another_process_shows_itself_and_explains_nothing() -> None:
    again = pickle.loads(pickle.dumps(compiled()))
    assert again == compiled()
    assert again._repr_html_() == compiled()._repr_html_()
    with pytest.raises(ValueError, match="not compiled from TrainJobs in this process"):
        again.explain("parallelism")
    with pytest.raises(ValueError, match="not compiled from TrainJobs"):
        admit(compiled().manifests[0], OPTIONS).explain("parallelism")


def test_a_difference_says_what_the_cluster_does() -> None:
    view = compiled().diff(compiled(numNodes=8))
    assert "~ parallelism: 4 → 8" in text_of(html_of(view))
    assert "no changes" in str(compiled().diff(compiled()))


def test_methods_say_what_they_take() -> None:
    assert str(inspect.signature(Compilation.explain)) == (
        "(self, field: 'str | None' = None, *, job: 'str | None' = None) -> 'View'"
    )
    for method in (Compilation.graph, Compilation.explain, Compilation.diff):
        assert (inspect.getdoc(method) or "").endswith(".")


def test_none_of_it_costs_anything_before_it_is_looked_at() -> None:
    program = (
        "import sys, trainc; trainc.Compilation((), []); trainc.CompileError([]);"
        "print([m for m in sys.modules if m in ('html', 'base64', 'svg') or m.startswith('trainc.features.authoring.notebook')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
