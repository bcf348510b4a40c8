"""What `--watch` remembers: after any edits of input and output, a build with a memory is what a build without one is."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from commands import run
from hypothesis import given, settings
from hypothesis import strategies as st

from trainc.batch.run import Memory
from trainc.cli.build import build
from trainc.cli.command import COMMANDS, Streams, build_parser, parse_arguments

pytestmark = pytest.mark.slow

JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, namespace: team-a}}
spec:
  runtimeRef: {{name: own}}
  trainer: {{numNodes: {nodes}, image: "example.com/train:{nodes}"}}
"""
RUNTIME = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: own}}
spec:
  mlPolicy: {{numNodes: 1, torch: {{}}}}
  template: {{spec: {{replicatedJobs: [{{name: node, template: {{spec: {{template: {{spec: {{containers: [{{name: node, image: {image}}}]}}}}}}}}}}]}}}}
"""
NAMES = ("a", "b", "c")
EDIT = st.tuples(
    st.sampled_from(("write", "remove", "twice", "runtime", "break", "output", "stray")),
    st.sampled_from(NAMES),
    st.integers(1, 9),
)


def edit(folder: Path, what: str, name: str, nodes: int) -> Path:
    """Change something, and say which file."""
    job, out = folder / "jobs" / f"{name}.yaml", folder / "out" / "team-a" / f"{name}.yaml"
    if what in ("write", "twice"):
        job.write_text(JOB.format(name=name if what == "write" else "a", nodes=nodes))
    elif what == "remove":
        job.unlink(missing_ok=True)
    elif what == "runtime":
        job = folder / "jobs" / "runtime.yaml"
        job.write_text(RUNTIME.format(image=f"base:{nodes}"))
    elif what == "break":
        job.write_text(JOB.format(name=name, nodes="many"))
    elif what == "output" and out.exists():
        # Somebody else's change, which no watch tells of.
        out.write_text(out.read_text().replace("example.com", "example.org"))
    elif what == "stray" and out.parent.exists():
        (out.parent / f"stray-{name}.yaml").write_text((out.read_text() if out.exists() else "") + "# stray\n")
    return job


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.rglob("*.yaml")}


@given(st.lists(st.lists(EDIT, min_size=1, max_size=2), min_size=1, max_size=5))
@settings(max_examples=40)
def test_a_build_with_a_memory_is_what_a_build_without_one_is(
    tmp_path_factory: pytest.TempPathFactory, saves: list[list[tuple[str, str, int]]]
) -> None:
    folder = tmp_path_factory.mktemp("watched")
    (folder / "jobs").mkdir()
    for name in NAMES:
        edit(folder, "write", name, 1)
    edit(folder, "runtime", "", 1)
    words = [str(folder / "jobs"), "--release", "2.3", "--prune", "--allow-empty", "-o"]
    arguments, memory = parse_arguments(build_parser(COMMANDS[0]), [*words, str(folder / "out")]), Memory()
    for save in [[], *saves]:
        memory.forget([str(edit(folder, *each)) for each in save])
        shutil.rmtree(folder / "new", ignore_errors=True)
        if (folder / "out").exists():
            shutil.copytree(folder / "out", folder / "new")
        err = io.StringIO()
        status = build(arguments, Streams(io.BytesIO(), io.BytesIO(), err), memory)
        fresh = run("build", *words, str(folder / "new"))
        told = fresh.stderr.replace(str(folder / "new"), str(folder / "out"))
        assert (status, err.getvalue(), files(folder / "out")) == (fresh.status, told, files(folder / "new"))
