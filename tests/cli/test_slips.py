"""Nothing ends by a slip: a rendered file goes only with its source, or if its source says so as documents of ours.

Each slip has a twin: a change that looks like it, by which somebody does end a job, or that has nothing to do with trainc.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Result, run
from repositories import starting_with

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {name}
  namespace: {namespace}
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    image: example.com/train:1
"""
LLM, RANK = JOB.format(name="llm", namespace="nlp"), JOB.format(name="rank", namespace="ads")
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: nlp}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: ours, namespace: nlp}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: example.com/train:1}]}}}
"""
SETTINGS = 'release: "2.3"\nsources: [jobs]\noutput: rendered\n'
SOURCE, RENDERED = "jobs/nlp/llm.yaml", "rendered/nlp/llm.yaml"


@starting_with
def repository() -> None:
    """Two jobs of two teams, both rendered and, so one may think, running."""
    subprocess.run(["git", "init", "-q"], check=True)
    write("trainc.yaml", SETTINGS)
    write(SOURCE, LLM)
    write("jobs/ads/rank.yaml", RANK)
    assert run("build").status == 0


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def rendered() -> set[str]:
    return {path.as_posix() for path in Path("rendered").rglob("*.yaml")}


def edited(old: str, new: str) -> Callable[[], None]:
    assert old in LLM
    return lambda: write(SOURCE, LLM.replace(old, new))


def written(text: str, path: str = SOURCE) -> Callable[[], None]:
    return lambda: write(path, text)


def codes(*words: str) -> dict[str, str]:
    """The errors that a command reports, by the file where they are."""
    found = json.loads(run("check", "--format", "json", *words).stdout)["diagnostics"]
    return {d["code"]: d["source"]["file"] for d in found if d["severity"] == "error"}


def every_command() -> list[Result]:
    return [run("check"), run("build", "--check"), run("build")]


SLIPS: dict[str, tuple[Callable[[], None], str]] = {
    "the API group is misspelt": (edited("kubeflow.org", "kubefow.org"), "UnknownAPIVersion"),
    "the API group has another ending": (edited("kubeflow.org", "kubeflow.io"), "UnknownAPIVersion"),
    "the API group is misspelt beside a runtime": (
        written(f"{RUNTIME}---\n{LLM.replace('kubeflow.org', 'kubefow.org')}"),
        "UnknownAPIVersion",
    ),
    "the API group is misspelt beside another job": (
        written(f"{LLM.replace('llm', 'big')}---\n{LLM.replace('trainer.', 'triner.')}"),
        "UnknownAPIVersion",
    ),
    "the API group is somebody else's": (edited("trainer.kubeflow.org", "training.example.com"), "SourceSkipped"),
    "kind and apiVersion are gone": (written(LLM[LLM.index("metadata") :]), "SourceSkipped"),
    "the file is empty": (written(""), "SourceSkipped"),
    "everything is a comment": (written("".join(f"# {line}\n" for line in LLM.splitlines())), "SourceSkipped"),
    "the file is damaged and names no group": (written("a: ["), "SourceSkipped"),
    "the file is damaged and names the group": (written(f"{LLM}  a: ["), "YAMLSyntax"),
    "the file is a list without items": (written("apiVersion: v1\nkind: List\nitems: []\n"), "SourceSkipped"),
    "only a ConfigMap is left": (written(CONFIG), "SourceSkipped"),
    "only a document that mentions the group is left": (
        written(CONFIG + "data: {group: trainer.kubeflow.org}\n"),
        "SourceSkipped",
    ),
    "the job is of a kind that only migrate reads": (
        written(LLM.replace("trainer.kubeflow.org/v1alpha1", "kubeflow.org/v1").replace("TrainJob", "PyTorchJob")),
        "SourceSkipped",
    ),
    "a glob excludes the file": (written(f'{SETTINGS}exclude: ["jobs/**/l*.yaml"]\n', "trainc.yaml"), "SourceSkipped"),
    "a glob excludes the folder": (written(f"{SETTINGS}exclude: [jobs/nlp]\n", "trainc.yaml"), "SourceSkipped"),
    "the sources are fewer": (written(SETTINGS.replace("[jobs]", "[jobs/ads]"), "trainc.yaml"), "SourceSkipped"),
    "the folder is taken for an overlay": (
        written("apiVersion: trainc/v1alpha1\nkind: Overlay\n", "jobs/nlp/overlay.yaml"),
        "SourceSkipped",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_an_error_of_every_command_and_ends_nothing(slip: str) -> None:
    make, code = SLIPS[slip]
    make()
    file = "trainc.yaml" if slip.startswith(("a glob", "the sources")) else SOURCE
    for result in every_command():
        assert result.status == 1
        assert f"{file}:" in result.stderr
        assert f"error[{code}]" in result.stderr
        assert SOURCE in result.stderr
        assert result.stdout == ""
    assert codes() == {code: file}
    assert rendered() == {RENDERED, "rendered/ads/rank.yaml"}


def moved() -> None:
    Path(SOURCE).rename("jobs/nlp/other-name.yaml")


TWINS: dict[str, tuple[Callable[[], None], bool]] = {
    "the file is removed": (lambda: Path(SOURCE).unlink(), True),
    "the job is renamed": (edited("name: llm", "name: big"), True),
    "the job moves to another namespace": (edited("namespace: nlp", "namespace: ads"), True),
    "the job is replaced by a runtime": (written(RUNTIME), True),
    "the job goes and another one stays": (written(LLM.replace("llm", "big")), True),
    "the file is renamed": (moved, False),
    "a TrainJob of somebody else's group is beside it": (
        written(f"{LLM}---\n{LLM.replace('trainer.kubeflow.org', 'training.example.com')}"),
        False,
    ),
    "a damaged file that never held a job": (written("a: [", "jobs/nlp/chart.yaml"), False),
    "an empty file that never held a job": (written("", "jobs/nlp/empty.yaml"), False),
    "a glob excludes a file that never held a job": (
        written(f"{SETTINGS}exclude: [jobs/web]\n", "trainc.yaml"),
        False,
    ),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_change_that_somebody_means_is_no_error(twin: str) -> None:
    make, ends = TWINS[twin]
    make()
    assert codes() == {}
    assert run("build").status == 0
    assert (RENDERED in rendered()) is not ends
    assert run("build", "--check").status == 0


MANY = "jobs/nlp/many.yaml"
A, B, C = (JOB.format(name=name, namespace="nlp") for name in "abc")


def indented(text: str, sign: str = "  ") -> str:
    return "".join(f"{sign}{line}\n" for line in text.splitlines())


def many(*documents: str) -> Callable[[], None]:
    return lambda: write(MANY, "---\n".join(documents))


def renamed(name: str, path: str = MANY) -> Callable[[], None]:
    def change() -> None:
        Path(path).rename(Path(path).with_name(name))

    return change


def without(path: str, text: str) -> Callable[[], None]:
    """Leave `b` out of its file, and write another."""

    def change() -> None:
        many(A, C)()
        write(path, text)

    return change


def to(path: str) -> Callable[[], None]:
    def change() -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(MANY).rename(path)

    return change


def into_an_overlay() -> None:
    write("jobs/prod/overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\n")
    to("jobs/prod/many.yaml")()


def committed() -> None:
    commit()
    to("archive/many.yaml")()
    commit()


def submodule() -> None:
    """As in a clone without submodules: of each there is an empty folder."""
    Path(MANY).unlink()
    write(".gitmodules", '[submodule "nlp"]\n\tpath = jobs/nlp\n\turl = ../nlp\n')


# What becomes of `b`, the second of three jobs in a file: the place that is named.
SLIPS_OF_ONE: dict[str, tuple[Callable[[], None], str]] = {
    "it is a comment": (many(A, indented(B, "# "), C), f"{MANY}:15:1"),
    "it is a comment that starts after its first line": (
        many(A, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\n{indented(B, '#')}", C),
        f"{MANY}:18:1",
    ),
    "all others are comments too": (many(A, indented(f"{B}---\n{C}", "# ")), f"{MANY}:15:1"),
    "it is part of a text": (many(A, f"{CONFIG}data:\n  job: |\n{indented(B, '    ')}", C), f"{MANY}:20:1"),
    "it is part of another document": (many(A, f"{CONFIG}data:\n  job:\n{indented(B, '    ')}", C), f"{MANY}:20:1"),
    "it is of a core group": (many(A, B.replace("trainer.kubeflow.org/v1alpha1", "batch/v1"), C), f"{MANY}:15:1"),
    "it is of a core group, in JSON": (
        many(A, '{"apiVersion": "batch/v1", "kind": "TrainJob", "metadata": {"name": "b"}}\n', C),
        f"{MANY}:12:1",
    ),
    "kind and group are somebody else's": (
        many(A, B.replace("TrainJob", "Job").replace("trainer.kubeflow.org/v1alpha1", "batch/v1"), C),
        f"{MANY}:15:1",
    ),
    "the file has capital letters at its end": (renamed("many.YAML"), "jobs/nlp/many.YAML:4:1"),
    "the file is a backup": (renamed("many.yaml.bak"), "jobs/nlp/many.yaml.bak:4:1"),
    "the file has an ending of somebody's own": (renamed("many.off"), "jobs/nlp/many.off:4:1"),
    "the file is hidden": (renamed(".many.yaml"), "jobs/nlp/.many.yaml:4:1"),
    "the file is a template of another ending": (renamed("many.yaml.jinja"), "jobs/nlp/many.yaml.jinja:4:1"),
    "it is a comment of a large file": (many(f"# {'.' * 79}\n" * 20_000, A, indented(B, "# "), C), f"{MANY}:20016:1"),
    "the file moves out of the sources": (to("archive/many.yaml"), "archive/many.yaml:4:1"),
    "the file moves out of the sources in a commit": (committed, "archive/many.yaml:4:1"),
    "the file moves to a hidden folder": (to("jobs/.old/many.yaml"), "jobs/.old/many.yaml:4:1"),
    "the file moves into the folder of an overlay": (into_an_overlay, "jobs/prod/many.yaml:4:1"),
    "the document moves out of the sources": (without("archive/b.yaml", B), "archive/b.yaml:4:1"),
    "its folder is a submodule that is not there": (submodule, ".gitmodules:2:1"),
}


def commit() -> None:
    subprocess.run("git add -A; git -c user.name=a -c user.email=a@example.com commit -qm 1", shell=True, check=True)


def others(*names: str) -> set[str]:
    return {"rendered/ads/rank.yaml", RENDERED, *(f"rendered/nlp/{name}.yaml" for name in names)}


@pytest.mark.parametrize("slip", SLIPS_OF_ONE)
def test_a_slip_of_one_job_among_others_is_an_error_where_its_text_is(slip: str) -> None:
    many(A, B, C)()
    assert run("build").status == 0
    make, place = SLIPS_OF_ONE[slip]
    make()
    for result in every_command():
        assert result.status == 1
        assert f"{place}: error[SourceSkipped] the text that" in result.stderr
        assert "rendered/nlp/b.yaml" in result.stderr
        assert rendered() == others("a", "b", "c")
    (found,) = [
        d for d in json.loads(run("check", "--format", "json").stdout)["diagnostics"] if d["code"] == "SourceSkipped"
    ]
    for name in "abc":
        if f"nlp/{name}.yaml" in found["message"]:
            Path(f"rendered/nlp/{name}.yaml").unlink()
    assert run("build").status == 0


ENDS_OF_ONE: dict[str, Callable[[], None]] = {
    "its document is removed": many(A, C),
    "it gets another name": many(A, B.replace("name: b", "name: d"), C),
    "it gets another name, and a comment has the old one": many(A, B.replace("name: b", "# name: b\n  name: d"), C),
    "another document has its name": many(A, C, CONFIG.replace("settings", "b")),
    "a comment has its name": many(A, "# b was a TrainJob\n# name: b\n" + C),
    "a container has its name": many(A, C.replace("  trainer:", "  # kind: TrainJob\n  # name: b\n  trainer:")),
    "another team's file has its name": without("archive/b.yaml", B.replace("namespace: nlp", "namespace: ads")),
    "another trainc.yaml has it": without("other/b.yaml", B),
    "a copy was there before": many(A, C),
    "a page shows it": without("jobs/README.md", f"```yaml\n{B}```\n"),
    "an editor left a copy": without(f"{MANY}~", f"{A}---\n{B}"),
}


@pytest.mark.parametrize("end", ENDS_OF_ONE)
def test_who_removes_one_job_among_others_ends_it(end: str) -> None:
    many(A, B, C)()
    write("archive/before.yaml", B)
    write("other/trainc.yaml", SETTINGS)
    assert run("build").status == 0
    commit()
    ENDS_OF_ONE[end]()
    assert [result.status for result in every_command()] == [0, 1, 0]
    assert "rendered/nlp/b.yaml" not in rendered()
    assert run("check").status == 0


def test_a_job_that_ended_in_a_change_is_named_where_its_text_is() -> None:
    many(A, B, C)()
    assert run("build").status == 0
    commit()
    many(A, indented(B, "# "), C)()
    Path("rendered/nlp/b.yaml").unlink()
    result = run("check", "--base", "HEAD")
    assert (result.status, f"{MANY}:15:1: warning[SourceSkipped]" in result.stderr) == (0, True)
    assert "if it is meant to end, remove the text" in result.stderr
    many(A, C)()
    assert "SourceSkipped" not in run("check", "--base", "HEAD").stderr


@pytest.mark.parametrize("slip", [slip for slip, (_, code) in SLIPS.items() if code == "SourceSkipped"])
def test_who_removes_the_rendered_file_ends_the_job_on_purpose(slip: str) -> None:
    SLIPS[slip][0]()
    Path(RENDERED).unlink()
    assert codes().keys() <= {"LegacyTrainingJob"}
    assert run("build").status == 0
    assert rendered() == {"rendered/ads/rank.yaml"}


def test_a_file_without_the_first_line_is_its_owner_s_whatever_becomes_of_the_source() -> None:
    text = Path(RENDERED).read_text(encoding="utf-8")
    write(RENDERED, text.partition("\n")[2])
    write(SOURCE, "")
    assert [result.status for result in every_command()] == [0, 0, 0]
    assert RENDERED in rendered()


def test_one_source_of_many_jobs_is_one_error_that_names_them() -> None:
    write(SOURCE, "---\n".join(LLM.replace("llm", f"llm-{number}") for number in range(12)))
    assert run("build").status == 0
    write(SOURCE, "")
    report = run("build").stderr
    assert report.count("error[") == 1
    assert "rendered/nlp/llm-0.yaml, rendered/nlp/llm-1.yaml" in report
    assert "and 2 more were compiled from this file" in report


def test_neither_a_patch_of_the_job_nor_one_of_an_empty_field_is_blamed() -> None:
    write(
        "overlays/prod/overlay.yaml",
        "apiVersion: trainc/v1alpha1\nkind: Overlay\npatches:\n"
        "- target: {kind: TrainJob, name: llm}\n  patch: {spec: {trainer: {numNodes: 2}}}\n",
    )
    write("trainc.yaml", f"{SETTINGS}overlay: overlays/prod\n")
    assert run("build").status == 0
    assert [run("check", path).status for path in ("jobs/ads", "absent")] == [0, 1]
    assert "PatchTargetMissing" not in run("check", "absent").stderr
    write(SOURCE, "")
    assert codes() == {"SourceSkipped": SOURCE}
    assert "PatchTargetMissing" not in run("build").stderr
    write(SOURCE, f"{LLM.partition('spec:')[0]}spec:\n")
    assert f"{SOURCE}:6:1: error[MissingRequired] spec: spec is empty" in run("build").stderr


def test_an_overlay_that_deletes_a_job_means_it() -> None:
    write(
        "overlays/prod/overlay.yaml",
        "apiVersion: trainc/v1alpha1\nkind: Overlay\npatches:\n"
        "- target: {kind: TrainJob, name: llm}\n  patch: {$patch: delete}\n",
    )
    write("trainc.yaml", f"{SETTINGS}overlay: overlays/prod\n")
    assert run("build").status == 0
    assert rendered() == {"rendered/ads/rank.yaml"}


def test_each_environment_says_it_of_its_own_output() -> None:
    write("trainc.yaml", 'release: "2.3"\nsources: [jobs]\nenvironments:\n  a: {output: out/a}\n  b: {output: out/b}\n')
    assert run("build").status == 0
    write(SOURCE, "")
    for result in every_command():
        assert result.status == 1
        assert "out/a/nlp/llm.yaml, out/b/nlp/llm.yaml were compiled from this file" in result.stderr
    assert Path("out/a/nlp/llm.yaml").exists()


def test_pruning_with_some_of_the_sources_does_not_end_the_jobs_of_the_others() -> None:
    write("jobs/cv/yolo.yaml", JOB.format(name="yolo", namespace="cv"))
    assert run("build").status == 0
    result = run("build", "jobs/ads", "-o", "rendered", "--prune")
    assert (result.status, result.stderr.count("error[SourceSkipped]")) == (1, 1)
    assert "PATH leaves out jobs/cv/yolo.yaml, jobs/nlp/llm.yaml; pruning would end 2 jobs, " in result.stderr
    assert "run `trainc build` without a path, which reads all `sources`, or leave out --prune" in result.stderr
    kept = run("build", "jobs/ads", "-o", "rendered")
    assert (kept.status, "info[FilesKept]" in kept.stderr) == (0, True)
    assert RENDERED in rendered()


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two jobs in a folder without git and without trainc.yaml, where first lines have no more than file names."""
    (tmp_path / "plain").mkdir()
    (tmp_path / ".git").rename(tmp_path / "git")
    (tmp_path / "trainc.yaml").unlink()
    monkeypatch.chdir(tmp_path / "plain")
    write(SOURCE, LLM)
    write("jobs/ads/rank.yaml", RANK)
    assert run("build", "jobs", "-o", "rendered").status == 0


