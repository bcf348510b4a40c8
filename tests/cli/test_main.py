"""The command line as a whole: exit codes, where output goes, and what is said about wrong usage."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run
from tables import cases

from trainc import __version__
from trainc.cli import rule
from trainc.cli.command import Command, commands
from trainc.cli.help import TOPICS, summary_of
from trainc.cli.parser import build_parser
from trainc.ir.deviations import deviations
from trainc.kube.releases import RELEASES
from trainc.plugins import FOLDERS
from trainc.reading.yaml_reader import read_port

LONGEST_HELP = 45
JOB = Path(__file__).parents[1] / "cases" / "torch-llm-pretrain.yaml"


def test_without_words_help_is_printed() -> None:
    result = run()
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.startswith("trainc compiles ")
    assert run("--help") == run("-h") == result


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name)
def test_the_help_of_a_command_fits_a_screen(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("help", command.name).stdout.splitlines()
    assert len(lines) <= LONGEST_HELP
    # A word that cannot be broken may stick out: the snapshot command, and names of files.
    assert [line for line in lines if len(line) > 84 and not line.lstrip().startswith(("kubectl", "trainc"))] == []


@pytest.mark.parametrize("command", [command.name for command in commands()])
def test_help_of_a_command_is_its_own_help(command: str) -> None:
    result = run(command, "-h")
    assert (result.status, result.stdout) == (0, run("help", command).stdout)


def test_an_option_is_in_the_help_of_its_command_or_in_a_topic_that_it_names() -> None:
    topics = {topic: run("help", topic).stdout for topic in TOPICS}
    for command in commands():
        shown = run("help", command.name).stdout
        shown += "".join(text for topic, text in topics.items() if f"trainc help {topic}" in shown)
        flags = {action.option_strings[-1] for action in build_parser(command)._actions if action.option_strings}
        assert {flag for flag in flags if not re.search(rf"{flag}\b", shown)} == set()


def test_help_lists_the_topics_and_shows_each() -> None:
    overview, everything = run("help").stdout, run("help", "commands").stdout
    for topic in TOPICS:
        assert topic in overview
        assert f"\n  {topic:<12}  {summary_of(topic)}\n" in everything
        assert run("help", topic).stdout.count("\n") > 3


def test_the_first_screen_has_ten_commands_and_says_where_the_others_are() -> None:
    overview, everything = run("help").stdout, run("help", "commands").stdout
    rows = [
        line.split()[0] for line in overview.splitlines() if line.startswith("  ") and "trainc" not in line.split()[0]
    ]
    listed = [name for name in rows if name in {command.name for command in commands()}]
    assert len(listed) == 10
    assert f"\n  {len(commands()) - 10} more: trainc help commands\n" in overview
    assert all(f"\n  {command.name:<12}  {command.summary}\n" in everything for command in commands())
    assert overview.count("\n") <= 32


@pytest.mark.parametrize("command", [command.name for command in commands()])
def test_the_help_of_a_command_teaches_by_example(command: str) -> None:
    shown = run(command, "--help").stdout
    assert shown.startswith(f"usage: trainc {command}")
    assert re.search(rf"\n  trainc {command}\b", shown.lower().partition("examples:")[2])


def test_the_version_names_what_is_followed() -> None:
    assert run("--version").stdout == run("-V").stdout == f"trainc {__version__}\n"
    shown = run("version").stdout
    assert shown.startswith(f"trainc {__version__}\n")
    assert all(f"\n  {release}  Trainer v{release}." in shown for release in RELEASES)
    assert f"\n{len(deviations())} deviations from the controller" in shown
    assert all(f"\n  {deviation.id}: " in run("version", "-v").stdout for deviation in deviations())
    assert all(
        f"\n  {folder or '(none: trainc only)'}: " in shown and name in shown for name, folder in FOLDERS.values()
    )


def test_the_port_lists_the_releases_that_there_are() -> None:
    port = read_port()
    assert tuple(port["releases"]) == RELEASES
    assert set(port) == {"repositories", "releases", "kueue", "tools", "deviations", "kept", "defects"}


DIFFERENCES = [entry for section in ("deviations", "kept", "defects") for entry in read_port()[section]]
# What each state comes with.
STATES = {
    "merged": {"since", "in"},
    "proposed": {"since", "in"},
    "proposed otherwise": {"since", "in", "because"},
    "declined": {"since", "in", "because"},
    "none found": {"asOf"},
    "not applicable": {"because"},
}


@pytest.mark.parametrize("entry", DIFFERENCES, ids=[entry["id"] for entry in DIFFERENCES])
def test_each_difference_says_what_upstream_says_of_it(entry: dict[str, Any]) -> None:
    column = entry["upstream"]
    assert set(column) == {"state", *STATES[column["state"]]}
    assert all(
        re.fullmatch(r"(kubeflow|kubernetes-sigs)/(trainer|jobset|kueue)#\d+", place)
        for place in column.get("in", ["kubeflow/trainer#1"])
    )
    assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", column.get("since") or column.get("asOf") or "2026-01")


def test_differences_have_names_of_their_own() -> None:
    assert len({entry["id"] for entry in DIFFERENCES}) == len(DIFFERENCES)


@pytest.mark.parametrize("words", [("--version", "-v"), ("version", "--verbose"), ("-V", "-v")])
def test_the_version_shows_what_upstream_says_where_it_is_asked_to(words: tuple[str, ...]) -> None:
    shown = run(*words).stdout
    assert "  patch-targets-checked: " in shown
    assert "\n    upstream: proposed since 2026-08-18 (kubeflow/trainer#3948)\n" in shown
    assert "\n    upstream: none found by 2026-11-22\n" in shown
    assert shown.count("    upstream: ") == len(DIFFERENCES)
    assert "upstream:" not in run("version").stdout


@cases("words", "expected")
def test_wrong_usage_ends_with_two(words: list[str], expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    result = run(*words)
    assert result.status == 2
    assert result.stdout == ""
    assert expected in result.stderr + capfd.readouterr().err


def test_a_defect_ends_with_three_and_asks_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError("an unforeseen thing")

    monkeypatch.setattr(rule, "page", broken)
    result = run("rule", "UnknownField")
    assert (result.status, result.stdout) == (3, "")
    assert "an unforeseen thing" in result.stderr
    assert "Please report it" in result.stderr


def test_ctrl_c_ends_with_130_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(rule, "page", interrupted)
    result = run("rule", "UnknownField")
    assert (result.status, result.stdout, result.stderr) == (130, "", "")


def trainc(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, as a shell starts it."""
    return subprocess.run([sys.executable, "-m", "trainc", *words], stderr=subprocess.PIPE, check=False, **options)


