"""A made-up repository of many jobs and clusters, edits of single lines in it, and what becomes of its jobs.

An edit is one difference: the lines that it writes or removes in one file. What is true of causes is found by compiling
the repository with some of the edits only, which needs nothing of how trainc finds them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from trainc import CompileError, Options, compile_paths

Tree = dict[str, str]
Job = tuple[str, str]
ENVIRONMENTS = ("east", "north", "west")
API = "trainer.kubeflow.org/v1alpha1"
RUNTIMES = ("torch-a100", "torch-h100", "mpi-h100")


def job_text(number: int) -> str:
    return f"""\
apiVersion: {API}
kind: TrainJob
metadata:
  name: job-{number}
  namespace: team-{number % 3}
  labels:
    kueue.x-k8s.io/queue-name: queue-{number % 2}
spec:
  runtimeRef:
    name: {RUNTIMES[number % 3]}
  trainer:
    image: registry.example.com/team/train:{number % 4}
    command: [python, train.py]
    args:
    - --epochs
    - "{number}"
    - --fast
    numNodes: {number % 3 + 1}
    env:
    - name: SEED
      value: "{number}"
    resourcesPerNode:
      requests:
        cpu: 4
"""


def runtime_text(name: str) -> str:
    mpi = name.startswith("mpi")
    policy = "    mpi:\n      mpiImplementation: OpenMPI\n" if mpi else "    torch: {}\n"
    launcher = f"""\
      - name: launcher
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: registry.example.com/base/{name}:1
"""
    node = f"""\
      - name: node
        template:
          metadata:
            labels:
              team: platform{"" if mpi else chr(10) + "              trainer.kubeflow.org/trainjob-ancestor-step: trainer"}
          spec:
            template:
              spec:
                nodeSelector:
                  accelerator: {name}
                containers:
                - name: node
                  image: registry.example.com/base/{name}:1
                  env:
                  - name: NCCL_DEBUG
                    value: WARN
                  resources:
                    requests:
                      cpu: 2
"""
    return f"""\
apiVersion: {API}
kind: ClusterTrainingRuntime
metadata:
  name: {name}
spec:
  mlPolicy:
    numNodes: 2
{policy}  template:
    spec:
      network:
        publishNotReadyAddresses: true
      replicatedJobs:
{launcher if mpi else ""}{node}"""


TEMPLATE = f"""\
apiVersion: {API}
kind: TrainJob
metadata:
  name: from-template
  namespace: team-0
spec:
  runtimeRef:
    name: torch-h100
  trainer:
    image: registry.example.com/team/template:1
    numNodes: {{{{ nodes }}}}
    env:
    - name: STORE
      value: "{{{{ store }}}}"
"""


def overlay_text(environment: str) -> str:
    mirrors = f"mirrors:\n  registry.example.com: {environment}.example.com\n" if environment != "west" else ""
    images = 'images:\n- name: registry.example.com/team/train\n  newTag: "7"\n' if environment == "north" else ""
    base = "resources:\n- ../base\n" if environment == "east" else ""
    return f"""\
apiVersion: trainc/v1alpha1
kind: Overlay
metadata:
  name: {environment}
{base}labels:
- pairs:
    cluster: {environment}
{mirrors}{images}values:
  nodes: 2
  store: s3://{environment}
patches:
- target:
    kind: TrainJob
    name: job-1
  patch:
    spec:
      trainer:
        numNodes: 5
- target:
    kind: ClusterTrainingRuntime
    name: torch-h100
  patch:
    spec:
      mlPolicy:
        numNodes: 3
