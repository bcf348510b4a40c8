"""Action, workflows and image: valid by the published schemas, without what zizmor finds, and their shell does its work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest
import yaml
from commands import run
from published_schemas import published

import trainc

TOP = Path(__file__).parents[2]
WORKFLOWS = sorted((TOP / ".github" / "workflows").glob("*.yaml"))
ACTION = TOP / "action.yml"
Step = dict[str, Any]

# `gh` as far as the scripts use it; comments are the lines of a file. The first ones are of other authors.
GH = """\
import json, os, sys
words, store = sys.argv[1:], os.environ["COMMENTS"]
assert os.environ["GH_TOKEN"]
others = {"1": "<!-- another --> by hand", "2": "<!-- trainc diff --> by hand"}
comments = json.load(open(store)) if os.path.exists(store) else others
if words[:2] == ["pr", "view"]:
    assert words[2:6] == ["7", "--repo", "o/r", "--json"] and ".viewerDidAuthor" in words[-1]
    print(next((i for i, text in comments.items() if i not in others and text.startswith("<!-- trainc diff -->")), ""))
    sys.exit()
assert words.pop(0) == "api"
path = next(word for word in words if word.startswith("repos/"))
body = next((open(word.removeprefix("body=@")).read() for word in words if word.startswith("body=@")), "")
if "PATCH" in words:
    comments[path.rpartition("/")[2]] = body
elif "POST" in words:
    assert path == "repos/o/r/issues/7/comments"
    comments[str(len(comments) + 1)] = body
json.dump(comments, open(store, "w"))
"""


def loaded(path: Path) -> dict[Any, Any]:
    data: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return data


def steps(data: dict[Any, Any]) -> list[Step]:
    runs = [data["runs"]] if "runs" in data else data["jobs"].values()
    return [step for one in runs for step in one["steps"]]


@pytest.fixture(scope="module")
def written_by_init(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("init") / "trainc.yaml"
    text = run("init", "--only", "workflow", "--print").stdout
    path.write_text(text[text.index("name: ") :], encoding="utf-8")
    return path


@pytest.fixture
def everything(written_by_init: Path) -> list[Path]:
    return [*WORKFLOWS, ACTION, written_by_init]


@pytest.mark.slow
def test_all_are_valid_by_the_published_schemas(everything: list[Path]) -> None:
    for path in everything:
        schema = published("github-action.json" if path == ACTION else "github-workflow.json")
        # YAML 1.1 reads the key `on` as true.
        data = {"on" if key is True else key: value for key, value in loaded(path).items()}
        for job in data.get("jobs", {}).values():
            # The collection's copy of the schema is older than this permission, and than the event of merge queues.
            job["permissions"].pop("attestations", None)
        if isinstance(data.get("on"), dict):
            data["on"].pop("merge_group", None)
        jsonschema.validators.validator_for(schema)(schema).validate(data)


@pytest.mark.slow
def test_zizmor_finds_nothing(everything: list[Path], tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("zizmor")
    if not program.exists():
        pytest.skip("zizmor is not installed; `pip install zizmor` brings it")
    command = [str(program), "--offline", "--no-progress", "--format", "json", *map(str, everything)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert json.loads(done.stdout) == [], done.stdout


def test_every_action_is_pinned_to_a_commit(everything: list[Path]) -> None:
    for path in everything:
        for use in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", use), (path.name, use)


def test_no_job_has_more_than_it_says(everything: list[Path]) -> None:
    for path in everything:
        if path != ACTION:
            assert loaded(path)["permissions"] == {}
            assert all("permissions" in job for job in loaded(path)["jobs"].values())


def test_the_shell_of_every_step_can_be_parsed(everything: list[Path]) -> None:
    scripts = [step["run"] for path in everything for step in steps(loaded(path)) if "run" in step]
    assert len(scripts) > 10
    for script in scripts:
        # Expressions would be texts that strangers write into a program.
        assert "${{" not in script
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_action_and_workflow_comment_alike(written_by_init: Path) -> None:
    scripts = {
        step["run"] for path in (ACTION, written_by_init) for step in steps(loaded(path)) if "gh api" in str(step)
    }
    assert len(scripts) == 1


@pytest.fixture
def pull_request(tmp_path: Path) -> Path:
    """A clone of what init makes, on a branch that changes a job; programs `gh` and `trainc` in bin/."""
    repository = tmp_path / "repository"
    assert run("init", str(repository)).status == 0
    git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "add", "-A")
    git(repository, "commit", "--quiet", "--message", "jobs")
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    resize(tmp_path / "clone", 8)
    (tmp_path / "bin").mkdir()
    for name, text in {"gh": GH, "trainc": "import trainc.cli.main as m\nm.run()\n"}.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
        program.chmod(0o755)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def resize(repository: Path, nodes: int) -> None:
    job = repository / "jobs" / "pretrain.yaml"
    text = re.sub(r"numNodes: \d+", f"numNodes: {nodes}", job.read_text(encoding="utf-8"))
    job.write_text(text, encoding="utf-8")


def shell(script: str, folder: Path, at: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A step as a runner runs it."""
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder),
        "GITHUB_REPOSITORY": "o/r",
        "COMMENTS": str(folder / "comments.json"),
        **more,
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=at, env=environment, capture_output=True, text=True, check=False, timeout=120)


