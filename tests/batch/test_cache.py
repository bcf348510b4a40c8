"""The cache: with it, whatever happened to the input, the options and the cache itself, a build is what it is without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import Result, run
from hypothesis import given, settings
from hypothesis import strategies as st

from trainc.batch import context, identity

pytestmark = pytest.mark.slow

API = "trainer.kubeflow.org/v1alpha1"
JOB = """{lines}apiVersion: {api}
kind: TrainJob
metadata:
  name: {name}
  namespace: team-a
spec:
  runtimeRef: {{name: {runtime}}}
  trainer:
    image: example.com/train:1
    numNodes: {nodes}
    {extra}
"""
RUNTIME = """apiVersion: {api}
kind: ClusterTrainingRuntime
metadata: {{name: {name}, labels: {{trainer.kubeflow.org/support: {support}}}}}
spec:
  mlPolicy: {{numNodes: 1, torch: {{}}}}
  template:
    spec:
      {network}
      replicatedJobs:
      - name: node
        template:
          spec: {{template: {{spec: {{containers: [{{name: node, image: {image}}}]}}}}}}
"""
OVERLAY = """apiVersion: trainc/v1alpha1
kind: Overlay
images: [{{name: example.com/train, newTag: "{tag}"}}]
labels: [{{pairs: {{stage: prod}}}}]
values: {{nodes: {tag}}}
patches:
- target: {{kind: {kind}, name: {target}}}
  patch: {{metadata: {{annotations: {{note: "{tag}"}}}}}}
"""
# What it lists is read for it, and is no job file, though it may lie among the input.
BRINGING = """apiVersion: trainc/v1alpha1
kind: Overlay
resources: [../jobs/a.yaml]
nameSuffix: -x
"""
ODD = [
    "kind: TrainJob\n- a\n",  # no YAML
    'kind: TrainJob\n---\n{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}}\n',
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
    f"{{apiVersion: {API}, kind: TrainJob, metadata: {{name: flow}}, spec: {{runtimeRef: {{name: rt}}}}}}\n",
    f"apiVersion: {API}\nkind: TrainJob\nmetadata: {{name: a b}}\nspec: {{}}\n",
    "",
]
FLAGS = [
    [],
    ["--release", "2.1"],
    ["--release", "2.3", "--namespace", "team-b"],
    ["--release", "2.3", "--format", "json"],
    ["--release", "2.2", "--semantics", "controller"],
    ["--release", "2.3", "--name-hash"],
    ["--release", "2.3", "--overlay", "overlay"],
    ["--release", "2.3", "--overlay", "overlay", "--overlay", "bringing"],
    ["--release", "2.3", "--max-documents", "3"],
    ["--release", "2.3", "--runtimes", "more"],
]


def jobs(*names: str) -> st.SearchStrategy[str]:
    """TrainJobs, most of them right; a mistake comes last, where hypothesis shrinks to it last."""
    return st.builds(
        lambda **fields: JOB.format(api=API, **fields),
        lines=st.sampled_from(["", "# moved\n", "# moved\n# twice\n\n"]),
        name=st.sampled_from(names * 4 + ("a",)),
        runtime=st.sampled_from(["torch-distributed", "rt", "rt", "rt"] * 3 + ["nothing"]),
        nodes=st.sampled_from([1, 2]),
        extra=st.sampled_from(["", "", "command: [echo, $(WHO)]"] * 4 + ["numNode: 3"]),
    )


runtimes = st.builds(
    lambda **fields: RUNTIME.format(api=API, **fields),
    name=st.sampled_from(["rt", "rt", "rt", "torch-distributed"]),
    support=st.sampled_from(["deprecated", "stable"]),
    network=st.sampled_from(["network: {subdomain: one}", "network: {}"]),
    image=st.sampled_from(["example.com/runtime:1", "example.com/train:2"]),
)
overlays = st.builds(
    OVERLAY.format,
    tag=st.integers(1, 2),
    kind=st.just("TrainJob"),
    target=st.sampled_from(["a", "a|b", ".*", "nobody"]),
)
template = st.just(JOB.format(api=API, lines="", name="t", runtime="rt", nodes="{{ nodes }}", extra=""))
texts = {
    "jobs/a.yaml": jobs("a"),
    "jobs/b.yaml": jobs("b"),
    "jobs/d.yaml": st.tuples(jobs("d"), jobs("e")).map("---\n".join),
    "jobs/f.yaml": st.one_of(jobs("f"), st.tuples(runtimes, jobs("f")).map("---\n".join), st.sampled_from(ODD)),
    "jobs/rt.yaml": runtimes,
    "jobs/t.yaml.j2": template,
    "more/rt.yaml": runtimes,
    "overlay/overlay.yaml": overlays,
}
writes = st.one_of(*(st.tuples(st.just(path), text) for path, text in texts.items()))
removals = st.tuples(st.sampled_from([path for path in texts if "overlay" not in path]), st.none())
# Where to damage a pack, counted from its end, and with what: bytes, or nothing where it is to end there.
places = st.sampled_from([0, 1, 60, 500, 1500, 2500, 4000, 6000, 9000])
damages = st.tuples(st.just("cache"), st.tuples(places, st.one_of(st.binary(min_size=1, max_size=300), st.none())))
flags = st.tuples(st.just("flags"), st.sampled_from(FLAGS))


def damage(folder: Path, at: int, data: bytes | None) -> None:
    for pack in folder.glob("*.pack"):
        size = pack.stat().st_size
        with pack.open("r+b") as stream:
            stream.seek(max(0, size - at))
            if data is None:
                stream.truncate()
            else:
                stream.write(data)


@pytest.fixture
def as_one_trainc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare hundreds of builds the reading of trainc's own files; identity has tests of its own."""
    monkeypatch.setattr(identity, "trainc_digest", lambda _: b"trainc")


