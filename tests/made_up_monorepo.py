"""A made-up repository of many jobs and clusters, edits of single lines in it, and what becomes of its jobs.

An edit is one difference: the lines that it writes or removes. What is true of causes is found by compiling the repository
with some of the edits only, which needs nothing of how trainc finds them.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from commands import run

Tree = dict[str, str]
Job = tuple[str, str]
ENVIRONMENTS = ("east", "north", "west")
API = "trainer.kubeflow.org/v1alpha1"
RUNTIMES = ("torch-a100", "torch-h100", "mpi-h100")
_JOB = re.compile(r"\bjob-\d+\b")
# What is another TrainJob, and the same job.
_WITHOUT_EFFECT = "managedBy: trainer.kubeflow.org/trainjob-controller"


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


# A job for each item of a list that overlays have.
LIST = f"""\
{{% for item in items_of_list %}}
---
apiVersion: {API}
kind: TrainJob
metadata:
  name: of-{{{{ item.name }}}}
  namespace: team-0
spec:
  runtimeRef:
    name: torch-h100
  trainer:
    image: registry.example.com/team/list:1
    numNodes: {{{{ item.nodes }}}}
    args:
    - --name={{{{ item.name }}}}
{{% endfor %}}
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
  items_of_list:
  - {{name: ant, nodes: 1}}
  - {{name: bee, nodes: 2}}
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


SWEEP = """\
apiVersion: trainc/v1alpha1
kind: Sweep
metadata:
  name: sweep
base: base/job-80.yaml
parameters:
  rate: [1, 2]
  width: [3, 4]
exclude:
- {rate: 2, width: 4}
budget:
  gpuHours: 40
"""
# A text of the base that a parameter is a part of.
_PART = "    - --rate=${trialParameters.rate}\n"


def monorepo(*, kept: bool) -> Tree:
    tree = {f"jobs/team-{n % 3}/job-{n}.yaml": job_text(n) for n in range(30)}
    tree["jobs/team-0/from-template.yaml.j2"] = TEMPLATE
    tree["jobs/list.yaml.j2"], tree["jobs/sweep.yaml"] = LIST, SWEEP
    tree["jobs/base/job-80.yaml"] = job_text(80).replace("    - --fast\n", f"{_PART}    - --fast\n")
    tree |= {f"runtimes/{name}.yaml": runtime_text(name) for name in RUNTIMES}
    tree |= {f"envs/{environment}/overlay.yaml": overlay_text(environment) for environment in ENVIRONMENTS}
    tree["envs/base/overlay.yaml"] = (
        "apiVersion: trainc/v1alpha1\nkind: Overlay\nmetadata:\n  name: base\nresources:\n- job.yaml\n"
        'images:\n- name: registry.example.com/team/train\n  newTag: "8"\n'
    )
    tree["envs/base/job.yaml"] = job_text(90).replace("job-90", "of-base")
    settings = "release: '2.3'\nsources: [jobs]\nruntimes: [runtimes]\nenvironments:\n"
    settings = "rebuild: changed-jobs\n" + settings if kept else settings
    for environment in ENVIRONMENTS:
        settings += f"  {environment}:\n    overlay: envs/{environment}\n    output: clusters/{environment}\n"
        settings += f"    delivery: kubectl # {environment}\n"
    tree["trainc.yaml"] = settings
    return tree


@dataclass(frozen=True)
class Edit:
    """One difference: `change` returns the repository with it. An edit that `is_held` does not change a TrainJob."""

    name: str
    change: Callable[[Tree], Tree] = field(compare=False)
    is_held: bool = False


def line_edit(
    name: str,
    files: str | Sequence[str],
    pattern: str,
    new: str | Callable[[re.Match[str]], str],
    *,
    held: bool = False,
) -> Edit:
    """The same edit in one or several files, as far as they are there."""
    chosen = [files] if isinstance(files, str) else files

    def change(tree: Tree) -> Tree:
        texts = {file: tree[file] for file in chosen if file in tree}
        return tree | {file: re.sub(pattern, new, text, count=1, flags=re.MULTILINE) for file, text in texts.items()}

    return Edit(name, change, held)


def removed(file: str) -> Callable[[Tree], Tree]:
    return lambda tree: {other: text for other, text in tree.items() if other != file}


def moved(file: str, to: str) -> Callable[[Tree], Tree]:
    return lambda tree: {(to if other == file else other): text for other, text in tree.items()}


