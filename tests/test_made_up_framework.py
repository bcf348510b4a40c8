"""A framework is one folder and one registry line: nothing else is told of a made-up one, and all that concerns it works.

That Trainer's API has a policy `ray` at all is generated from Trainer's own models.
"""

from __future__ import annotations

import re

import pytest
from made_up import Edits, committed, run_all

RECORD = '''\
"""Ray: a head that workers find through RAY_ variables."""

from __future__ import annotations

from trainc.kube.releases import Span
from trainc.plugins.plugin import RANK_DEFECTS, Address, Lint, Plugin, Started

PLUGIN = Plugin(
    name="Ray",
    passes="trainc.plugins.ray.passes",
    policy="ray",
    lints=(Lint("lowered", "trainc.plugins.ray.lints", "one_node"),),
    defects=RANK_DEFECTS,
    addresses=(Address("RAY_HEAD", "RAY_PORT"),),
    started=Started("RAY_HEAD", per_pod=1),
    shell_names={"HEAD_ADDRESS": "RAY_HEAD"},
    reserved=frozenset({"RAY_HEAD", "RAY_PORT", "RAY_RANK"}),
    reserved_for="Ray's head",
    reads_processes=True,
    carries_env=Span("2.3"),
)
'''
PASSES = '''\
"""Ray's passes."""

from __future__ import annotations

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, completion_index, literal, master_host, trainer_env, with_rendezvous
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.plugins.plugin import Passes


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Sizes the trainer and tells its container where the head is."""
    info = info.sized_by_job()
    injected = (
        literal("RAY_HEAD", master_host(job, info)),
        literal("RAY_PORT", names.TRAINER_PORT),
        completion_index("RAY_RANK"),
        *trainer_env(job, info.semantics),
    )
    return with_rendezvous(info, injected)


PASSES = Passes(enforce_ml_policy=enforce_ml_policy)
'''
LINTS = '''\
"""What compiles for Ray and is of little use."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def one_node(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning for a head without workers."""
    if job.trainer.num_nodes == 1:
        path = ("spec", "trainer", "numNodes")
        yield Finding("RayAlone", "warning", "the head has no workers", "ask for 2 nodes or more", path)
'''
FOLDER = "compiler/trainc/plugins/ray"
REGISTRY = "compiler/trainc/plugins/__init__.py"
API = "compiler/trainc/schema"
COMMIT: Edits = {
    f"{FOLDER}/__init__.py": RECORD,
    f"{FOLDER}/passes.py": PASSES,
    f"{FOLDER}/lints.py": LINTS,
    REGISTRY: [('    "flux": ("Flux", "flux"),\n', '    "flux": ("Flux", "flux"),\n    "ray": ("Ray", "ray"),\n')],
    f"{API}/definitions.py": [
        (
            '        "trainer.MLPolicy": {"torch": "trainer.TorchMLPolicySource"},\n',
            '        "trainer.MLPolicy": {"ray": "object", "torch": "trainer.TorchMLPolicySource"},\n',
        )
    ],
    f"{API}/descriptions.json": [
        (
            '"Flux Framework: a resource manager inside the job."\n',
            '"Flux Framework: a resource manager inside the job.",\n    "ray": "Ray: a head and workers."\n',
        )
    ],
}
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: ray}
spec:
  mlPolicy: {numNodes: 2, ray: {}}
  template:
    spec:
      replicatedJobs:
      - name: head
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: example.com/ray:1}]}}}
---
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: ray}
  trainer: {numNodes: 4, numProcPerNode: 2, env: [{name: SEED, value: "1"}], command: [ray, start]}
