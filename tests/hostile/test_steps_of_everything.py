"""Every command and every request of the language server takes steps in proportion to its input.

A new generator joins GROWING, a new command COMMANDS: steps are counted at n, 2n and 4n, and not timed.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hostile_inputs import AMONG, BESIDE, CLUSTER, GROWING, HEAD, beside
from lsprotocol import types
from requests_of_editors import REQUESTS, answer
from steps import assert_linear, steps

from trainc.cli.command import Streams, commands
from trainc.cli.main import main
from trainc.features.authoring.lsp import server as serving

pytestmark = pytest.mark.slow
SIZES = (60, 120, 240)
# Above the number of jobs from which the report leaves out details.
SIZES_OF_REPORT = (120, 240, 480)
# The commands that take a file of any number of jobs, and how.
COMMANDS: Mapping[str, str] = {
    "build": "build FILE",
    "check": "check FILE",
    "diff": "diff good.yaml FILE",
    "doctor": "doctor FILE --from cluster.yaml",
    "explain": "explain FILE",
    "fits": "fits FILE --cluster cluster.yaml",
    "why": "why --dump FILE",
    "graph": "graph FILE",
    "krm": "krm",
    "migrate": "migrate --diff FILE",
    "report": "report FILE -o -",
    "run": "run FILE --dry-run",
}
# These read no document that anybody may have written, or wait for one that reads them.
OTHERS = {"rule", "runtimes", "schema", "help", "version", "completion", "lsp", "init", "new", "import", "sdk", "cmp"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(HEAD, encoding="utf-8")
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")


def test_every_command_is_counted_or_reads_no_documents() -> None:
    assert {command.name for command in commands()} - OTHERS == set(COMMANDS)


def counted(work: Callable[[int], None], sizes: Sequence[int] = SIZES) -> list[int]:
    """The steps at each size, the second time: what is remembered of an input is remembered before it is counted."""
    found = []
    work(sizes[0])  # What only the first runs do, such as reading tables, depends on nothing of n.
    for n in sizes:
        work(n)
        found.append(steps(lambda n=n: work(n)))  # type: ignore[misc]
    return found


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("shape", GROWING)
def test_a_command_takes_steps_in_proportion(shape: str, command: str) -> None:
    def work(count: int) -> None:
        text = GROWING[shape](count)
        Path(f"{count}.yaml").write_text(text, encoding="utf-8")
        words = [
            *COMMANDS[command].replace("FILE", f"{count}.yaml").split(),
            *(() if command in ("krm", "migrate") else ("--release", "2.3")),
        ]
        status = main(words, Streams(io.BytesIO(text.encode()), io.BytesIO(), io.StringIO()))
        assert status in (0, 1, 2)

    assert_linear(counted(work, SIZES_OF_REPORT if (shape, command) == ("jobs", "report") else SIZES))


@pytest.mark.parametrize("what", [what for what in BESIDE if what != "environments"])
def test_other_documents_take_steps_in_proportion(what: str) -> None:
    def work(count: int) -> None:
        words = beside(Path(), what, count)
        assert main(words, Streams(io.BytesIO(), io.BytesIO(), io.StringIO())) in (0, 1)

    assert_linear(counted(work))


@pytest.mark.parametrize("what", AMONG)
def test_jobs_among_as_many_documents_take_steps_in_proportion(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # So many names are compared with each that is not there.
    monkeypatch.setattr("trainc.findings.text._MOST_COMPARED", 20)
    monkeypatch.setattr("trainc.findings.text._BESIDE", 5)

    command, content = AMONG[what]

    def work(count: int) -> None:
        Path("jobs.yaml").write_text(content(count), encoding="utf-8")
        words = [*command.split(), "jobs.yaml", "--release", "2.3"]
        assert main(words, Streams(io.BytesIO(), io.BytesIO(), io.StringIO())) in (0, 1)

    assert_linear(counted(work, (30, 60, 120)))


def test_every_request_is_counted() -> None:
    asked = {method for method, _, _ in serving.REQUESTS} | {types.TEXT_DOCUMENT_DOCUMENT_SYMBOL}
    assert asked == set(REQUESTS) - {types.TEXT_DOCUMENT_DID_OPEN}


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("shape", GROWING)
def test_a_request_takes_steps_in_proportion(shape: str, request_: str, tmp_path: Path) -> None:
    def work(count: int) -> None:
        answer(request_, GROWING[shape](count), tmp_path)

    # lsprotocol and typing build some of their tables late, whatever is asked.
    assert_linear(counted(work), 8_000)