def begin() -> None:
    """Two jobs that are fine, one that warns, one runtime."""
    fields = {"api": API, "lines": "", "nodes": 1, "extra": ""}
    for name, runtime in (("a", "torch-distributed"), ("b", "rt"), ("c", "rt")):
        Path("jobs", f"{name}.yaml").write_text(JOB.format(name=name, runtime=runtime, **fields))
    text = RUNTIME.format(api=API, name="rt", support="deprecated", network="network: {subdomain: one}", image="x:1")
    Path("jobs", "rt.yaml").write_text(text)


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the folder `jobs` that every test begins with."""
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    begin()
    return tmp_path


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def cached(*words: str) -> Result:
    """A build with a cache, less the one line that may say that it was not used."""
    result = run("build", "jobs", "-v", *words, "--cache", "cache")
    lines = result.stderr.splitlines(keepends=True)
    return replace(result, stderr="".join(line for line in lines if not line.startswith("compiled in one process: ")))


@pytest.mark.usefixtures("as_one_trainc")
@settings(max_examples=25)
@given(steps=st.lists(st.one_of(writes, writes, removals, damages, flags), min_size=1, max_size=7))
def test_with_a_cache_is_as_without(steps: list[tuple[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, words, here = tmp_path_factory.mktemp("input"), ["--release", "2.3"], Path.cwd()
    os.chdir(folder)
    try:
        for path in ("jobs", "more", "overlay", "bringing"):
            Path(path).mkdir()
        Path("overlay/overlay.yaml").write_text("apiVersion: trainc/v1alpha1\nkind: Overlay\n")
        Path("bringing/overlay.yaml").write_text(BRINGING)
        begin()
        for what, value in steps:
            if what == "flags":
                words = value
            elif what == "cache":
                damage(Path("cache"), *value)
            elif value is None:
                Path(what).unlink(missing_ok=True)
            else:
                Path(what).write_text(value)
            expected = run("build", "jobs", "-v", *words)
            assert cached(*words) == expected
            assert cached(*words) == expected
    finally:
        os.chdir(here)
        shutil.rmtree(folder)


@pytest.fixture
def compiled_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The job files that builds compile, rather than find in a cache."""
    files: list[str] = []
    original = context.Context.compile_file

    def compile_file(self: context.Context, file: str, data: bytes) -> Any:
        files.append(file)
        return original(self, file, data)

    monkeypatch.setattr(context.Context, "compile_file", compile_file)
    return files


@pytest.mark.usefixtures("begun", "as_one_trainc")
def test_only_what_has_changed_is_compiled(begun: Path, compiled_files: list[str]) -> None:
    words = ("build", "jobs", "--release", "2.3", "--cache", "cache")
    first = run(*words)
    assert first.status == 0
    assert compiled_files == ["jobs/a.yaml", "jobs/b.yaml", "jobs/c.yaml"]
    del compiled_files[:]
    assert run(*words) == first
    assert compiled_files == []
    changed(begun / "jobs" / "b.yaml", "numNodes: 1", "numNodes: 3")
    second = run(*words)
    assert compiled_files == ["jobs/b.yaml"]
    assert second == run(*words[:-2])
    assert second.stdout != first.stdout


@pytest.mark.usefixtures("as_one_trainc")
def test_a_warning_moves_with_its_line(begun: Path, compiled_files: list[str]) -> None:
    words = ("build", "jobs", "--release", "2.3", "--cache", "cache")
    assert "jobs/b.yaml:7:16: warning[DeprecatedRuntime]" in run(*words).stderr
    changed(begun / "jobs" / "b.yaml", "apiVersion", "# one line more\napiVersion")
    moved = run(*words).stderr
    assert "jobs/b.yaml:8:16: warning[DeprecatedRuntime]" in moved
    assert "jobs/b.yaml:7:16" not in moved
    # The runtime's own lines, too, and the place of a warning that takes two jobs.
    assert "jobs/c.yaml:4:3: warning[DuplicateSubdomain]" in moved
    changed(begun / "jobs" / "c.yaml", "kind:", "\nkind:")
    assert "jobs/c.yaml:5:3: warning[DuplicateSubdomain]" in run(*words).stderr


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("rt.yaml", "image: x:1", "image: x:2"), ("rt.yaml", "apiVersion", "# moved\napiVersion")],
)
@pytest.mark.usefixtures("as_one_trainc")
def test_what_is_shared_changes_everything(
    file: str, old: str, new: str, begun: Path, compiled_files: list[str]
) -> None:
    words = ("build", "jobs", "--release", "2.3", "--cache", "cache")
    run(*words)
    del compiled_files[:]
    changed(begun / "jobs" / file, old, new)
    assert run(*words) == run(*words[:-2])
    assert len(compiled_files) == 3