def named(name: str) -> Step:
    return next(step for step in steps(loaded(ACTION)) if step.get("name") == name)


@pytest.mark.slow
def test_there_is_one_comment_and_it_is_edited(pull_request: Path) -> None:
    script = named("Comment with what the cluster will do")["run"]
    reported = {"BASE": "main", "NUMBER": "7", "GH_TOKEN": "secret"}
    for nodes in (8, 16):
        resize(pull_request / "clone", nodes)
        done = shell(script, pull_request, pull_request / "clone", **reported)
        assert done.returncode == 0, done.stderr
        comments = json.loads((pull_request / "comments.json").read_text(encoding="utf-8"))
        assert sorted(comments) == ["1", "2", "3"]
        assert (comments["1"], comments["2"]) == ("<!-- another --> by hand", "<!-- trainc diff --> by hand")
        assert comments["3"].startswith("<!-- trainc diff -->\n")
        assert "### `git:refs/remotes/origin/main` → `working tree`" in comments["3"]
        assert f"**4 → {nodes}**" in comments["3"]
        assert "**1 of 2 jobs restarts, 32 GPUs**" in comments["3"]


@pytest.mark.slow
def test_the_comment_is_replaced_where_the_jobs_are_broken_and_where_comparing_fails(pull_request: Path) -> None:
    clone, store = pull_request / "clone", pull_request / "comments.json"
    reported = {"BASE": "main", "NUMBER": "7", "GH_TOKEN": "secret"}
    script = named("Comment with what the cluster will do")["run"]
    assert shell(script, pull_request, clone, **reported).returncode == 0
    job = clone / "jobs" / "pretrain.yaml"
    job.write_text(job.read_text(encoding="utf-8").replace("runtimeRef", "runtimeReff"), encoding="utf-8")
    assert shell(script, pull_request, clone, **reported).returncode == 0
    broken = json.loads(store.read_text(encoding="utf-8"))
    assert "### The two sides cannot be compared\n\n#### Not compared\n\n- `jobs/pretrain.yaml:7`: " in broken["3"]
    (pull_request / "bin" / "trainc").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    assert shell(script, pull_request, clone, **reported).returncode == 3
    comments = json.loads(store.read_text(encoding="utf-8"))
    assert sorted(comments) == ["1", "2", "3"]
    assert comments["3"].endswith("`trainc diff` failed with status 3; the log of the workflow says why.\n")


class GitLab(BaseHTTPRequestHandler):
    """GitLab's notes of a merge request as far as the documented script uses them: 100 a page, of two authors."""

    notes: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        if self.path == "/api/v4/user":
            return self.answer({"id": 9})
        page = int(self.path.rpartition("=")[2])
        return self.answer(self.notes[(page - 1) * 100 : page * 100])

    def do_POST(self) -> None:
        assert self.path == "/api/v4/projects/3/merge_requests/5/notes"
        self.notes.append({"id": len(self.notes), "author": {"id": 9}, "body": self.text()})
        self.answer({})

    def do_PUT(self) -> None:
        self.notes[int(self.path.rpartition("/")[2])]["body"] = self.text()
        self.answer({})

    def text(self) -> str:
        assert self.headers["PRIVATE-TOKEN"] == "secret"
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def answer(self, data: Any) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(data).encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        pass


