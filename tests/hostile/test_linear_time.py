"""Reading and patching take steps in proportion to what is read, counted and not timed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import run
from reading import read
from steps import SIZES, Counted, assert_linear, steps

from trainc.cli.command import Streams
from trainc.cli.main import main
from trainc.explain import placing, replay
from trainc.explain.model import ExplainedObject
from trainc.findings import Source
from trainc.ir.release import release_facts
from trainc.ir.trainjob import Patch, PatchedJob
from trainc.kube import strategic_merge
from trainc.kube.strategic_merge import PatchFailedError
from trainc.pipeline.patches import apply_patches
from trainc.project.overlays import apply
from trainc.reading import block_lines
from trainc.reading.ignores import ignores_of

JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a, namespace: b}
spec: {runtimeRef: {name: torch-distributed}}
"""
SHAPES: dict[str, Callable[[int], str]] = {
    "a mapping in one line": lambda n: "x: {" + ", ".join(f"a{i}: b" for i in range(n)) + "}\n",
    "a list in one line": lambda n: "x: [" + ",".join('"a"' for i in range(n)) + "]\n",
    "long texts in one line": lambda n: "x: [" + ", ".join(f'"{"x" * 95}"' for i in range(n)) + "]\n",
    "plain words in one line": lambda n: "x: [" + ", ".join("abc" for i in range(n)) + "]\n",
    "lists in a list in one line": lambda n: "x: [" + "[a], " * 40 + "b, " * n + "c]\n",
    "a mapping over many lines": lambda n: "x: {\n" + "".join(f"  a{i}: b,\n" for i in range(n)) + "}\n",
    "a block mapping": lambda n: "x:\n" + "".join(f"  a{i}: b\n" for i in range(n)),
    "a block list": lambda n: "x:\n" + "".join("- a\n" for i in range(n)),
    "quoted text": lambda n: 'x: "' + "a " * n + '"\n',
    "text with escapes": lambda n: 'x: "' + "\\n" * n + '"\n',
    "folded text": lambda n: "x: >\n" + "  a b c\n" * n,
    "literal text": lambda n: "x: |\n" + "  a b c\n" * n,
    "comments": lambda n: "x: a\n" + "# comment\n" * n,
    "blank lines": lambda n: "x: a\n" + "\n" * n + "y: b\n",
    "anchors and aliases": lambda n: "".join(f"a{i}: &a{i} b\nb{i}: *a{i}\n" for i in range(n)),
    "documents": lambda n: "x: a\n---\n" * n,
    "JSON": lambda n: '{"x": {' + ", ".join(f'"a{i}": "b"' for i in range(n)) + "}}\n",
    "JSON objects": lambda n: '{"x": "a"}\n' * n,
    "duplicate keys": lambda n: "".join("a: b\n" for i in range(n)),
    "tags that nobody knows": lambda n: "".join(f"a{i}: !x b\n" for i in range(n)),
}


@pytest.fixture(autouse=True)
def _counted_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_lines, "_Unread", type("_Unread", (Counted,), {"__slots__": ()}))
    monkeypatch.setattr(block_lines, "_parse_line_cached", block_lines._parse_line_cached.__wrapped__)


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_takes_steps_in_proportion(shape: str) -> None:
    read(SHAPES[shape](3))  # What is imported for the first document.
    assert_linear([steps(lambda n=n: read(SHAPES[shape](n))) for n in SIZES])  # type: ignore[misc]


@pytest.mark.parametrize("line", ["{LABELS}", "[LABELS]", "[{LABELS}]"])
def test_places_on_one_long_line_are_found_in_steps_in_proportion(line: str) -> None:
    def work(count: int) -> None:
        labels = ", ".join(f"k{i}: b" if "{" in line else f"k{i}" for i in range(count))
        (document,), _ = read(f"a:\n  b: {line.replace('LABELS', labels)}\n")
        inner = (0,) if line.startswith("[{") else ()
        found = [document.locate(("a", "b", *inner, f"k{i}" if "{" in line else i)) for i in range(count)]
        assert len({source.column for source in found if source}) == count

    assert_linear([steps(lambda n=n: work(n)) for n in (400, 800, 1_600)])  # type: ignore[misc]