"""
TEXT = RUNTIME + JOB
INPUT = {
    "job.yaml": TEXT,
    "two.yaml": TEXT.replace("ray: {}", "ray: {}, torch: {}"),
    "reserved.yaml": TEXT.replace("SEED", "RAY_RANK"),
    "shell.yaml": TEXT.replace("[ray, start]", "[ray, start, --address=$HEAD_ADDRESS]"),
    "alone.yaml": TEXT.replace("numNodes: 4", "numNodes: 1"),
}
COMMANDS = {
    "build": ["build", "job.yaml"],
    "check": ["check", "job.yaml"],
    "explain": ["explain", "job.yaml"],
    "graph": ["graph", "job.yaml"],
    "two policies": ["build", "two.yaml"],
    "reserved": ["build", "reserved.yaml"],
    "stale": ["check", "stale.yaml"],
    "shell": ["check", "shell.yaml"],
    "alone": ["check", "alone.yaml"],
    "controller": ["build", "job.yaml", "--semantics", "controller"],
    "schema": ["schema", "ClusterTrainingRuntime"],
    "version": ["version"],
}
STALE = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: prefix-llm, namespace: team-a}
spec:
  replicatedJobs:
  - name: head
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            restartPolicy: Never
            containers: [{name: node, image: example.com/ray:1, env: [{name: RAY_HEAD, value: llm-head-0-0.llm}]}]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command prints, diagnostics after output."""
    folder = tmp_path_factory.mktemp("ray")
    for name, text in {**INPUT, "stale.yaml": STALE}.items():
        (folder / name).write_text(text, encoding="utf-8")
    pinned = [[*words, *([] if words == ["version"] else ["--release", "2.3"])] for words in COMMANDS.values()]
    printed = run_all(committed(folder / "trainc", COMMIT), pinned, folder)
    return {name: stdout + stderr for name, (_, stdout, stderr) in zip(COMMANDS, printed, strict=True)}


def test_its_passes_run_and_those_of_plainml_do_not(results: dict[str, str]) -> None:
    assert "value: llm-head-0-0.llm\n" in results["build"]
    assert results["build"].count("name: SEED") == 1
    names = re.findall(r"- name: (\w+)", results["build"].partition("env:")[2])
    assert names[:4] == ["RAY_HEAD", "RAY_PORT", "RAY_RANK", "SEED"]
    assert "FieldIgnored" not in results["check"]


def test_explain_says_what_its_fields_were_taken_from(results: dict[str, str]) -> None:
    head = results["explain"].partition("env[RAY_HEAD].value")[2].partition("env[RAY_PORT]")[0]
    assert "plugin Ray" in head
    assert "from" in head
    assert "metadata.name" in head
    rank = results["explain"].partition("env[RAY_RANK]")[2]
    assert "spec.mlPolicy.ray" in rank


def test_the_graph_shows_where_its_pods_meet_and_their_ranks(results: dict[str, str]) -> None:
    assert "llm-head-0-0.llm:29500" in results["graph"]
    assert "RAY_HEAD" in results["graph"]
    assert "4 ranks" in results["graph"]


def test_it_excludes_other_frameworks(results: dict[str, str]) -> None:
    assert "error[MutuallyExclusivePolicies]" in results["two policies"]
    assert "torch and ray cannot be used together" in results["two policies"]


def test_its_variables_are_reserved(results: dict[str, str]) -> None:
    assert "error[ReservedEnv]" in results["reserved"]
    assert "RAY_RANK is reserved: Trainer sets it for Ray's head" in results["reserved"]


def test_a_stale_address_of_it_is_found(results: dict[str, str]) -> None:
    assert "error[StaleReference]" in results["stale"]


def test_a_shell_variable_is_told_by_the_name_that_it_injects(results: dict[str, str]) -> None:
    assert "write $(RAY_HEAD) for HEAD_ADDRESS" in results["shell"]


def test_its_own_lint_looks_at_its_jobs(results: dict[str, str]) -> None:
    assert "warning[RayAlone]" in results["alone"]
    assert "RayAlone" not in results["check"]


def test_what_the_controller_gets_wrong_for_ranks_it_gets_wrong_here(results: dict[str, str]) -> None:
    assert "--semantics gitops, where rendezvous addresses use" in results["controller"]
    assert "(deviation real-master-address)" in results["controller"]


def test_editors_and_the_version_know_it(results: dict[str, str]) -> None:
    assert "Ray: a head and workers." in results["schema"]
    assert "\n  ray: Ray\n" in results["version"]


def test_the_commit_is_its_folder_a_line_of_the_registry_and_the_api() -> None:
    """The words of CONTRIBUTING, held."""
    outside = {name: edit for name, edit in COMMIT.items() if not name.startswith(FOLDER)}
    assert set(outside) == {REGISTRY, f"{API}/definitions.py", f"{API}/descriptions.json"}
    pieces = [piece for edit in outside.values() if not isinstance(edit, str) for piece in edit]
    assert all(len(new.splitlines()) - len(old.splitlines()) <= 1 for old, new in pieces)