def possible_edits(tree: Tree, rng: random.Random, environment: str) -> list[Edit]:
    """One edit of every kind. A few places are chosen, so that edits often meet in one job."""
    jobs = [file for file in tree if re.fullmatch(r"jobs/team-\d/job-\d+\.yaml", file)]
    job = rng.choice([*jobs, *["jobs/team-1/job-1.yaml"] * 8])
    other = rng.choice([*jobs, *[job] * 12])
    several = rng.sample(jobs, 3)
    uses = re.search(r"name: ((torch|mpi)-\w+)", tree[job])
    assert uses
    runtime = f"runtimes/{rng.choice([*RUNTIMES, *[uses[1]] * 3])}.yaml"
    where = environment if rng.random() < 0.8 else rng.choice(ENVIRONMENTS)
    overlay, n = f"envs/{where}/overlay.yaml", rng.randrange(100, 999)
    template = "jobs/team-0/from-template.yaml.j2"
    rendered = f"clusters/{environment}/team-{Path(job).parent.name[-1]}/{Path(job).stem}.yaml"
    own_runtime = tree.get(runtime, "").replace(Path(runtime).stem, f"new-{n}")
    end = "  - --fast\n"
    edits = [
        line_edit("job image", job, r"train:\d+", f"train:{n}"),
        line_edit("job image name", job, r"team/train:", f"team/other{n}:"),
        line_edit("job nodes", job, r"numNodes: \d+", f"numNodes: {n % 7 + 4}"),
        line_edit("job without nodes", job, r"    numNodes: \d+\n", ""),
        line_edit("job env", job, r'value: "\d+"', f'value: "{n}"'),
        line_edit("job env added", job, r"    env:\n", f"    env:\n    - {{name: ADDED, value: '{n}'}}\n"),
        line_edit("job env removed", job, r'    - name: SEED\n      value: "\d+"\n', ""),
        line_edit("job arg", job, r'- "\d+"', f'- "{n}"'),
        line_edit("job arg removed", job, f"  {end}", ""),
        line_edit("job arg added", job, f"  {end}", f"  {end}    - --n{n}\n"),
        line_edit(
            "job args in another style", job, r"command: \[python, train.py\]", "command:\n    - python\n    - train.py"
        ),
        line_edit("job runtime", job, r"name: (torch|mpi)-\w+", "name: torch-h100"),
        line_edit("job queue", job, r"queue-\d", f"queue-{n}"),
        line_edit("job cpu", job, r"cpu: 4", f"cpu: {n}"),
        line_edit("job controller", job, r"^spec:", f"spec:\n  {_WITHOUT_EFFECT}"),
        line_edit("job comment", job, r"^spec:", "# nothing\nspec:"),
        line_edit("job label", job, r"  labels:\n", f"  labels:\n    added: n{n}\n"),
        line_edit("env of several jobs", several, r"    env:\n", f"    env:\n    - {{name: ADDED, value: '{n}'}}\n"),
        line_edit("value of several jobs", several, r'value: "\d+"', f'value: "{n}"'),
        Edit("job ended", removed(other)),
        Edit("job new", lambda tree: tree | {f"jobs/team-1/job-{n}.yaml": job_text(n)}),
        line_edit("job renamed", other, r"name: job-\d+", f"name: job-{n}x"),
        line_edit("job of another team", other, r"namespace: team-\d", "namespace: team-9"),
        Edit("job moved", moved(other, f"jobs/moved/{Path(other).name}")),
        Edit(
            "job moved and changed",
            lambda tree: line_edit("", f"jobs/moved/{n}.yaml", "--fast", "--slow").change(
                moved(other, f"jobs/moved/{n}.yaml")(tree)
            ),
        ),
        Edit(
            "runtime new and used",
            lambda tree: line_edit("", job, r"name: (torch|mpi)-\w+", f"name: new-{n}").change(
                tree | {f"runtimes/new-{n}.yaml": own_runtime}
            ),
        ),
        Edit("runtime moved", moved(runtime, f"runtimes/moved/{Path(runtime).name}"), True),
        line_edit(
            "runtime image",
            runtime,
            r"(- name: node\n +)image: .*",
            rf"\1image: registry.example.com/base/x:{n}",
            held=True,
        ),
        line_edit("runtime env", runtime, r"value: WARN", "value: INFO", held=True),
        line_edit("runtime env removed", runtime, r" +env:\n.*NCCL_DEBUG\n.*WARN\n", "", held=True),
        line_edit("runtime selector", runtime, r"accelerator: .*", f"accelerator: a{n}", held=True),
        line_edit("runtime nodes", runtime, r"numNodes: 2", f"numNodes: {n % 5 + 3}", held=True),
        line_edit(
            "runtime toleration",
            runtime,
            r"^( +)nodeSelector:",
            r"\1tolerations: [{key: gpu}]\n\1nodeSelector:",
            held=True,
        ),
        line_edit("runtime cpu", runtime, r"cpu: 2", f"cpu: {n}", held=True),
        line_edit("overlay label", overlay, r"cluster: .*", f"cluster: c{n}", held=True),
        line_edit("overlay label removed", overlay, r"labels:\n- pairs:\n.*\n", "", held=True),
        line_edit("overlay value nodes", overlay, r"nodes: 2", f"nodes: {n % 5 + 3}"),
        line_edit("overlay value store", overlay, r"store: .*", f"store: s3://{n}"),
        line_edit("overlay patch job", overlay, r"numNodes: 5", f"numNodes: {n % 5 + 6}"),
        line_edit("overlay patch job removed", overlay, r"- target:\n    kind: TrainJob\n(    .*\n)+?(?=- )", ""),
        line_edit(
            "overlay patch job added",
            overlay,
            r"^patches:\n",
            "patches:\n- target: {kind: TrainJob, name: "
            f"{Path(job).stem}}}\n  patch: {{spec: {{trainer: {{image: 'registry.example.com/patched:{n}'}}}}}}\n",
        ),
        line_edit("overlay patch runtime", overlay, r"numNodes: 3", f"numNodes: {n % 5 + 4}", held=True),
        line_edit(
            "overlay mirror", overlay, r"registry.example.com: .*", f"registry.example.com: m{n}.example.com", held=True
        ),
        line_edit("overlay mirror removed", overlay, r"mirrors:\n.*\n", "", held=True),
        line_edit("overlay image", overlay, r'newTag: "\d+"', f'newTag: "{n}"'),
        line_edit("overlay prefix", overlay, r"^values:", f"namePrefix: p{n}-\nvalues:"),
        line_edit("base image", "envs/base/overlay.yaml", r'newTag: "\d+"', f'newTag: "{n}"'),
        line_edit("template image", template, r"template:\d+", f"template:{n}"),
        line_edit("template value", template, r"\{\{ store \}\}", f"{{{{ store }}}}/{n}"),
        line_edit("template field", template, r"    env:\n", f"    command: [run, '{n}']\n    env:\n"),
        line_edit("sweep value", "jobs/sweep.yaml", r"\[1, 2\]", f"[1, {n}]"),
        line_edit("sweep trial", "jobs/sweep.yaml", r"\[1, 2\]", f"[1, 2, {n}]"),
        line_edit("sweep value in front", "jobs/sweep.yaml", r"\[1, 2\]", f"[{n}, 1, 2]"),
        line_edit("sweep exclude", "jobs/sweep.yaml", r"rate: 2, width: 4", "rate: 1, width: 3"),
        line_edit("sweep include", "jobs/sweep.yaml", r"^budget:", f"include:\n- {{rate: {n}, width: {n}}}\nbudget:"),
        line_edit("sweep budget", "jobs/sweep.yaml", r"gpuHours: 40", f"gpuHours: {n}"),
        line_edit("sweep base part", "jobs/base/job-80.yaml", r"--rate=", f"--rate{n}="),
        line_edit("sweep base part removed", "jobs/base/job-80.yaml", r"    - --rate=.*\n", ""),
        line_edit("list item", overlay, r"^(  - \{name: bee.*\n)", rf"\1  - {{name: cat{n}, nodes: 1}}\n"),
        line_edit("list item changed", overlay, r"name: ant, nodes: 1", f"name: ant, nodes: {n % 5 + 3}"),
        line_edit("list item removed", overlay, r"^  - \{name: ant.*\n", ""),
        line_edit("list template", "jobs/list.yaml.j2", r"list:1", f"list:{n}"),
        line_edit("sweep base queue", "jobs/base/job-80.yaml", r"queue-\d", f"queue-{n}"),
        line_edit("sweep base arg", "jobs/base/job-80.yaml", r'- "\d+"', f'- "{n}"'),
        line_edit("release", "trainc.yaml", r"release: '2.3'", "release: '2.2'", held=True),
        line_edit("delivery", "trainc.yaml", rf"delivery: kubectl # {where}", f"delivery: argocd # {where}", held=True),
        line_edit(
            "select",
            "trainc.yaml",
            rf"(    output: clusters/{where}\n)",
            r"\1    select: {paths: ['jobs/team-*/**', jobs/*.yaml]}\n",
        ),
        line_edit("other overlay", "trainc.yaml", rf"overlay: envs/{where}$", "overlay: envs/base"),
        line_edit("rendered by hand", rendered, r"image: .*", f"image: by-hand:{n}", held=True),
        line_edit("rendered back", rendered, r"image: .*", "image: of-before:1", held=True),
        Edit(
            "snapshot", lambda tree: tree | {"cluster/nodes.yaml": "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"}
        ),
    ]
    return [edit for edit in edits if edit.change(tree) != tree]


