"""`make port`: what a release of kubeflow/trainer changes, told from two commits of a made-up clone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]

CRD = """kind: CustomResourceDefinition
spec:
  names: {{kind: TrainJob}}
  versions:
  - name: v1alpha1
    schema: {{openAPIV3Schema: {{properties: {{spec: {{properties: {{numNodes: {numNodes}}}}}}}}}}}
"""
OLD = {
    "go.mod": "require (\n\tsigs.k8s.io/jobset v0.12.0\n)\n",
    "manifests/base/crds/trainjobs.yaml": CRD.format(numNodes="{type: integer}"),
    "manifests/base/runtimes/torch.yaml": "kind: ClusterTrainingRuntime\nmetadata: {name: torch}\nspec: {image: a}\n",
    "pkg/constants/constants.go": 'const (\n\tHost string = "A_HOST"\n)\nvar Reserved = sets.New(Host)\n',
    "pkg/features/features.go": "\tStatus: {Default: false, PreRelease: featuregate.Alpha},\n",
    "pkg/runtime/framework/plugins/mpi/mpi.go": "// one\npackage mpi\n",
    "pkg/runtime/framework/plugins/jax/jax.go": "// one\npackage jax\n",
}
NEW = {
    "go.mod": OLD["go.mod"].replace("12", "13"),
    "manifests/base/crds/trainjobs.yaml": CRD.format(
        numNodes="{type: integer, minimum: 0, default: 1, x-kubernetes-validations: [{rule: self >= 0, message: not negative}]}"
    ),
    "manifests/base/runtimes/torch.yaml": OLD["manifests/base/runtimes/torch.yaml"].replace("image: a", "image: b"),
    "pkg/constants/constants.go": 'const (\n\tHost string = "A_HOST"\n\tArgs string = "B_ARGS"\n)\nvar Reserved = sets.New(Host, Args)\n',
    "pkg/features/features.go": OLD["pkg/features/features.go"].replace("false", "true").replace("Alpha", "Beta"),
    "pkg/runtime/framework/plugins/mpi/mpi.go": '// two\npackage mpi\nvar text = "must not have reserved envs"\n',
    "pkg/runtime/framework/plugins/jax/jax.go": "// two\npackage jax\n",
}
FOUND = """
~ sigs.k8s.io/jobset: v0.12.0 -> v0.13.0
~ spec.numNodes: type=integer -> type=integer, default=1, minimum=0
+ spec.numNodes CEL self >= 0: not negative
+ Args: "B_ARGS"
~ Reserved: A_HOST -> A_HOST, B_ARGS
~ Status: alpha, off -> beta, on
torch ~ spec.image: a -> b
pkg/constants/constants.go: +2 -1
pkg/features/features.go: +1 -1
pkg/runtime/framework/plugins/mpi/mpi.go: +1 -0
    + must not have reserved envs
""".strip().splitlines()


def clone(folder: Path) -> Path:
    """A clone with the tags v1 and v2."""
    who = {f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}
    run = ("git", "-C", str(folder))
    subprocess.run([*run, "init", "-q"], check=True, env=environment)
    for tag, files in (("v1", OLD), ("v2", NEW)):
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        for words in (("add", "-A"), ("commit", "-q", "-m", f"feat: {tag} (#7)"), ("tag", tag)):
            subprocess.run([*run, *words], check=True, env=environment)
    return folder


def port(*words: str) -> subprocess.CompletedProcess[str]:
    script = TOP / "tools/scripts/port.py"
    return subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, check=False)


def test_each_kind_of_difference_is_listed_and_nothing_else(tmp_path: Path) -> None:
    folder = str(clone(tmp_path))
    lines = port(folder, "v2", "--since", "v1").stdout.splitlines()
    assert [line for line in lines if line[:2] in ("+ ", "- ", "~ ", "  ") or ": +" in line or " ~ " in line] == FOUND
    assert port(folder, "v2", "--since", "v2").stdout.count("no difference") == len(
        ("modules", "schema", "constants", "gates", "runtimes", "code", "commits")
    )


@pytest.mark.parametrize("words", [["v3", "--since", "v1"], ["v2", "--since", "2.4"], ["v2"]])
def test_what_the_clone_lacks_is_named(words: list[str], tmp_path: Path) -> None:
    done = port(str(clone(tmp_path)), *words)
    assert (done.returncode, done.stderr[:6]) == (2, "port: ")


def test_a_preview_ends_with_what_it_assumes(tmp_path: Path) -> None:
    folder = clone(tmp_path)
    subprocess.run(["git", "-C", str(folder), "tag", "v2.4.0", "v2"], check=True)
    assert "## What the preview of 2.4 assumes" in port(str(folder), "v2.4.0", "--since", "v1").stdout