@pytest.mark.usefixtures("as_one_trainc")
def test_what_was_the_case_before_is_still_known(begun: Path, compiled_files: list[str]) -> None:
    words = ("build", "jobs", "--release", "2.3", "--cache", "cache")
    before = run(*words)
    changed(begun / "jobs" / "b.yaml", "numNodes: 1", "numNodes: 3")
    run(*words)
    run(*words, "--name-hash")
    changed(begun / "jobs" / "b.yaml", "numNodes: 3", "numNodes: 1")
    del compiled_files[:]
    assert run(*words) == before
    assert compiled_files == []


@pytest.mark.usefixtures("as_one_trainc")
def test_a_refused_build_says_all_again_and_keeps_what_was_fine(begun: Path, compiled_files: list[str]) -> None:
    words = ("build", "jobs", "--release", "2.3", "--cache", "cache")
    changed(begun / "jobs" / "b.yaml", "numNodes: 1", "numNode: 1")
    first = run(*words)
    assert (first.status, first.stdout) == (1, "")
    del compiled_files[:]
    assert run(*words) == first == run(*words[:-2])
    assert compiled_files == ["jobs/b.yaml"]


@pytest.mark.usefixtures("begun", "as_one_trainc")
def test_standard_input_is_part_of_what_is_shared(compiled_files: list[str]) -> None:
    words = ("build", "jobs", "-", "--release", "2.3")
    texts = [JOB.format(api=API, lines="", name="d", runtime="rt", nodes=n, extra="").encode() for n in (1, 2, 1)]
    for text in texts:
        assert run(*words, "--cache", "cache", stdin=text) == run(*words, stdin=text)
    assert len(compiled_files) == 6


@pytest.mark.usefixtures("begun")
def test_another_trainc_believes_nothing(monkeypatch: pytest.MonkeyPatch, compiled_files: list[str]) -> None:
    words = ("build", "jobs", "--release", "2.3", "--cache", "cache")
    run(*words)
    monkeypatch.setattr(identity, "trainc_digest", lambda _: b"another")
    run(*words)
    assert len(compiled_files) == 6


def test_the_identity_of_trainc_is_its_code_its_catalog_and_what_it_stands_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = identity.trainc_digest()
    assert identity.trainc_digest() == before
    files = {os.path.basename(file) for file in identity._files(os.path.dirname(os.path.dirname(identity.__file__)))}
    assert {"compiler.py", "PORT.yaml"} <= files
    monkeypatch.setattr(identity, "catalog_folder", lambda: str(tmp_path))
    other = identity.trainc_digest()
    (tmp_path / "a.yaml").write_text("a")
    assert len({before, other, identity.trainc_digest()}) == 3
    monkeypatch.setattr(identity, "version", lambda _: "0")
    assert identity.trainc_digest() != other


@pytest.mark.usefixtures("begun", "as_one_trainc")
def test_a_cache_that_cannot_be_written_changes_nothing_but_is_mentioned(begun: Path) -> None:
    (begun / "cache").write_text("a file")
    plain = run("build", "jobs", "--release", "2.3")
    result = run("build", "jobs", "--release", "2.3", "--cache", "cache")
    assert (result.status, result.stdout) == (0, plain.stdout)
    assert result.stderr.startswith("trainc: could not write the cache: cache: ")
    assert result.stderr.endswith(plain.stderr)


@pytest.mark.usefixtures("begun")
def test_builds_at_the_same_time_do_not_disturb_each_other() -> None:
    stages = ("overlay-1", "overlay-2")
    for stage in stages:
        text = OVERLAY.format(tag=stage[-1], kind="TrainJob", target=".*")
        Path(stage).mkdir()
        Path(stage, "overlay.yaml").write_text(text.replace("values", "#"))
    words = ("build", "jobs", "--release", "2.3", "--overlay")
    expected = [run(*words, stage).stdout for stage in stages]
    assert expected[0] != expected[1]
    program = [sys.executable, "-m", "trainc", *words]
    started = [
        subprocess.Popen([*program, stage, "--cache", "cache"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for stage in stages * 2
    ]
    assert [process.communicate()[0].decode() for process in started] == expected * 2
    assert len(list(Path("cache").glob("*.pack"))) == 2
    assert [run(*words, stage, "--cache", "cache").stdout for stage in stages] == expected
