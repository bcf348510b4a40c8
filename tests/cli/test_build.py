"""`trainc build`: what is written where, and what keeps it from writing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from commands import Result, run

from trainc.cli import build as build_output

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}{namespace}}}
spec:
  runtimeRef: {{name: {runtime}}}
  trainer: {{numNodes: {nodes}}}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: {name}}}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
          spec: {{template: {{spec: {{containers: [{{name: node, image: {image}}}]}}}}}}
"""
Write = Callable[[str, str], Path]


def job(name: str = "llm", namespace: str = "team-a", runtime: str = "torch-distributed", nodes: int = 2) -> str:
    inside = f", namespace: {namespace}" if namespace else ""
    return JOB.format(name=name, namespace=inside, runtime=runtime, nodes=nodes)


def runtime(name: str = "ours", image: str = "example.com/train:1") -> str:
    return RUNTIME.format(name=name, image=image)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file below the current folder, which is empty at first."""
    monkeypatch.chdir(tmp_path)

    def writes(name: str, text: str) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return writes


def build(*words: str, stdin: bytes = b"") -> Result:
    return run("build", "--release", "2.3", *words, stdin=stdin)


def files(folder: str = "out") -> dict[str, str]:
    """The files of a folder that somebody could apply."""
    found = [path for path in Path(folder).rglob("*") if path.is_file() and ".trainc" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in sorted(found)}


def names(text: str) -> list[str]:
    return [document["metadata"]["name"] for document in yaml.safe_load_all(text)]


def test_jobs_come_by_namespace_and_name_whatever_their_files_are_called(write: Write) -> None:
    write("1.yaml", job("b", "z") + "---\n" + job("c", "a"))
    write("sub/2.yml", job("a", "z"))
    write("0.json", json.dumps(yaml.safe_load(job("d", "a"))))
    assert names(build().stdout) == ["c", "d", "a", "b"]


def test_nothing_is_written_if_any_document_is_wrong(write: Write) -> None:
    write("good.yaml", job())
    write("bad.yaml", job("x").replace("numNodes", "numNode"))
    write("worse.yaml", "kind: TrainJob\na: [\n")
    result = build()
    assert (result.status, result.stdout) == (1, "")
    assert "bad.yaml:6:" in result.stderr
    assert "worse.yaml:" in result.stderr
    assert "2 errors in 2 files" in result.stderr
    assert build("-o", "out").status == 1
    assert not Path("out").exists()


def test_warnings_do_not_keep_manifests_back(write: Write) -> None:
    write("job.yaml", job() + "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}\n")
    result = build("job.yaml")
    assert (result.status, names(result.stdout)) == (0, ["llm"])
    assert "warning[SkippedDocument]" in result.stderr
    assert build("job.yaml", "-q").stderr == ""


def test_what_a_job_needs_may_be_in_the_same_file(write: Write) -> None:
    write("job.yaml", job() + "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}}\n")
    result = build("job.yaml")
    assert result.status == 0
    assert result.stderr == "trainc: info[SkippedDocument] skipped 1 document of other kinds\n"


def test_documents_of_other_kinds_in_a_folder_are_counted_once(write: Write) -> None:
    write("job.yaml", job())
    write("other.yaml", "apiVersion: kubeflow.org/v1\nkind: A\n---\nkind: B\n")
    assert "info[SkippedDocument] skipped 2 documents of other kinds" in build().stderr


def test_an_empty_result_is_an_error_unless_it_is_allowed(write: Write) -> None:
    write("runtime.yaml", runtime())
    result = build()
    assert (result.status, result.stdout) == (1, "")
    assert "error[NoTrainJob]" in result.stderr
    assert "no TrainJob found in the standard input, which is empty or has only comments;" in build("-").stderr
    allowed = build("--allow-empty")
    assert (allowed.status, allowed.stdout) == (0, "")


def test_a_negative_number_of_nodes_is_shown_where_it_was_written(write: Write) -> None:
    write("jobs/job.yaml", job(nodes=-1))
    result = build("jobs")
    assert (result.status, result.stdout) == (1, "")
    assert "jobs/job.yaml:6:13: error[OutOfRange] JobSet team-a/llm" in result.stderr
    assert "parallelism cannot be -1" in result.stderr
    assert build("jobs", "--semantics", "controller").status == 0


def test_json_is_one_list_of_the_same_objects(write: Write) -> None:
    write("jobs.yaml", job("a") + "---\n" + job("b"))
    listed = json.loads(build("--format", "json").stdout)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert listed["items"] == list(yaml.safe_load_all(build().stdout))


@pytest.mark.parametrize("words", [[], ["--format", "json"], ["-o", "-"]])
def test_output_that_does_not_fit_into_memory_is_the_same(
    words: list[str], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        write(f"{number}.yaml", job(f"j{number}"))
    expected = run("build", ".", "--release", "2.3", *words)
    monkeypatch.setattr(build_output, "_IN_MEMORY", 1000)
    assert run("build", ".", "--release", "2.3", *words) == expected
    assert len(expected.stdout) > 5000


def test_standard_input_is_read_for_a_dash_only(write: Write) -> None:
    assert names(build("-", stdin=job("piped").encode()).stdout) == ["piped"]
    assert "error[NoTrainJob]" in build(stdin=job("piped").encode()).stderr


def test_a_mistake_on_standard_input_is_shown_with_its_line() -> None:
    result = build("-", stdin=job().replace("numNodes", "numNode").encode())
    assert "6 |   trainer: {numNode: 2}\n" in result.stderr


def test_a_namespace_fills_what_is_missing_and_overwrites_nothing(write: Write) -> None:
    write("jobs.yaml", job("a", "") + "---\n" + job("b", "theirs"))
    namespaces = [d["metadata"]["namespace"] for d in yaml.safe_load_all(build("--namespace", "ours").stdout)]
    assert namespaces == ["ours", "theirs"]


def test_a_runtime_comes_from_the_input_then_from_each_folder_then_from_the_catalog(write: Write) -> None:
    write("jobs/job.yaml", job(runtime="torch-distributed"))
    write("first/rt.yaml", runtime("torch-distributed", "example.com/first"))
    write("second/rt.yaml", runtime("torch-distributed", "example.com/second"))
    folders = ["--runtimes", "first", "--runtimes", "second"]
    assert "image: pytorch/pytorch:" in build("jobs").stdout
    shadowing = build("jobs", *folders)
    assert "image: example.com/first" in shadowing.stdout
    assert "info[ShadowedRuntime]" in shadowing.stderr
    write("jobs/rt.yaml", runtime("torch-distributed", "example.com/own"))
    assert "image: example.com/own" in build("jobs", *folders).stdout


def test_a_folder_gets_a_file_for_each_job(write: Write) -> None:
    write("jobs.yaml", job("a") + "---\n" + job("b", ""))
    result = build("jobs.yaml", "-o", "out")
    assert (result.status, result.stdout, result.stderr) == (0, "", "out: 2 files created\n")
    mark = "# Compiled by trainc from jobs.yaml. Edit that file instead.\n"
    assert files() == {"b.yaml": mark + build("-", stdin=job("b", "").encode()).stdout,
                       "team-a/a.yaml": mark + build("-", stdin=job("a").encode()).stdout}  # fmt: skip


def test_building_again_changes_nothing_and_touches_nothing(write: Write) -> None:
    write("jobs.yaml", job())
    build("jobs.yaml", "-o", "out")
    before = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")}
    assert build("jobs.yaml", "-o", "out").stderr == "out: up to date\n"
    assert {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")} == before


def test_the_file_of_a_job_that_is_gone_goes_too_and_so_does_its_folder(write: Write) -> None:
    write("jobs.yaml", job("a") + "---\n" + job("b", "team-b"))
    build("jobs.yaml", "-o", "out")
    write("jobs.yaml", job("a", nodes=4))
    kept = build("jobs.yaml", "-o", "out")
    assert "info[FilesKept]" in kept.stderr
    assert kept.stderr.endswith("out: 1 file changed\n")
    assert build("jobs.yaml", "-o", "out", "--prune").stderr == "out: 1 file removed\n"
    assert list(files()) == ["team-a/a.yaml"]
    assert not Path("out/team-b").exists()


def test_files_of_others_are_neither_replaced_nor_removed(write: Write) -> None:
    write("jobs.yaml", job())
    write("out/team-a/llm.yaml", "mine: true\n")
    write("out/kustomization.yaml", "resources: []\n")
    result = build("jobs.yaml", "-o", "out")
    assert result.status == 1
    assert "error[FileInTheWay]" in result.stderr
    assert files() == {"kustomization.yaml": "resources: []\n", "team-a/llm.yaml": "mine: true\n"}
    Path("out/team-a/llm.yaml").unlink()
    assert build("jobs.yaml", "-o", "out").status == 0
    assert set(files()) == {"kustomization.yaml", "team-a/llm.yaml"}


SETTINGS = "sources: [jobs]\noutput: rendered\nrelease: '2.3'\n"


def test_a_path_prints_whatever_trainc_yaml_says_of_output(write: Write) -> None:
    write("trainc.yaml", SETTINGS)
    write("jobs/a.yaml", job("a"))
    write("jobs/b.yaml", job("b"))
    assert run("build").stderr == "rendered: 2 files created\n"
    shown = run("build", "jobs/a.yaml")
    assert (shown.status, shown.stdout.startswith("apiVersion: "), shown.stderr) == (0, True, "")
    assert len(files("rendered")) == 2


def test_the_file_of_a_job_that_is_gone_goes_where_everything_is_built(write: Write) -> None:
    write("trainc.yaml", SETTINGS)
    write("jobs/a.yaml", job("a"))
    write("jobs/b.yaml", job("b"))
    run("build")
    Path("jobs/b.yaml").unlink()
    assert "1 file removed" in run("build", "--check").stderr
    assert run("build").stderr == "rendered: 1 file removed\n"


def test_two_branches_that_each_add_a_job_merge_without_a_conflict(write: Write) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], check=True, capture_output=True)

    write("trainc.yaml", SETTINGS)
    write("jobs/a.yaml", job("a"))
    run("build")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "one job")
    for name in ("b", "c"):
        git("checkout", "-q", "-b", name, "main")
        write(f"jobs/{name}.yaml", job(name))
        run("build")
        git("add", "-A")
        git("commit", "-qm", f"add {name}")
    git("merge", "-q", "-m", "both", "b")
    assert run("build", "--check").status == 0
    assert len(files("rendered")) == 3


def test_the_output_folder_is_not_an_input_even_inside_it(write: Write) -> None:
    write("job.yaml", job())
    build("-o", "out")
    write("out/stray.yaml", job("stray"))
    assert build("-o", "out").stderr == "out: up to date\n"


def test_written_files_have_the_permissions_that_others_have(write: Write) -> None:
    write("jobs.yaml", job())
    mask = os.umask(0o027)
    try:
        build("jobs.yaml", "-o", "out")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(Path("out/team-a/llm.yaml").stat().st_mode) == 0o640


def test_check_says_what_would_change_and_changes_nothing(write: Write) -> None:
    write("jobs.yaml", job("a") + "---\n" + job("b"))
    build("jobs.yaml", "-o", "out")
    assert (build("jobs.yaml", "-o", "out", "--check").status, build("jobs.yaml", "-o", "out", "--check").stdout) == (
        0,
        "",
    )
    before = files()
    write("jobs.yaml", job("a", nodes=4) + "---\n" + job("c"))
    result = build("jobs.yaml", "-o", "out", "--check", "--prune")
    assert result.status == 1
    assert files() == before
    for line in ("--- out/team-a/a.yaml", "-        parallelism: 2", "+        parallelism: 4",
                 "+++ out/team-a/c.yaml", "--- out/team-a/b.yaml", "+++ /dev/null", "--- /dev/null"):  # fmt: skip
        assert f"{line}\n" in result.stdout


def test_more_is_reported_when_requested(write: Write) -> None:
    write("jobs.yaml", job())
    assert build("jobs.yaml", "-o", "out", "-v").stderr == (
        "1 document read, 1 TrainJob compiled\ncreated out/team-a/llm.yaml\nout: 1 file created\n"
    )


def test_limits_can_be_lowered_and_raised(write: Write) -> None:
    write("jobs.yaml", job("a") + "---\n" + job("b"))
    assert "error[TooManyDocuments]" in build("--max-documents", "1").stderr
    assert build("--max-documents", "2").status == 0


def test_without_a_release_the_newest_is_taken_and_reported(write: Write) -> None:
    write("jobs.yaml", job())
    result = run("build")
    assert "info[ReleaseNotPinned]" in result.stderr
    assert result.stdout == build().stdout
