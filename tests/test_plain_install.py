"""A plain install, with no extra: every command runs there, or names the extra that it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from hostile_inputs import COMPILING, REWRITING, SMALL, policy, words_of, written
from limited import outcomes, request
from packaging.requirements import Requirement

import trainc
from trainc.cli.command import commands

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
JOB = str(ROOT / "tests" / "cases" / "torch-distributed.yaml")
PLAIN = str(ROOT / "tests" / "features" / "authoring" / "run" / "hello.yaml")
OLD = str(ROOT / "tests" / "cases" / "v2alpha1-mpich.yaml")
FITS = ROOT / "tests" / "cases" / "fits"
PLAINLY = ["--release", "2.3"]
KRM = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: trainer.kubeflow.org/v1alpha1
  kind: TrainJob
  metadata: {name: llm, namespace: team-a}
  spec:
    runtimeRef: {name: torch-distributed}
"""

# command -> what it is called with
WORDS: dict[str, list[list[str]]] = {
    "build": [[JOB, *PLAINLY], [JOB, *PLAINLY, "-o", "out"], [JOB, "--format", "json"]],
    "check": [[JOB, *PLAINLY, "--format", form] for form in ("text", "json", "github", "sarif")],
    "explain": [[JOB, *PLAINLY], [JOB, *PLAINLY, "--format", "json"]],
    "graph": [[JOB, *PLAINLY, "--format", form] for form in ("text", "mermaid", "dot", "json")],
    "run": [[PLAIN, *PLAINLY], [PLAIN, *PLAINLY, "--pods", "2", "--dry-run"]],
    "migrate": [[JOB], [OLD]],
    "import": [[JOB]],
    "new": [["llm", "--runtime", "torch-distributed", *PLAINLY, "--", "torchrun", "train.py"]],
    "diff": [[JOB, JOB, *PLAINLY], [JOB, "--releases", "2.2..2.3", "--format", "markdown"]],
    "report": [[JOB, *PLAINLY, "-o", "report.html"]],
    "fits": [[str(FITS / "jobs.yaml"), *PLAINLY, "--cluster", str(FITS / "cluster.yaml")]],
    "why": [["--dump", str(FITS / "cluster.yaml")]],
    "doctor": [[JOB, *PLAINLY, "--from", str(ROOT / "tests" / "features" / "cluster" / "doctor" / "cluster")]],
    "rule": [["UnknownField"], ["--all"]],
    "runtimes": [["list"], ["show", "torch-distributed"]],
    "schema": [[], ["TrainJob", *PLAINLY], ["Overlay"]],
    "init": [["repository"]],
    "krm": [[]],
    "cmp": [["--print", "plugin.yaml"]],
    "help": [[], ["build"], ["limits"]],
    "version": [[]],
    "completion": [[shell] for shell in ("bash", "zsh", "fish")],
}
CALLS = [[name, *words] for name, calls in WORDS.items() for words in calls]
# What an extra is for: the words, and the extra that is named.
EXTRAS = [
    (["sdk", "train.py"], "kubeflow>=0.3,<0.6"),
    (["lsp"], "pygls>=2.1,<3"),
    (["graph", JOB, *PLAINLY, "--format", "svg"], "svg.py>=1.5"),
]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment, with the wheel and what it needs at run time; nothing is fetched."""
    builders = pytest.importorskip("hatchling.builders.wheel")
    folder = tmp_path_factory.mktemp("plain")
    (wheel,) = builders.WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    venv.create(folder / "venv", symlinks=True)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for name in sorted(needed("trainc", set())):
        link(name, site)
    return folder / "venv" / "bin" / "python"


def needed(name: str, known: set[str]) -> set[str]:
    """The distributions that `name` needs without extras, and those that they need."""
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        if requirement.name in known or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        try:
            distribution(requirement.name)
        except PackageNotFoundError:
            pytest.skip(f"{requirement.name} is not installed")
        known.add(requirement.name)
        needed(requirement.name, known)
    return known


def link(name: str, site: Path) -> None:
    """What belongs to a distribution, by its top-level names."""
    parts = {file.parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__"}
    for part in parts:
        if not (site / part).exists():
            (site / part).symlink_to(Path(str(distribution(name).locate_file(part))))


def run(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [python, "-m", "trainc", *words], cwd=folder, env=environment, input=KRM, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip


def test_every_command_is_tried() -> None:
    with_extras = {words[0] for words, _ in EXTRAS}
    assert set(WORDS) | with_extras == {command.name for command in commands()}


@pytest.mark.parametrize("module", ["svg", "kubeflow", "distributed", "pytest", "celpy", "lark", "re2"])
def test_no_extra_is_installed(module: str, python: Path) -> None:
    done = subprocess.run([python, "-I", "-c", f"import {module}"], capture_output=True, text=True, check=False)
    assert f"No module named {module!r}" in done.stderr


@pytest.mark.parametrize("words", CALLS, ids=[call[0] for call in CALLS])
def test_every_command_runs(words: list[str], python: Path, tmp_path: Path) -> None:
    done = run(python, tmp_path, *words)
    # What cannot be migrated in full is warned of, and jobs that can never be admitted are errors: status 1.
    assert (done.returncode, "Traceback" in done.stderr) == (int(OLD in words or words[0] == "fits"), False), (
        done.stderr
    )


@pytest.mark.parametrize("command", [*COMPILING, *REWRITING])
def test_no_hostile_document_meets_a_defect(command: str, python: Path, tmp_path: Path) -> None:
    folder = written(tmp_path)
    files = [f"{number}/job.yaml" for number in range(len(SMALL))]
    requested = [request(folder, words, file) for words, file in zip(words_of(command), files, strict=True)]
    found = zip(SMALL, outcomes(requested, [str(python), "-E"]), strict=True)
    assert {name: one for name, one in found if one["traceback"] or one["status"] not in (0, 1, 2)} == {}


@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_it_speaks_of_itself(words: list[str], python: Path, tmp_path: Path) -> None:
    done = run(python, tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("words", "extra"), EXTRAS)
def test_what_needs_an_extra_names_it(words: list[str], extra: str, python: Path, tmp_path: Path) -> None:
    done = run(python, tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert extra in done.stderr
    assert "Traceback" not in done.stderr


# Neither may ask for metadata, which a copy does not have: a zip, a folder on PYTHONPATH.
WITHOUT_METADATA = """
import sys
sys.modules["importlib.metadata"] = None
sys.path.insert(0, sys.argv[1])
from trainc.cli import main
{before}
sys.exit(main.main(sys.argv[2:]))
"""
DEFECTIVE = "main._dispatch = lambda words, streams: [][0]"


@pytest.fixture(scope="module", params=["folder", "zip"])
def copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "folder":
        return ROOT / "compiler"
    return Path(shutil.make_archive(str(tmp_path_factory.mktemp("zip") / "trainc"), "zip", ROOT / "compiler"))


@pytest.mark.parametrize(("before", "status"), [("", 0), (DEFECTIVE, 3)])
def test_a_copy_without_metadata_knows_its_version(before: str, status: int, copy: Path, python: Path) -> None:
    program = WITHOUT_METADATA.format(before=before)
    done = subprocess.run(
        [python, "-I", "-c", program, copy, "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == status, done.stderr
    shown = done.stderr if status else done.stdout
    assert f"trainc {trainc.__version__}" in shown
    assert ("IndexError" in shown) == bool(status)


IN_A_NOTEBOOK = """
import trainc, yaml
from trainc.kubeflow import sweep
job = yaml.safe_load(open(__import__("sys").argv[1]))
options = trainc.Options(release="2.3")
for trial in sweep(job, {"lr": [0.1, 0.2]}):
    compilation = trainc.compile_trainjob(trial, trainc.catalog("2.3"), options)
    assert "<pre" in compilation._repr_html_() and "<img" not in compilation._repr_html_()
    assert compilation.diff(compilation).html and compilation.explain("parallelism").html and str(compilation.graph())