def with_edits(tree: Tree, edits: Iterable[Edit]) -> Tree:
    """The repository after some edits, in their order."""
    for edit in edits:
        tree = edit.change(tree)
    return tree


class Truth:
    """What jobs of an environment become with some edits. Each input is compiled once, with the sources of these jobs only.

    With `kept`, the files in git of a job whose own TrainJob stays the same stay too, with edits by hand.
    """

    def __init__(self, tree: Tree, edits: Sequence[Edit], environment: str, jobs: Iterable[Job], folder: Path) -> None:
        self._edits, self._environment, self._folder = edits, environment, folder
        words = {word for _, name in jobs for word in (name, re.sub(r"^p\d+-|-trial-\d+$|x$", "", name))}
        texts = [with_edits(tree, edits), tree, *(with_edits(tree, [edit]) for edit in edits)]
        # A patch without the job that it is for is an error.
        words |= {
            word
            for some in texts
            for file, text in some.items()
            if file.startswith("envs/")
            for word in _JOB.findall(text)
        }
        needed = {
            file
            for some in texts
            for file, text in some.items()
            if not file.startswith("jobs/team-") or words & set(re.findall(r"^  name: (\S+)", text, re.MULTILINE))
        }
        needed |= {file for file in set().union(*texts) if file.startswith(("jobs/moved", "jobs/base"))}
        self._needed, self._tree = needed, tree
        self._known: dict[str, Mapping[Job, str] | None] = {}
        self._kept = "rebuild: changed-jobs" in tree["trainc.yaml"]

    def job(self, names: Iterable[str], job: Job) -> str | None:
        """The manifests of a job with the edits of these names, empty if there is no such job; None if all this does not compile."""
        chosen = [edit for edit in self._edits if edit.name in set(names)]
        tree = with_edits(self._tree, chosen)
        compiled = self._compiled(tree)
        if compiled is None or not self._kept:
            return None if compiled is None else compiled.get(job, "")
        own = [self._compiled(with_edits(self._tree, some)) for some in ((), [e for e in chosen if not e.is_held])]
        if None in own:
            return None
        was, now = [(of_side or {}).get(job, "") for of_side in own]
        file = f"clusters/{self._environment}/{job[0]}/{job[1]}.yaml"
        same = was == now and not any(
            _WITHOUT_EFFECT in text and f"  name: {job[1]}\n" in text for text in tree.values()
        )
        return of_job(yaml.safe_load_all(tree[file])) if same and file in tree and now else compiled.get(job, "")

    def _compiled(self, tree: Tree) -> Mapping[Job, str] | None:
        files = {file: text for file, text in tree.items() if file in self._needed and not file.startswith("clusters/")}
        key = repr(sorted(files.items()))
        if key not in self._known:
            shutil.rmtree(self._folder, ignore_errors=True)
            write(files, self._folder)
            self._known[key] = compiled_in(self._folder, self._environment)
        return self._known[key]


def compiled_in(folder: Path, environment: str) -> Mapping[Job, str] | None:
    """What `trainc build` prints for an environment, by job; None if it does not compile."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        said = run("build", "--env", environment, "-o", "-", "--format", "json", "--quiet")
    finally:
        os.chdir(here)
    assert said.status < 2, said.stderr
    if said.status:
        return None
    jobs, objects = {}, []
    for item in json.loads(said.stdout)["items"]:
        objects.append(item)
        if item["kind"] == "JobSet":
            jobs[item["metadata"]["namespace"], item["metadata"]["name"]] = of_job(objects)
            objects = []
    return jobs


def of_job(objects: Iterable[object]) -> str:
    """The objects of a job as text that is the same for the same objects."""
    return json.dumps(list(objects), sort_keys=True)


def write(tree: Tree, root: Path) -> None:
    for file, text in tree.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
