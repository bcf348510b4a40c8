"""Plugins of other distributions: the one of docs/plugins.md, built as a wheel, installed, and chosen by its name."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from builders import runtime, trainjob

from trainc import Options, compile_trainjob
from trainc.ir.info import Container, Info, PodSet
from trainc.plugins import registry, registry as entry_points

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = [line.split()[1:] for line in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()]
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, image: example.com/train:1, command: [torchrun, train.py]}
"""
FAILING_MODULE = """\
from trainc.api.findings import Finding
from trainc.api.plugins import Lint, Passes, Plugin, always


def run(job, policy, info):
    if job.name in ("llm", "job"):
        {body}
    return info


def lint(job, info):
    return (Finding("A", "bad", 1, None, "spec"),) if "{name}" == "misfinds" and job.name in ("llm", "job") else ()


PASSES = Passes(enforce_ml_policy=run)
PLUGIN = Plugin("{name}", "{name}", applies_to=always, lints=(Lint("lowered", "{name}", "lint"),))
"""
FAILING = {
    "raises": "raise OSError('no licence')",
    "leaves": "raise SystemExit(0)",
    "recurses": "run(job, policy, info)",
    "forgets": "return None",
    "misfinds": "pass",
    "prints": "print('kind: Evil')",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the page's distribution, beside another one that is of no use."""
    builders = pytest.importorskip("hatchling.builders.wheel")
    source, target = tmp_path_factory.mktemp("acme"), tmp_path_factory.mktemp("site")
    for name, text in FILES.items():
        (source / name).write_text(text, encoding="utf-8")
    (wheel,) = builders.WheelBuilder(str(source)).build(directory=str(source / "dist"), versions=["standard"])
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*install, wheel], check=True)
    (target / "useless.py").write_text("PLUGIN = None\n", encoding="utf-8")
    (target / "failing.py").write_text("raise OSError('no licence')\n", encoding="utf-8")
    metadata = target / "useless-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: useless\nVersion: 1\n", encoding="utf-8")
    for name, body in FAILING.items():
        (target / f"{name}.py").write_text(FAILING_MODULE.format(name=name, body=body), encoding="utf-8")
    points = (
        *(f"{name} = {name}:PLUGIN" for name in FAILING),
        "useless = useless:PLUGIN",
        "failing = failing:PLUGIN",
        "again = acme_trainc:PLUGIN",
    )
    (metadata / "entry_points.txt").write_text("\n".join(["[trainc.plugins]", *points]), encoding="utf-8")
    return target