@pytest.mark.usefixtures("outside")
def test_without_a_repository_the_file_name_finds_the_source() -> None:
    write(SOURCE, "")
    result = run("build", "jobs", "-o", "rendered", "--prune")
    assert (result.status, "error[SourceSkipped]" in result.stderr) == (1, True)
    Path(SOURCE).unlink()
    assert run("build", "jobs", "-o", "rendered", "--prune").status == 0
    assert rendered() == {"rendered/ads/rank.yaml"}


def test_a_first_line_cannot_ask_about_files_outside() -> None:
    victim = Path("../outside.yaml").resolve()
    victim.write_text("secret: 1\n", encoding="utf-8")
    for source in ("../outside.yaml", str(victim)):
        write("rendered/nlp/x.yaml", f"# Compiled by trainc from {source}. Edit that file instead.\n")
        assert run("build").status == 0
        assert not Path("rendered/nlp/x.yaml").exists()


CMP_SLIPS = {
    "misspelt": LLM.replace("kubeflow.org", "kubefow.org"),
    "damaged": f"{LLM}  a: [",
    "cut off": LLM.partition("\n")[0],
    "without apiVersion": LLM.partition("\n")[2],
    "a Sweep misspelt": "apiVersion: trianc/v1alpha1\nkind: Sweep\nmetadata: {name: x}\n",
}