def test_a_reader_that_goes_away_is_not_an_error_of_ours() -> None:
    read, write = os.pipe()
    os.close(read)
    result = trainc("rule", "--all", stdout=write)
    os.close(write)
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "words",
    [["build", str(JOB), "--release", "2.3", "-q"], ["build", "--help"], ["runtimes", "show", "--help"], ["--help"]],
)
def test_a_full_disk_is_reported_in_a_line(words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        result = trainc(*words, stdout=full)
    assert (result.returncode, result.stderr) == (1, b"trainc: standard output: No space left on device\n")


def test_a_current_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    program = (
        f"import os; os.chdir({str(tmp_path / 'gone')!r}); os.rmdir('../gone'); from trainc.cli import main; main.run()"
    )
    done = subprocess.run([sys.executable, "-c", program, "check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "trainc: the current folder: No such file or directory\n")


def test_the_module_is_the_same_program() -> None:
    result = trainc("build", str(JOB), "--release", "2.3", stdout=subprocess.PIPE)
    assert (result.returncode, result.stdout.decode()) == (0, run("build", str(JOB), "--release", "2.3").stdout)


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--help"], {"yaml", "json", "jsonschema"}),
        (["rule", "UnknownField"], {"yaml", "jsonschema", "trainc.pipeline.compiler", "difflib"}),
        (["build", str(JOB), "--release", "2.3"], {"jsonschema", "jinja2", "ruamel.yaml", "deepmerge", "difflib"}),
    ],
)
def test_a_command_imports_only_what_it_needs(words: list[str], heavy: set[str]) -> None:
    program = f"import sys; from trainc.cli.main import main; main({words!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import site; site.main(); {program}"], capture_output=True, check=True
    )
    bare = subprocess.run([sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, check=True)
    assert heavy & (set(done.stderr.decode().split()) - set(bare.stdout.decode().split())) == set()