def trainc(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line in a folder, with what is installed in `site`."""
    path = os.pathsep.join((str(ROOT / "compiler"), str(site)))
    return subprocess.run(
        [sys.executable, "-m", "trainc", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    return tmp_path


def test_the_page_is_short_and_its_commands_work(site: Path, folder: Path) -> None:
    assert len(PAGE.partition("## What a plugin uses")[0].splitlines()) <= 60
    check, explain = (trainc(site, folder, *words) for words in COMMANDS)
    assert (check.returncode, explain.returncode) == (0, 0)
    assert "warning[AcmeNoDeadline] spec.activeDeadlineSeconds: the job may run forever" in check.stderr
    assert "plugin Acme" in explain.stdout


def test_it_takes_part_only_where_it_is_chosen(site: Path, folder: Path) -> None:
    label = "acme.example.com/cost-center: team-a"
    assert label not in trainc(site, folder, "build", "job.yaml").stdout
    assert label in trainc(site, folder, "build", "job.yaml", "--plugin", "acme").stdout
    (folder / "trainc.yaml").write_text("plugins: [acme]\n", encoding="utf-8")
    assert label in trainc(site, folder, "build", "job.yaml").stdout


def test_every_form_of_diagnostics_takes_a_code_of_its_own(site: Path, folder: Path) -> None:
    for form in ("json", "github", "sarif"):
        done = trainc(site, folder, "check", "job.yaml", "--plugin", "acme", "--format", form)
        assert (done.returncode, "AcmeNoDeadline" in done.stdout + done.stderr) == (0, True)


def test_its_codes_are_governed_and_explained_as_any_others(site: Path, folder: Path) -> None:
    def check(settings: str, *words: str) -> subprocess.CompletedProcess[str]:
        (folder / "trainc.yaml").write_text(f"plugins: [acme]\n{settings}", encoding="utf-8")
        return trainc(site, folder, "check", *words)

    assert check("rules: {AcmeNoDeadline: error}\n").returncode == 1
    assert "AcmeNoDeadline" not in check("rules: {AcmeNoDeadline: ignore}\n").stderr.partition("FindingsIgnored")[0]
    assert "did you mean AcmeNoDeadline?" in check("rules: {AcmeNoDeadlin: ignore}\n").stderr
    assert "A job without a deadline holds its GPUs" in trainc(site, folder, "rule", "AcmeNoDeadline").stdout
    assert "AcmeNoDeadline " in trainc(site, folder, "rule", "--all").stdout
    # A runtime that no job uses is no job of anybody.
    assert check("").stderr.count("AcmeNoDeadline]") == 1
    (folder / "runtime.yaml").write_text(yaml.safe_dump(runtime(name="unused")), encoding="utf-8")
    assert check("").stderr.count("AcmeNoDeadline]") == 1
    job = JOB.replace("spec:\n", "spec: # trainc: ignore[AcmeNoDeadline] it ends by itself\n")
    (folder / "job.yaml").write_text(job, encoding="utf-8")
    assert check("", "--strict").returncode == 0


def test_a_name_that_is_not_installed_is_refused_with_those_that_are(site: Path, folder: Path) -> None:
    done = trainc(site, folder, "build", "job.yaml", "--plugin", "acm")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[UnknownPlugin] there is no plugin 'acm'" in done.stderr
    assert "did you mean acme?" in done.stderr
    assert "installed are acme, again, failing, " in trainc(site, folder, "check", "--plugin", "x").stderr


@pytest.mark.parametrize(
    "words",
    [("graph", "job.yaml"), ("explain", "job.yaml"), ("report", ".", "-o", "-"), ("diff", "job.yaml", "job.yaml")],
)
def test_every_command_says_so(site: Path, folder: Path, words: tuple[str, ...]) -> None:
    done = trainc(site, folder, *words, "--plugin", "acm")
    assert done.returncode == 1
    assert "error[UnknownPlugin]" in done.stderr


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("useless", "refers to useless:PLUGIN, which is not a trainc.api.plugins.Plugin"),
        ("failing", "cannot be imported: OSError: no licence"),
    ],
)
def test_a_plugin_that_is_of_no_use_is_refused(site: Path, folder: Path, name: str, reason: str) -> None:
    done = trainc(site, folder, "build", "job.yaml", "--plugin", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error[BrokenPlugin] plugin '{name}' {reason}" in done.stderr


@pytest.mark.parametrize("name", [name for name in FAILING if name != "prints"])
def test_a_plugin_that_fails_at_a_job_is_an_error_of_that_job(site: Path, folder: Path, name: str) -> None:
    (folder / "other.yaml").write_text(JOB.replace("llm", "other"), encoding="utf-8")
    (folder / "trainc.yaml").write_text(f"plugins: [{name}]\noutput: out\n", encoding="utf-8")
    # It is tried with the smallest job that could use it, which is called job.
    (folder / "runtime.yaml").write_text(yaml.safe_dump(runtime(name="unused")), encoding="utf-8")
    done = trainc(site, folder, "build", "--keep-going")
    assert (done.returncode, [file.name for file in (folder / "out" / "team-a").iterdir()]) == (1, ["other.yaml"])
    assert f"error[BrokenPlugin] metadata.name: a plugin failed at this job ({name})" in done.stderr
    assert trainc(site, folder, "check", "runtime.yaml").returncode == 0


def test_what_a_plugin_prints_is_no_part_of_the_manifests(site: Path, folder: Path) -> None:
    done = trainc(site, folder, "build", "job.yaml", "--plugin", "prints")
    assert (done.returncode, "Evil" in done.stdout, "Evil" in done.stderr) == (0, False, True)


def test_two_plugins_of_one_name_are_refused(site: Path, folder: Path) -> None:
    done = trainc(site, folder, "build", "job.yaml", "--plugin", "acme", "--plugin", "again")
    assert "error[BrokenPlugin] plugin 'again' is called 'Acme', like another plugin" in done.stderr


def test_a_module_of_the_repository_is_never_imported(site: Path, folder: Path) -> None:
    (folder / "acme_local.py").write_text("raise SystemExit(42)\n", encoding="utf-8")
    for name in ("acme_local", "acme_local:PLUGIN", "./acme_local.py"):
        (folder / "trainc.yaml").write_text(f"plugins: ['{name}']\n", encoding="utf-8")
        done = trainc(site, folder, "build", "job.yaml")
        assert done.returncode == 1
        assert "error[UnknownPlugin]" in done.stderr


def test_other_code_under_the_same_name_finds_no_result_of_the_former(site: Path, tmp_path: Path) -> None:
    changing = tmp_path / "site"
    shutil.copytree(site, changing)
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    for name in ("a", "b"):
        (jobs / f"{name}.yaml").write_text(JOB.replace("llm", name), encoding="utf-8")
    words = ("build", "jobs", "--plugin", "acme")
    assert trainc(changing, tmp_path, *words).stdout.count("cost-center: team-a") == 2
    module = changing / "acme_trainc.py"
    module.write_text(module.read_text(encoding="utf-8").replace("cost-center", "budget"), encoding="utf-8")
    assert trainc(changing, tmp_path, *words).stdout.count("budget: team-a") == 2
    assert "cost-center" not in trainc(changing, tmp_path, *words[:2], *words[4:]).stdout


def test_python_callers_choose_it_by_an_option(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))
    for cached in (registry.enabled, entry_points.choose):
        cached.cache_clear()
    result = compile_trainjob(trainjob(), [runtime()], Options(release="2.3", plugins=("acme",)))
    assert result.manifests[0]["metadata"]["labels"] == {"acme.example.com/cost-center": "team-a"}
    assert [diagnostic.code for diagnostic in result.diagnostics] == ["AcmeNoDeadline"]
    for cached in (registry.enabled, entry_points.choose):
        cached.cache_clear()


@pytest.mark.parametrize("kind", [Info, PodSet, Container])
def test_the_page_has_what_a_plugin_can_ask_for_and_no_more(kind: type) -> None:
    shown = PAGE.partition(f"| of a{'n' * (kind is Info)} {kind.__name__} |")[2].partition("\n\n")[0]
    assert shown.splitlines()[2:] == list(interface_of(kind))


def interface_of(kind: type) -> Iterator[str]:
    """The rows of a table: each property and method as one writes it, with the first line of its docstring."""
    for name, member in vars(kind).items():
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            of_method = [] if isinstance(member, property) else [*inspect.signature(member).parameters.values()][1:]
            given = ", ".join(str(parameter).partition(":")[0] for parameter in of_method)
            called = name if isinstance(member, property) else f"{name}({given})"
            yield f"| `{called}` | {(inspect.getdoc(member) or '').partition(chr(10))[0]} |"