def _strategic(number: int) -> str:
    return f"- target: {{kind: TrainJob}}\n  patch: {{metadata: {{annotations: {{a{number}: b}}}}}}\n"


def _operation(number: int) -> str:
    return f"- target: {{kind: TrainJob}}\n  patch: [{{op: add, path: /metadata/annotations/a{number}, value: b}}]\n"


OVERLAYS: dict[str, Callable[[int], str]] = {
    "strategic merge patches": lambda n: "patches:\n" + "".join(map(_strategic, range(n))),
    "JSON patches": lambda n: "patches:\n" + _strategic(n) + "".join(map(_operation, range(n))),
    "operations of one patch": lambda n: (
        "patches:\n" + _strategic(n) + "- target: {kind: TrainJob}\n  patch:\n"
        + "".join(f"  - {{op: add, path: /metadata/annotations/a{i}, value: b}}\n" for i in range(n))
    ),
    "annotations": lambda n: "commonAnnotations:\n" + "".join(f"  a{i}: b\n" for i in range(n)),
    "images": lambda n: "images:\n" + "".join(f"- {{name: a{i}, newTag: b}}\n" for i in range(n)),
}  # fmt: skip


@pytest.mark.parametrize("kind", OVERLAYS)
def test_patches_on_one_document_take_steps_in_proportion(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    Path("overlay").mkdir()

    def build(count: int) -> None:
        text = f"apiVersion: trainc/v1alpha1\nkind: Overlay\n{OVERLAYS[kind](count)}"
        Path("overlay/overlay.yaml").write_text(text, encoding="utf-8")
        reported = io.StringIO()
        words = ["build", "job.yaml", "--overlay", "overlay", "--release", "2.3"]
        assert main(words, Streams(io.BytesIO(), io.BytesIO(), reported)) == 0, reported.getvalue()

    # What is remembered of one input for the next is remembered before the first is counted.
    build(SIZES[-1])
    assert_linear([steps(lambda n=n: build(n)) for n in SIZES])  # type: ignore[misc]


def test_patches_that_name_their_documents_are_compared_with_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("overlay").mkdir()

    def check(count: int) -> None:
        jobs = (JOB.replace("name: a", f"name: a{i}") for i in range(count))
        Path("job.yaml").write_text("---\n".join(jobs), encoding="utf-8")
        patches = (_strategic(0).replace("kind: TrainJob", f"name: a{i}") for i in range(count))
        text = f"apiVersion: trainc/v1alpha1\nkind: Overlay\npatches:\n{''.join(patches)}"
        Path("overlay/overlay.yaml").write_text(text, encoding="utf-8")
        words = ["build", "job.yaml", "--overlay", "overlay", "--release", "2.3"]
        assert main(words, Streams(io.BytesIO(), io.BytesIO(), io.StringIO())) == 0

    check(SIZES[-1])
    assert_linear([steps(lambda n=n: check(n)) for n in SIZES], 20_000)  # type: ignore[misc]


@pytest.mark.parametrize("name", ["", ", name: a.*", ", name: '(a*){1000}b'"])
def test_patches_that_name_no_document_are_compared_so_often(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(apply, "_MOST_STEPS", 400)
    Path("overlay").mkdir()
    patches = "".join(_strategic(i).replace("TrainJob", f"TrainJob{name}") for i in range(21))
    text = f"apiVersion: trainc/v1alpha1\nkind: Overlay\npatches:\n{patches}"
    Path("overlay/overlay.yaml").write_text(text, encoding="utf-8")
    Path("job.yaml").write_text(
        "---\n".join(JOB.replace("name: a", f"name: a{i}") for i in range(21)), encoding="utf-8"
    )
    result = run("check", "job.yaml", "--overlay", "overlay", "--release", "2.3")
    assert (result.status, result.stderr.count("error[")) == (1, 1), result.stderr
    assert "21 patches without a name are compared with too many documents" in result.stderr


@pytest.mark.parametrize("command", ["build", "explain"])
def test_overrides_of_pods_take_steps_in_proportion(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of which a TrainJob of 2.1 has any number for one replicated job."""
    monkeypatch.chdir(tmp_path)

    def work(count: int) -> None:
        each = (f"  - {{targetJobs: [{{name: node}}], spec: {{nodeSelector: {{a{i}: b}}}}}}\n" for i in range(count))
        text = JOB.replace("spec: {", "spec:\n  ").replace("}}", "}") + f"  podTemplateOverrides:\n{''.join(each)}"
        Path("job.yaml").write_text(text, encoding="utf-8")
        reported = io.StringIO()
        words = [command, "job.yaml", "--release", "2.1"]
        assert main(words, Streams(io.BytesIO(), io.BytesIO(), reported)) == 0, reported.getvalue()

    monkeypatch.setattr(replay, "_MOST_STEPS", 4)
    work(3)
    assert_linear([steps(lambda n=n: work(n)) for n in (60, 120, 240)], 10_000)  # type: ignore[misc]


def test_so_many_patches_merge_into_a_long_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategic_merge, "_MOST_ITEMS", 3_000)
    volumes = ({"spec": {"volumes": [{"name": f"a{i}"}]}} for i in range(200))
    patches = tuple(Patch(None, (PatchedJob("node", template, (), ()),), ()) for template in volumes)
    runtime, release = {"replicatedJobs": [{"name": "node", "template": {"spec": {}}}]}, release_facts("2.1")
    with pytest.raises(PatchFailedError, match="too many patches merge into this list"):
        apply_patches(runtime, patches, release)
    assert (
        len(apply_patches(runtime, patches[:100], release)["replicatedJobs"][0]["template"]["spec"]["volumes"]) == 100
    )


def test_comments_that_ignore_nothing_take_steps_in_proportion() -> None:
    def count(number: int) -> int:
        text = "x: a\n" + "# trainc: ignore[UnknownField] no line follows\n" * number
        return steps(lambda: list(ignores_of(text, "a.yaml")))

    count(SIZES[-1])
    assert_linear([count(number) for number in SIZES])


def test_the_fields_of_an_object_are_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many findings are about it."""
    monkeypatch.chdir(tmp_path)
    searched: list[str] = []
    search = placing._sources_by_path

    def count(item: ExplainedObject) -> Mapping[Any, Source | None]:
        searched.append(str(item.name))
        return search(item)

    monkeypatch.setattr(placing, "_sources_by_path", count)
    labels = "".join(f"    k{i}: 'a b'\n" for i in range(20))
    text = JOB.replace("spec: {", f"spec:\n  labels:\n{labels}  ").replace("}}", "}")
    Path("job.yaml").write_text(text, encoding="utf-8")
    reported = io.StringIO()
    assert main(["check", "job.yaml", "--release", "2.1"], Streams(io.BytesIO(), io.BytesIO(), reported)) == 1
    assert reported.getvalue().count("error[") > 10
    assert len(searched) == len(set(searched)) > 0


def test_each_of_many_findings_asks_for_its_own_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Volumes that nothing mounts, and variables that a shell would have to expand."""
    from growing import JOB, RUNTIME, _placed

    monkeypatch.chdir(tmp_path)
    pod = ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template", "spec")

    def work(n: int) -> None:
        env = [{"name": f"A{i}", "value": f"$(hostname)/{i}"} for i in range(n)]
        job = _placed(JOB, ("spec", "trainer", "env"), env)
        volumes = [{"name": f"a{i}", "emptyDir": {}} for i in range(n)]
        runtime = _placed(_placed(RUNTIME, (*pod, "volumes"), volumes), (*pod, "containers", 0, "env"), env)
        (tmp_path / "job.yaml").write_text(f"{json.dumps(job)}\n---\n{json.dumps(runtime)}", encoding="utf-8")
        main(["check", "job.yaml", "--release", "2.3"], Streams(io.BytesIO(), io.BytesIO(), io.StringIO()))

    found = []
    for n in (150, 300, 600):
        work(n)
        found.append(steps(lambda n=n: work(n)))  # type: ignore[misc]
    assert_linear(found, 20_000)