def test_the_documented_script_for_gitlab_writes_one_comment_and_edits_its_own_alone(tmp_path: Path) -> None:
    page = (TOP / "docs" / "ci.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "comment.py").write_text(script, encoding="utf-8")
    stranger = {"author": {"id": 8}, "body": "<!-- trainc diff -->\nby hand"}
    GitLab.notes = [{"id": number, **stranger} for number in range(130)]
    server = ThreadingHTTPServer(("127.0.0.1", 0), GitLab)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    variables = {
        "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}/api/v4",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "5",
        "TRAINC_TOKEN": "secret",
    }
    for text in ("first\n", "second\n"):
        (tmp_path / "diff.md").write_text(text, encoding="utf-8")
        command = [sys.executable, "comment.py", "diff.md"]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, **variables, "no_proxy": "*"}, check=True, timeout=60)
    server.shutdown()
    server.server_close()
    assert len(GitLab.notes) == 131
    assert {note["body"] for note in GitLab.notes[:130]} == {stranger["body"]}
    assert GitLab.notes[130]["body"] == "<!-- trainc diff -->\nsecond\n"


@pytest.mark.slow
def test_the_other_steps_of_the_action_pass_and_fail_when_they_should(pull_request: Path) -> None:
    clone = pull_request / "clone"
    check, stale = named("Check")["run"], named("Compare the output with its sources")["run"]
    assert shell(check, pull_request, clone).returncode == 0
    assert shell(stale, pull_request, clone).returncode == 1
    assert shell("trainc build", pull_request, clone).returncode == 0
    assert shell(stale, pull_request, clone).returncode == 0


@pytest.mark.parametrize(
    ("requirement", "file", "installed"),
    [("trainc @ x", True, "trainc @ x"), ("", True, "-r requirements-trainc.txt"), ("", False, "/own")],
)
def test_the_action_installs_what_the_repository_names(
    tmp_path: Path, requirement: str, file: bool, installed: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pip").write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    (tmp_path / "bin" / "pip").chmod(0o755)
    if file:
        (tmp_path / "requirements-trainc.txt").touch()
    done = shell(named("Install trainc")["run"], tmp_path, tmp_path, REQUIREMENT=requirement, OWN="/own")
    assert done.stdout == f"install {installed}\n"


@pytest.mark.parametrize(("tag", "status"), [(f"v{trainc.__version__}", 0), ("v0.0.0", 1)])
def test_a_tag_that_is_not_the_version_is_not_released(tmp_path: Path, tag: str, status: int) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (step,) = (
        step for step in steps(loaded(TOP / ".github/workflows/release.yaml")) if "The tag" in str(step.get("name"))
    )
    assert shell(step["run"], tmp_path, TOP, TAG=tag).returncode == status


# The image.


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", (TOP / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def test_the_image_is_small_pinned_and_runs_as_nobody() -> None:
    words = instructions()
    assert re.fullmatch(r"BASE=python:3\.\d+-slim", dict(words)["ARG"])
    assert [value for word, value in words if word == "FROM"] == ["${BASE} AS build", "${BASE}"]
    assert {word for word, _ in words} <= {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT"}
    assert words[-2:] == [("USER", "65532:65532"), ("ENTRYPOINT", '["trainc"]')]
    installs = [value for word, value in words if word == "RUN" and "pip install" in value]
    assert all(value.count("--no-cache-dir") == value.count("pip install") for value in installs)
    assert any("--require-hashes" in value for value in installs)


def test_what_the_image_copies_is_there_and_is_let_in() -> None:
    ignored = (TOP / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sources = [
        source
        for word, value in instructions()
        if word == "COPY" and "--from" not in value
        for source in value.split()[:-1]
    ]
    assert sources
    for source in sources:
        assert (TOP / source).exists()
        assert f"!{source}" in ignored


@pytest.mark.slow
@pytest.mark.tools
def test_a_builder_has_nothing_against_the_image() -> None:
    program = shutil.which("docker")
    if program is None or subprocess.run([program, "info"], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("there is no docker that could build")
    subprocess.run([program, "build", "--check", str(TOP)], check=True, capture_output=True, timeout=300)


def test_a_bill_and_packages_are_made_by_the_same_words_as_by_hand() -> None:
    made = {
        step["run"] for step in steps(loaded(TOP / ".github/workflows/release.yaml")) if "make" in step.get("run", "")
    }
    assert made == {"make dist sbom"}
    targets = (TOP / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", targets, re.MULTILINE) for target in ("dist", "sbom", "test"))
