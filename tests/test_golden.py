"""Golden cases: every file of tests/cases compiled, compared with golden/, and held to the same invariants."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from io import StringIO
from pathlib import Path

import pytest
import yaml
from golden_files import GoldenFile
from ruamel.yaml import YAML
from syrupy.assertion import SnapshotAssertion

from trainc import Options
from trainc.compilation import Compilation
from trainc.functions import compile_documents
from trainc.options import Limits
from trainc.reading.catalog import find, names
from trainc.reading.yaml_reader import read_documents

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.golden
CASES = {path.stem: path for path in sorted((ROOT / "tests" / "cases").glob("*.yaml"))}


def options_of(case: str) -> Options:
    """The options that the first line of a case names, as flags of `trainc build`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", required=True)
    parser.add_argument("--semantics", default="gitops")
    parser.add_argument("--gang", default="runtime")
    parser.add_argument("--kubernetes")
    first_line = CASES[case].read_text(encoding="utf-8").partition("\n")[0]
    return Options(**vars(parser.parse_args(shlex.split(first_line.removeprefix("# trainc:")))))


def compile_case(case: str) -> Compilation:
    documents, problems = read_documents(CASES[case].read_bytes(), f"tests/cases/{case}.yaml", Limits())
    assert not problems
    before = json.dumps([document.data for document in documents])
    result = compile_documents(documents, (), options_of(case), find)
    assert json.dumps([document.data for document in documents]) == before, "the inputs were changed"
    return result


# syrupy expects snapshots beside the test; ours have a folder of their own that people read.
@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot:UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_a_case_compiles_to_its_golden(case: str, snapshot: SnapshotAssertion) -> None:
    golden = snapshot.use_extension(GoldenFile)
    assert compile_case(case).to_yaml() == golden(name=case)


@pytest.mark.parametrize("case", CASES)
def test_output_reads_the_same_under_yaml_1_1_and_1_2(case: str) -> None:
    result = compile_case(case)
    text = result.to_yaml()
    assert list(yaml.safe_load_all(text)) == result.manifests
    assert list(YAML(typ="safe", pure=True).load_all(StringIO(text))) == result.manifests


def test_every_runtime_of_the_catalog_has_a_case() -> None:
    compiled_from = {
        line.split("{name: ")[1].split("}")[0].split(",")[0]
        for path in CASES.values()
        for line in path.read_text(encoding="utf-8").splitlines()
        if "runtimeRef: {name: " in line
    }
    assert set(names()) - compiled_from == set()


# Needs trainc and nothing of the tests, so that interpreters without pytest can run it.
COMPILE_ALL = """
import io, shlex, sys
from trainc.cli.command import Streams
from trainc.cli.main import main
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as stream:
        flags = shlex.split(stream.readline().removeprefix("# trainc:"))
    out = io.BytesIO()
    assert main(["build", path, *flags], Streams(sys.stdin.buffer, out, sys.stderr)) == 0
    sys.stdout.buffer.write(out.getvalue())
"""


def compiled_elsewhere(python: str, environment: dict[str, str], folder: Path) -> str:
    """The output of all cases from one process that runs in `folder`."""
    paths = [str(path) for path in CASES.values()]
    process = subprocess.run(
        [python, "-c", COMPILE_ALL, *paths],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout.decode()


@pytest.fixture(scope="module")
def compiled_here() -> str:
    return "".join(compile_case(case).to_yaml() for case in CASES)


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "4242"},
        {"LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0", "PYTHONHASHSEED": "7"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Kathmandu"},
    ],
)
def test_the_bytes_are_the_same_elsewhere(environment: dict[str, str], compiled_here: str, tmp_path: Path) -> None:
    assert compiled_elsewhere(sys.executable, environment, tmp_path) == compiled_here


@pytest.mark.parametrize("minor", [m for m in range(11, 16) if m != sys.version_info.minor])
def test_the_bytes_are_the_same_under_another_python(minor: int, compiled_here: str, tmp_path: Path) -> None:
    python = shutil.which(f"python3.{minor}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no Python 3.{minor} here")
    # Its own packages are not needed: what this interpreter has works there too, less the compiled parts.
    packages = os.pathsep.join([str(ROOT / "compiler"), sysconfig.get_path("purelib")])
    assert compiled_elsewhere(python, {"PYTHONPATH": packages}, tmp_path) == compiled_here