"""


def monorepo(jobs: int = 30) -> Tree:
    tree = {f"jobs/team-{n % 3}/job-{n}.yaml": job_text(n) for n in range(jobs)}
    tree["jobs/team-0/from-template.yaml.j2"] = TEMPLATE
    tree |= {f"runtimes/{name}.yaml": runtime_text(name) for name in RUNTIMES}
    tree |= {f"envs/{environment}/overlay.yaml": overlay_text(environment) for environment in ENVIRONMENTS}
    extra = job_text(90).replace("job-90", "of-base")
    tree["envs/base/overlay.yaml"] = (
        "apiVersion: trainc/v1alpha1\nkind: Overlay\nmetadata:\n  name: base\nresources:\n- job.yaml\n"
        'images:\n- name: registry.example.com/team/train\n  newTag: "8"\n'
    )
    tree["envs/base/job.yaml"] = extra
    settings = "release: '2.3'\nsources: [jobs]\nruntimes: [runtimes]\nenvironments:\n"
    for environment in ENVIRONMENTS:
        settings += f"  {environment}:\n    overlay: envs/{environment}\n    output: clusters/{environment}\n"
        settings += f"    delivery: kubectl # {environment}\n"
    tree["trainc.yaml"] = settings
    return tree


@dataclass(frozen=True)
class Edit:
    """One difference: `change` returns the new text of `file`, None if the file goes; `names` says what it does."""

    name: str
    file: str
    change: Callable[[str], str | None] = field(compare=False)


def line_edit(name: str, file: str, pattern: str, new: str | Callable[[re.Match[str]], str]) -> Edit:
    return Edit(name, file, lambda text: re.sub(pattern, new, text, count=1, flags=re.MULTILINE))


def possible_edits(tree: Tree, rng: random.Random) -> list[Edit]:
    """One edit of every kind, at random places."""
    job = rng.choice([file for file in tree if re.fullmatch(r"jobs/team-\d/job-\d+\.yaml", file)])
    other = rng.choice([file for file in tree if re.fullmatch(r"jobs/team-\d/job-\d+\.yaml", file) and file != job])
    runtime = f"runtimes/{rng.choice(RUNTIMES)}.yaml"
    environment = rng.choice(ENVIRONMENTS)
    overlay, n = f"envs/{environment}/overlay.yaml", rng.randrange(100, 999)
    template = "jobs/team-0/from-template.yaml.j2"
    edits = [
        line_edit("job image", job, r"train:\d+", f"train:{n}"),
        line_edit("job image name", job, r"team/train:", f"team/other{n}:"),
        line_edit("job nodes", job, r"numNodes: \d+", f"numNodes: {n % 7 + 4}"),
        line_edit("job without nodes", job, r"    numNodes: \d+\n", ""),
        line_edit("job env", job, r'value: "\d+"', f'value: "{n}"'),
        line_edit("job env added", job, r"    env:\n", f"    env:\n    - {{name: ADDED, value: '{n}'}}\n"),
        line_edit("job arg", job, r'- "\d+"', f'- "{n}"'),
        line_edit("job arg removed", job, r"    - --fast\n", ""),
        line_edit("job arg added", job, r"    - --fast\n", f"    - --fast\n    - --n{n}\n"),
        line_edit("job runtime", job, r"name: (torch|mpi)-\w+", "name: torch-h100"),
        line_edit("job queue", job, r"queue-\d", f"queue-{n}"),
        line_edit("job cpu", job, r"cpu: 4", f"cpu: {n}"),
        line_edit("job comment", job, r"^spec:", "# nothing\nspec:"),
        Edit("job ended", other, lambda _: None),
        Edit("job new", f"jobs/team-1/job-{n}.yaml", lambda _: job_text(n)),
        line_edit("job renamed", other, r"name: job-\d+", f"name: job-{n}x"),
        line_edit(
            "runtime image", runtime, r"(- name: node\n +)image: .*", rf"\1image: registry.example.com/base/x:{n}"
        ),
        line_edit("runtime env", runtime, r"value: WARN", "value: INFO"),
        line_edit("runtime selector", runtime, r"accelerator: .*", f"accelerator: a{n}"),
        line_edit("runtime nodes", runtime, r"numNodes: 2", f"numNodes: {n % 5 + 3}"),
        line_edit(
            "runtime toleration", runtime, r"^( +)nodeSelector:", r"\1tolerations: [{key: gpu}]\n\1nodeSelector:"
        ),
        line_edit("runtime cpu", runtime, r"cpu: 2", f"cpu: {n}"),
        line_edit("overlay label", overlay, r"cluster: .*", f"cluster: c{n}"),
        line_edit("overlay value nodes", overlay, r"nodes: 2", f"nodes: {n % 5 + 3}"),
        line_edit("overlay value store", overlay, r"store: .*", f"store: s3://{n}"),
        line_edit("overlay patch job", overlay, r"numNodes: 5", f"numNodes: {n % 5 + 6}"),
        line_edit("overlay patch runtime", overlay, r"numNodes: 3", f"numNodes: {n % 5 + 4}"),
        line_edit("overlay mirror", overlay, r"registry.example.com: .*", f"registry.example.com: m{n}.example.com"),
        line_edit("overlay image", overlay, r'newTag: "\d+"', f'newTag: "{n}"'),
        line_edit("base image", "envs/base/overlay.yaml", r'newTag: "\d+"', f'newTag: "{n}"'),
        line_edit("template image", template, r"template:\d+", f"template:{n}"),
        line_edit("template value", template, r"\{\{ store \}\}", f"{{{{ store }}}}/{n}"),
        line_edit("release", "trainc.yaml", r"release: '2.3'", "release: '2.2'"),
        line_edit(
            "delivery", "trainc.yaml", rf"delivery: kubectl # {environment}", f"delivery: argocd # {environment}"
        ),
    ]
    return [edit for edit in edits if edit.change(tree.get(edit.file, "")) != tree.get(edit.file)]


def with_edits(tree: Tree, edits: Iterable[Edit]) -> Tree:
    """The repository after some edits, in their order."""
    after: dict[str, str | None] = dict(tree)
    for edit in edits:
        if after.get(edit.file) is not None or edit.file not in tree:
            after[edit.file] = edit.change(after.get(edit.file) or "")
    return {file: text for file, text in after.items() if text is not None}


class Truth:
    """What the jobs of an environment are compiled to with some edits, each set of which is compiled once."""

    def __init__(self, tree: Tree, edits: list[Edit], folder: Path) -> None:
        self._tree, self._edits, self._folder = tree, edits, folder
        self._known: dict[tuple[frozenset[str], str], Mapping[Job, Any] | None] = {}

    def jobs(self, names: Iterable[str], environment: str) -> Mapping[Job, Any] | None:
        """The manifests of each job with the edits of these names; None if that does not compile."""
        chosen = frozenset(names)
        key = chosen, environment
        if key not in self._known:
            self._known[key] = self._compiled(chosen, environment)
        return self._known[key]

    def _compiled(self, names: frozenset[str], environment: str) -> Mapping[Job, Any] | None:
        root = self._folder / "-".join(sorted(name.replace(" ", "_") for name in names) or ["none"])
        if not root.exists():
            write(with_edits(self._tree, [edit for edit in self._edits if edit.name in names]), root)
        settings = yaml.safe_load((root / "trainc.yaml").read_text())
        options = Options(release=settings["release"], delivery=settings["environments"][environment]["delivery"])
        try:
            compiled = compile_paths(
                [root / "jobs"], runtimes=[root / "runtimes"], overlays=[root / "envs" / environment], options=options
            )
        except CompileError:
            return None
        return {(job.namespace, job.name): job.manifests for job in compiled.jobs}


def write(tree: Tree, root: Path) -> None:
    for file, text in tree.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