try:
    import trainc.kubeflow
    trainc.kubeflow.offline_client
except ModuleNotFoundError as missing:
    print(missing)
"""


def test_sweeps_and_notebooks_need_no_extra(python: Path, tmp_path: Path) -> None:
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a, namespace: b}\nspec: {runtimeRef: {name: torch-distributed}}\n"
    (tmp_path / "job.yaml").write_text(job, encoding="utf-8")
    done = subprocess.run(
        [python, "-I", "-c", IN_A_NOTEBOOK, "job.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'kubeflow>=0.3,<0.6'" in done.stdout


@pytest.mark.parametrize(("expression", "code"), [("1 > 2", "PolicyDenied"), ("'a'.matches('b')", "PolicyNeedsExtra")])
def test_policies_need_an_extra_for_regular_expressions_only(
    python: Path, tmp_path: Path, expression: str, code: str
) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "policy.yaml").write_text(policy("a", expression))
    (tmp_path / "trainc.yaml").write_text("policies: [policies]\nrelease: '2.3'\n")
    shutil.copy(JOB, tmp_path / "job.yaml")
    done = run(python, tmp_path, "check", "job.yaml")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert f"error[{code}]" in done.stderr
    assert ("pip install google-re2" in done.stderr) == (code == "PolicyNeedsExtra")