@pytest.mark.parametrize("slip", CMP_SLIPS)
def test_argo_cd_gets_no_stream_that_lacks_a_job_by_a_slip(slip: str) -> None:
    write("jobs/nlp/second.yaml", LLM.replace("llm", "second"))
    assert run("cmp", "generate").stdout.count("kind: JobSet") == 3
    write(SOURCE, CMP_SLIPS[slip])
    result = run("cmp", "generate")
    assert (result.status, result.stdout) == (1, "")
    assert f"{SOURCE}:" in result.stderr


@pytest.mark.parametrize(
    "document",
    [
        "apiVersion: wandb.example.com/v1\nkind: Sweep\nmetadata: {name: x}\n",
        "apiVersion: training.example.com/v1\nkind: TrainJob\nmetadata: {name: x}\n",
        "apiVersion: trainer.example.org/v1\nkind: TrainingRuntime\nmetadata: {name: x}\n",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n",
    ],
)
def test_a_document_of_somebody_else_is_left_alone(document: str) -> None:
    write("jobs/nlp/theirs.yaml", document)
    assert codes() == {}
    assert run("build", "--check").status == 0
    assert run("cmp", "generate").stdout.count("kind: JobSet") == 2


def test_a_range_of_revisions_is_two_sides() -> None:
    result = run("diff", "git:main..topic")
    assert (result.status, "name both sides: git:main git:topic" in result.stderr) == (2, True)
    assert "git:main git:HEAD" in run("diff", "git:main..").stderr


def test_a_field_of_the_input_in_other_letters_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = '{runtimeRef: {name: torch-distributed}, trainer: {image: "a/b:1", numNodes: 2, command: [torchrun, a.py]}}'
    head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm}\n"
    Path("job.yaml").write_text(f"{head}spec: {spec}\n", encoding="utf-8")
    assert "did you mean numNodes" in run("explain", "job.yaml", "numnodes").stderr


@pytest.mark.parametrize("form", ["output: jobs", "environments: {a: {output: jobs/}}"])
def test_an_output_among_the_sources_is_an_error_of_every_command(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir(exist_ok=True)
    Path("trainc.yaml").write_text(f"sources: [jobs]\n{form}\n", encoding="utf-8")
    assert "this folder is one of the sources, too" in run("check", "-q").stderr
