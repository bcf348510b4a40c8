"""What a command imports, as names and not as times: start-up is a sum of imports, and each one here was measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from trainc.cli.command import Command, commands
from trainc.features import features
from trainc.plugins import FOLDERS

RECORD = """
import sys
before = set(sys.modules)
{statement}
print("imported", *sorted(set(sys.modules) - before), file=sys.stderr)
"""
JOB = """\
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
  namespace: team-a
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 4
    image: registry.example.com/team-a/train:1.2
    command: [torchrun, train.py]
    args: [--lr=0.1, --settings=settings/base.yaml]
    env: [{name: RUN, value: first}, {name: NCCL_DEBUG, value: WARN}]
    resourcesPerNode: {requests: {cpu: 96, memory: 1800Gi}, limits: {nvidia.com/gpu: 8}}
  runtimePatches:
  - manager: team-a.example.com/llm
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
                    containers: [{name: node, volumeMounts: [{name: data, mountPath: /data}]}]
"""
# Each takes between one and eighty milliseconds, and nothing that compiles plain documents needs one of them.
HEAVY = {
    *("yaml", "ruamel", "jsonschema", "jinja2", "deepmerge", "dask"),
    *("asyncio", "concurrent", "dataclasses", "datetime", "decimal", "difflib", "email", "hashlib", "inspect"),
    *("json", "logging", "multiprocessing", "pathlib", "random", "shutil", "subprocess", "tempfile"),
    *("threading", "urllib", "uuid", "xml"),
}
# Only for words that trainc.cli.words does not read, and for what is not on the way of plain documents.
FOR_WORDS = {"argparse", "contextlib", "gettext", "importlib", "locale", "typing", "warnings"}
# Regular expressions, and what imports them: a tenth of what one job takes.
PATTERNS = {"re", "enum", "fnmatch"}
# For commands that explain, and for values that are not plain.
UNUSUAL = {
    *("bisect", "encodings.utf_8_sig", "textwrap"),
}
# What is behind the record of a plugin, and which of it a job of torch needs.
BEHIND = ("passes", "explain", "lints")
CONCERNED = {("torch", "passes"), ("jobset", "passes")}
# What does not concern a job of torch without gang, initializer, Secret or dialect.
UNCONCERNED = {
    *(feature.package for feature in features()),
    "trainc.project.overlays",
    *(f"trainc.explain.{name}" for name in ("history", "model", "replay", "text")),
    *(f"trainc.admission.{name}" for name in ("rendered", "updates")),
    # The record of each, in its `__init__`, is light: others read it for every job.
    *(f"trainc.plugins.{folder}.{name}" for folder in FOLDERS for name in BEHIND if (folder, name) not in CONCERNED),
    *(f"trainc.reading.{name}" for name in ("libyaml", "json_text", "syntax_errors")),
    *(f"trainc.lints.{name}" for name in ("controller_defects", "kueue", "parallelism")),
    *(f"trainc.emit.{name}" for name in ("name_hash", "secrets")),
    *("trainc.kube.re2", "trainc.project.dialects.ome", "trainc.project.dialects.v2alpha1"),
    *("trainc.schema.explanation", "trainc.schema.unknown_fields", "trainc.schema.document_kinds"),
    *("trainc.project.budgets", "trainc.project.settings", "trainc.project.trainc_yaml"),
    *("trainc.kube.bounds", "trainc.output.ownership"),
}


def imported(statement: str) -> list[str]:
    """What a statement imports in a fresh Python, beyond what that had from the start."""
    command = [sys.executable, "-c", RECORD.format(statement=statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    word, *modules = done.stderr.splitlines()[-1].split()
    assert word == "imported"
    return modules


def within(modules: list[str], homes: set[str]) -> list[str]:
    return [module for module in modules if any(module == home or module.startswith(f"{home}.") for home in homes)]


def test_compiling_a_plain_job_imports_nothing_heavy_and_nothing_that_does_not_concern_it(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(JOB)
    modules = imported(f"from trainc.cli.main import main; main(['build', {str(job)!r}, '--release', '2.3'])")
    assert {f"trainc.plugins.{folder}.{name}" for folder, name in CONCERNED} <= set(modules)
    assert within(modules, HEAVY | PATTERNS | FOR_WORDS | UNUSUAL | UNCONCERNED) == []


# What is needed only once the words of a command are right.
COMPILING = {
    *(f"trainc.{folder}" for folder in ("plugins", "lints", "admission", "emit", "output", "pipeline", "explain")),
    *("trainc.reading", "trainc.pods", "trainc.ir"),
}


# `version` reads PORT.yaml, and lists the plugins from their table, without a record of one.
READS_PORT = {
    *("trainc.plugins", "trainc.reading"),
    *(f"trainc.reading.{name}" for name in ("block_lines", "document", "positions", "yaml_reader")),
}


@pytest.mark.parametrize(
    "words", [["--help"], ["version"], ["rule", "UnknownField"], ["completion", "bash"], ["build", "--help"]]
)
def test_a_command_imports_nothing_heavy_to_explain_itself(words: list[str]) -> None:
    modules = imported(f"from trainc.cli.main import main; main({words})")
    assert set(within(modules, HEAVY | COMPILING)) <= READS_PORT
    assert within(modules, FOR_WORDS) == [] or words == ["build", "--help"]


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name)
def test_a_wrong_option_imports_only_what_says_so(command: Command) -> None:
    modules = imported(f"from trainc.cli.main import main; main([{command.name!r}, '--unheard-of'])")
    # difflib looks for near names; argparse imports shutil for a command that has commands of its own.
    assert within(modules, (HEAVY | COMPILING) - {"difflib", "shutil"}) == []


def test_importing_trainc_imports_next_to_nothing() -> None:
    assert set(imported("import trainc")) == {"__future__", "trainc", "trainc.startup", "trainc.startup.typing"}
