"""Mistakes of a platform engineer in settings, rules and clusters: each is said once, at the line where it is."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from commands import run
from repositories import SETTINGS, build, commit, edit, git, job, runtime, starting_with, write
from tables import cases

RULES = """\
policies: [policies]
cluster: cluster
images: {registries: [registry.example.com]}
namespaces:
  "jobs/**": []
  "jobs/nlp/**": [nlp]
  "jobs/ads/**": [ads]
overlay: overlays/prod
"""
OVERLAY = """\
apiVersion: trainc/v1alpha1
kind: Overlay
mirrors: {registry.example.com: registry.example.com/hub}
patches:
- target: {kind: TrainJob, name: llm}
  patch: "spec: {trainer: {numNodes: 3}}"
"""
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: acme}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [jobsets]}
  variables:
  - {name: jobs, expression: object.spec.replicatedJobs}
  validations:
  - expression: variables.jobs.all(j, j.template.spec.parallelism <= 16)
    message: at most 16 pods
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: acme}
spec: {policyName: acme, validationActions: [Deny]}
---
apiVersion: v1
kind: Namespace
metadata: {name: nlp}
---
apiVersion: v1
kind: Namespace
metadata: {name: ads}
"""
CLUSTER = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec: {nodeLabels: {pool: h100}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpu}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 96}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpu, namespace: nlp}
spec: {clusterQueue: gpu}
---
apiVersion: trainc/v1alpha1
kind: Cluster
nodes:
- {name: h100, count: 16, allocatable: {cpu: 190, nvidia.com/gpu: 8, pods: 100}, labels: {pool: h100}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: pods, namespace: nlp}
spec: {hard: {pods: 50}}
"""


@starting_with
def _repository() -> None:
    git("init", "-q", "-b", "main")
    write("trainc.yaml", SETTINGS + RULES)
    write("policies/acme.yaml", POLICY)
    write("cluster/kueue.yaml", CLUSTER)
    write("overlays/prod/overlay.yaml", OVERLAY)
    runtime()
    runtime("unused")
    for team, name in (("nlp", "llm"), ("nlp", "bert"), ("ads", "rank")):
        job(team, name)
        labels = "labels: {kueue.x-k8s.io/queue-name: gpu}, " if team == "nlp" else ""
        edit(f"jobs/{team}/{name}.yaml", "metadata: {", f"metadata: {{{labels}")
    build()
    commit("jobs")


@cases("file", "old", "new", "place", "says")
def test_what_kept_jobs_would_be_refused_for_is_one_note_at_its_cause(
    file: str, old: str, new: str, place: str, says: str
) -> None:
    edit(file, old, new)
    for words in (["check"], ["check", "--base", "main"], ["build", "--check"]):
        result = run(*words)
        assert result.status == 0, result.stderr
        assert re.search(rf"{re.escape(place)}: (info|warning)\[KeptCannotRebuild\] {re.escape(says)}", result.stderr)
        assert result.stderr.count("KeptCannotRebuild]") == 1
    said = run("diff", "git:main").stdout
    assert " denied" not in said
    assert (
        "would be refused if built again: " in said
        or file not in ("policies/acme.yaml", "trainc.yaml")
        or "nlp2" in new
    )


@cases("file", "old", "new", "place", "says")
def test_what_a_change_breaks_is_one_error_at_its_cause(file: str, old: str, new: str, place: str, says: str) -> None:
    edit(file, old, new)
    for words in (["check"], ["build", "--check"], ["build"]):
        result = run(*words)
        assert (result.status, result.stderr.count(f": error[{says.partition(']')[0]}]")) == (1, 1), result.stderr
        assert f"{place}: error[{says}" in result.stderr


def test_what_a_runtime_breaks_is_said_also_where_jobs_hide_it() -> None:
    edit("trainc.yaml", "overlay:", "budgets: {'*': 9000}\noverlay:")
    edit("runtimes/torch-h100.yaml", "\n          spec:", "\n          spec:\n            activeDeadlineSeconds: 3600")
    for path in Path("jobs").glob("*/*.yaml"):
        edit(str(path), "numNodes: 2", "numNodes: 2, image: registry.example.com/own:1")
    build("--rebuild", "all")
    commit("budgets and images of jobs")
    edit("runtimes/torch-h100.yaml", "            activeDeadlineSeconds: 3600\n", "")
    said = run("check").stderr
    assert said.count("error[DeadlineMissing]") == 1, said
    assert "runtimes/torch-h100.yaml:12:11: error[DeadlineMissing] nothing keeps ads/rank within" in said
    assert "3 kept jobs could not be built again" in said
    git("checkout", "-q", "runtimes")
    edit("runtimes/torch-h100.yaml", "registry.example.com/train:1", "ghcr.io/train:1")
    said = run("check").stderr
    assert "runtimes/torch-h100.yaml:18:19: error[RegistryNotAllowed] spec.template.spec" in said
    commit("merged")
    assert "RegistryNotAllowed" not in run("check").stderr


@cases("file", "old", "new", "places")
def test_jobs_are_kept_as_built_because_of_the_line_that_has_changed(
    file: str, old: str, new: str, places: list[str]
) -> None:
    """Neither the mirror through which an image comes, nor a setting where somebody has edited a rendered file."""
    path = next(Path().glob(file)).as_posix()
    edit(path, old, new)
    result = run("check")
    assert result.status == 0, result.stderr
    assert [line.partition(": ")[0] for line in result.stderr.splitlines() if "KeptAsBuilt]" in line] == places
    said = [] if path.startswith("rendered") else [f"; {places[0].rpartition(':')[0]} has changed since (`trainc"]
    assert [line for line in said if line in " ".join(run("diff").stdout.split())] == said
    assert ("kept as built" in run("diff").stdout) is bool(said)


@cases("edits", "place", "says")
def test_a_mistake_is_said_once_where_it_is(edits: list[tuple[str, str, str]], place: str, says: str) -> None:
    for file, old, new in edits:
        if not Path(file).exists():
            write(file, "")
        edit(file, old, new)
    result = run("check", *["--base", "main"] * ("since main: " in says))
    found = [line for line in result.stderr.splitlines() if line.startswith(f"{place}: ")]
    errors = [
        line
        for line in result.stderr.splitlines()
        if line.startswith(place.split(":", maxsplit=1)[0]) and ": error[" in line
    ]
    assert (len(found), len(errors) < 2) == (1, True), result.stderr
    assert says in f"{found[0]} {result.stderr.partition(found[0])[2].partition('help: ')[2].splitlines()[0]}"


def test_a_freeze_that_is_lifted_in_the_branch_holds_for_what_the_branch_has_built() -> None:
    edit("trainc.yaml", "overlay:", "frozen: [{jobs: [nlp/bert], reason: done}]\noverlay:")
    commit("frozen")
    base = git("rev-parse", "HEAD").strip()
    edit("trainc.yaml", "frozen: [{jobs: [nlp/bert], reason: done}]\n", "")
    edit("jobs/nlp/bert.yaml", "train.py", "test.py")
    commit("lifted")
    assert run("build").status == 0
    commit("built")
    for words in (["check"], ["build", "--check"]):
        assert "error[FrozenJob] nlp/bert" in run(*words, "--base", base).stderr


def test_a_frozen_job_is_refused_at_the_line_that_has_changed() -> None:
    edit("trainc.yaml", "overlay:", "frozen: [{jobs: [nlp/bert], reason: done}]\noverlay:")
    commit("frozen")
    edit("jobs/nlp/bert.yaml", "train.py", "test.py")
    for words in (["check"], ["build"]):
        result = run(*words)
        assert "jobs/nlp/bert.yaml:6:46: error[FrozenJob] nlp/bert is frozen in trainc.yaml:14, and" in result.stderr
    edit("jobs/nlp/bert.yaml", "test.py", "train.py")
    edit("overlays/prod/overlay.yaml", "name: llm", "name: bert")
    assert "overlays/prod/overlay.yaml:5:28: error[FrozenJob]" in run("check").stderr
    edit("overlays/prod/overlay.yaml", "name: bert", "name: llm")
    edit("overlays/prod/overlay.yaml", "mirrors", "namePrefix: x-\nmirrors")
    for words in (["check"], ["build"]):
        said = "overlays/prod/overlay.yaml:3:1: error[FrozenJob] nlp/bert is frozen in main"
        assert said.replace("in main", "in HEAD") in run(*words).stderr
    edit("overlays/prod/overlay.yaml", "namePrefix: x-\n", "")
    edit("runtimes/torch-h100.yaml", "train:1", "train:2")
    # It has no part in what is to be built again.
    assert "2 jobs kept as built (`trainc build --rebuild all` builds them again)" in build().stderr
    assert "2 jobs are kept as built" in run("check").stderr
    edit("trainc.yaml", "rebuild: changed-jobs", "rebuild: all")
    for words in (["check"], ["build"], ["build", "--check"]):
        assert "trainc.yaml:6:1: error[FrozenJob]" in run(*words).stderr
    edit("trainc.yaml", "nameHash: true\nrebuild: all", "nameHash: false\nrebuild: changed-jobs")
    for words in (["check"], ["build"]):
        assert "trainc.yaml:5:1: error[FrozenJob]" in (said := run(*words).stderr)
        assert "help: undo the change at this line, or first merge" in said


def test_what_the_cluster_lacks_is_corrected_before_it_is_built() -> None:
    secret = "                imagePullSecrets: [{name: pulls}]\n"
    edit("runtimes/torch-h100.yaml", "                containers:", f"{secret}                containers:")
    assert "info[KeptAsBuilt]" in run("build", "--check").stderr
    has = "{secrets: [pull]}"
    write("cluster/names.yaml", f"apiVersion: trainc/v1alpha1\nkind: Cluster\nnamespaces: {{nlp: {has}, ads: {has}}}\n")
    assert "KeptAsBuilt" not in run("build", "--check").stderr
    assert "WrongType" not in run("diff", "git:main").stderr


def test_a_volume_that_is_gone_is_put_back_as_it_was() -> None:
    volume = "                volumes: [{name: c, persistentVolumeClaim: {claimName: c}}]\n"
    mounted = "nvidia.com/gpu: 8}}\n                  volumeMounts: [{name: c, mountPath: /c}]\n"
    edit("runtimes/torch-h100.yaml", "nvidia.com/gpu: 8}}\n", mounted + volume)
    build("--rebuild", "all")
    commit("a claim")
    edit("runtimes/torch-h100.yaml", volume, "")
    said = run("check").stderr
    assert "error[NotInPod]" in said
    assert "help: put it back into volumes, where it was {name: c, persistentVolumeClaim: {claimName: c}}" in said
    assert "emptyDir" not in said


def test_diff_refuses_what_check_refuses_of_kept_jobs() -> None:
    edit("runtimes/torch-h100.yaml", "name: torch-h100", "name: other")
    for words in (["check", "--base", "main"], ["diff", "git:main"]):
        result = run(*words)
        assert result.status == 1
        assert "runtimes/torch-h100.yaml:3:" in result.stderr
        assert "3 kept jobs could not be built again" in result.stderr
        assert "KeptCannotRebuild" not in result.stderr


def test_diff_notes_what_check_notes_of_a_jobset_that_is_a_source() -> None:
    containers = "[{name: node, image: 'registry.example.com/a:1'}]"
    pod = f"{{parallelism: 1, completions: 1, template: {{spec: {{restartPolicy: Never, containers: {containers}}}}}}}"
    jobset = f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: raw, namespace: nlp}}\nspec: {{replicatedJobs: [{{name: node, template: {{spec: {pod}}}}}]}}\n"
    write("jobs/nlp/raw.yaml", jobset)
    build()
    commit("a JobSet")
    edit("trainc.yaml", '"jobs/nlp/**"', '"jobs/nlpp/**"')
    for words in (["check", "--base", "main"], ["diff", "git:main"]):
        result = run(*words)
        assert (result.status, "3 kept jobs would be refused" in result.stderr) == (0, True), result.stderr
    edit("jobs/nlp/raw.yaml", "a:1", "a:2")
    for words in (["check", "--base", "main"], ["diff", "git:main"]):
        result = run(*words)
        assert (result.status, result.stderr.count("error[ForeignNamespace]")) == (1, 1), result.stderr


def test_a_file_changed_by_hand_keeps_its_name_and_what_cannot_be_read_is_not_removed() -> None:
    edit("rendered/nlp/llm.yaml", "train.py", "train2.py")
    assert "nlp/llm  changed: refused as immutable" in (said := run("diff", "git:main").stdout), said
    edit("cluster/kueue.yaml", "- coveredResources", " - coveredResources")
    result = run("diff", "git:main")
    assert (result.status, "was removed" in result.stdout, "does not exist" in result.stdout) == (1, False, False)
    assert "In working tree, the snapshot cannot be read and is not compared: cluster/kueue.yaml:" in result.stdout


def test_what_only_refuses_more_loosens_nothing() -> None:
    edit("policies/acme.yaml", "{name: nlp}", "{name: nlp, labels: {pod-security.kubernetes.io/enforce: baseline}}")
    commit("baseline")
    edit("policies/acme.yaml", "enforce: baseline", "enforce: restricted")
    edit(
        "policies/acme.yaml",
        "    message: at most 16 pods\n",
        "    message: at most 16 pods\n  - expression: '1 > 0'\n",
    )
    write("trainc.yaml", SETTINGS + RULES + 'rules: {"job/**": {MovingImageTag: ignore}}\n')
    assert "SettingsLoosened" not in run("check", "--base", "main").stderr
    assert "less strict" not in run("diff", "git:main").stdout
    edit("policies/acme.yaml", "name: ads}", "name: ads, labels: {acme.com/floor: '2'}}")
    assert "SettingsLoosened" not in run("check", "--base", "main").stderr
    edit("cluster/kueue.yaml", "namespaceSelector: {}", "namespaceSelector: {matchLabels: {acme.com/floor: '1'}}")
    said = 'Namespace ads: metadata.labels["acme.com/floor"] has changed'
    assert said in run("check", "--base", "main").stderr
    edit("policies/acme.yaml", "enforce: restricted", "enforce: privileged")
    assert "info[SettingsLoosened] since main: Namespace ads" not in run("check", "--base", "main").stderr
    assert "is privileged; it was baseline" in run("check", "--base", "main").stderr


def test_jobs_that_no_policy_judges_any_more_are_a_warning() -> None:
    edit("policies/acme.yaml", "{name: nlp}", "{name: nlp, labels: {ml: 'yes'}}")
    commit("label")
    edit("policies/acme.yaml", "[Deny]}", "[Deny], matchResources: {namespaceSelector: {matchLabels: {ml: 'yes'}}}}")
    assert "warning[SettingsLoosened] since main: ValidatingAdmissionPolicyBinding acme: spec" in (said := check())
    assert ("it no longer judges jobs in ads\n" in said, said.count("no longer judge")) == (True, 1)
    commit("by label")
    edit("policies/acme.yaml", "ml: 'yes'}}\n", "ml: 'no'}}\n")
    assert (
        "warning[SettingsLoosened] since main: Namespace nlp: metadata.labels.ml is no; it was yes; acme no" in check()
    )
    edit("policies/acme.yaml", ", labels: {ml: 'no'}", ", labels: {ml: 'yes', team: x}")
    assert "SettingsLoosened" not in check()


def check() -> str:
    return run("check", "--base", "main").stderr


def test_a_limit_range_gives_a_kept_job_a_note() -> None:
    edit("cluster/kueue.yaml", "kind: ResourceQuota\nmetadata: {name: pods", "kind: LimitRange\nmetadata: {name: pods")
    edit("cluster/kueue.yaml", "{hard: {pods: 50}}", "{limits: [{type: Container, max: {nvidia.com/gpu: 4}}]}")
    result = run("check", "--base", "main")
    assert (result.status, "info[KeptCannotRebuild] 2 kept jobs" in result.stderr) == (0, True), result.stderr


def test_an_item_that_is_new_in_an_overlay_is_the_line_that_has_changed() -> None:
    text = Path("overlays/prod/overlay.yaml").read_text(encoding="utf-8")
    patch = '- target: {kind: TrainJob, name: bert}\n  patch: "spec: {trainer: {numNodes: 3}}"\n'
    edit("trainc.yaml", "overlay:", "frozen: [{jobs: [nlp/bert], reason: done}]\noverlay:")
    commit("frozen")
    write("overlays/prod/overlay.yaml", text + patch)
    assert "overlays/prod/overlay.yaml:7:3: error[FrozenJob]" in run("check").stderr
    edit("trainc.yaml", "frozen: [{jobs: [nlp/bert], reason: done}]\n", "")
    assert "Jobs that match nlp/bert may be built again" in run("diff", "git:main").stdout


def test_a_sweep_is_in_the_queue_of_its_base() -> None:
    edit("trainc.yaml", "overlay:", "select: {queue: gpu}\noverlay:")
    edit("jobs/nlp/bert.yaml", "queue-name: gpu", "queue-name: other")
    Path("base").mkdir()
    Path("jobs/nlp/bert.yaml").rename("base/bert.yaml")
    write(
        "jobs/nlp/rank.yaml",
        "apiVersion: trainc/v1alpha1\nkind: Sweep\nmetadata: {name: rank}\nbase: ../../base/bert.yaml\nparameters: {lr: [1, 2]}\n",
    )
    assert "jobs/nlp/rank.yaml:4:1: " in (said := run("check").stderr), said
    assert "it is in the queue 'other'" in said


def test_an_environment_is_no_job_to_rebuild() -> None:
    edit("trainc.yaml", "overlay: overlays/prod", "environments: {lm: {output: rendered}, lab: {output: lab}}")
    edit("trainc.yaml", "\noutput: rendered", "")
    assert "write --rebuild all --env lm" in run("build", "--rebuild", "lm").stderr


def test_a_line_that_is_there_is_not_gone() -> None:
    edit("trainc.yaml", '"jobs/ads/**": [ads]', '"jobs/ads/**": [ads, nlp]')
    edit("jobs/ads/rank.yaml", "namespace: ads", "namespace: nlp")
    said = run("diff", "git:main").stdout
    assert "because of jobs/ads/rank.yaml:3" in said
    assert "(gone)" not in said


def test_an_environment_is_that_of_its_output_whatever_its_name() -> None:
    edit("trainc.yaml", "overlay: overlays/prod", "environments: {prod: {output: rendered, overlay: overlays/prod}}")
    edit("trainc.yaml", "\noutput: rendered", "")
    commit("environments")
    edit("trainc.yaml", "prod: {", "production: {")
    edit("runtimes/torch-h100.yaml", "train:1", "train:2")
    job("nlp", "new")
    build()
    assert "KeptNotProven" not in (checked := run("build", "--check", "--base", "main")).stderr
    assert (checked.status, "SettingsLoosened" in checked.stderr) == (0, False)
    assert "restart" not in run("diff", "git:main").stdout
    edit("trainc.yaml", "output: rendered, ", "")
    edit("trainc.yaml", "production: {", "lab: {output: lab}, production: {")
    said = run("build")
    assert "choose one of lab, production with --env, or set that of production in trainc.yaml" in said.stderr


@cases("taken", "was", "says")
def test_a_dump_that_a_change_spoils_counts_for_nothing(taken: str | None, was: str | None, says: str) -> None:
    """One that has only become old is no warning of each change."""
    edit("trainc.yaml", "overlay:", "live: {dump: live}\noverlay:")
    times = {"now": datetime.now(UTC), "an hour ago": datetime.now(UTC) - timedelta(hours=1, minutes=5)}
    times |= {"old": datetime(2026, 1, 1, tzinfo=UTC), "in future": datetime.now(UTC) + timedelta(days=1)}
    write("live/dump.yaml", "apiVersion: v1\nkind: List\nitems: []\n")
    for value in (was, taken):
        text = f"takenAt: {times[value].isoformat() if value in times else value}\n" if value else "kind: List\n"
        write("live/taken.yaml", text)
        if value is was:
            commit("a dump")
    for words in (
        ["check"],
        ["check", "--base", "main"],
        ["build", "--check"],
        ["build", "--check", "--base", "main"],
        ["diff", "git:main"],
    ):
        said = run(*words).stderr
        expected = "" if words[0] == "diff" and taken == was else says  # Nothing of it is new.
        assert said.count("[SnapshotIncomplete]") == bool(expected), (words, said)
        assert expected in said, (words, said)


def test_a_dump_is_missing_without_a_time_or_in_another_environment() -> None:
    edit("trainc.yaml", "overlay: overlays/prod", "live: {dump: live}")
    assert "trainc.yaml:14:8: info[SettingsNotUsed] live.dump: live is not there" in run("check").stderr
    # A dump outside the sources is no input, and leaving it out loosens nothing.
    assert "`exclude`" not in run("check", "--base", "main").stderr
    write("live/dump.yaml", "apiVersion: v1\nkind: List\nitems: []\n")
    assert "JobSets" not in run("check").stderr
    write("live/dump.yaml", "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: x, namespace: nlp}\n")
    assert "live has JobSets, but none of a job here" in run("check").stderr
    write("live/dump.yaml", "{")
    assert "live/dump.yaml:1:2: warning[SnapshotIncomplete] the dump live cannot be read (" in run("check").stderr
    assert "live/dump.yaml:1:2: error[SnapshotIncomplete] the dump" in run("build", "--rebuild", "running").stderr
    write("live/dump.yaml", "apiVersion: v1\nkind: List\nitems: []\n")
    commit("a dump")
    edit("policies/acme.yaml", "<= 16", "<= 1")
    said = "trainc.yaml:14:1: warning[SnapshotIncomplete] the dump live has no document with `takenAt`"
    assert said in run("check").stderr
    edit("live/dump.yaml", "items: []", "items: [] # of today")
    assert "live/dump.yaml:1" not in run("check", "--base", "main").stderr
    write("live/taken.yaml", f"takenAt: {datetime.now(UTC).isoformat()}\n")
    done = "status: {terminalState: Completed, conditions: [{type: Completed, status: 'True'}]}"
    edit(
        "live/dump.yaml",
        "[] #",
        f"[{{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {{name: x, namespace: nlp}}, {done}}}] #",
    )
    said = "live/dump.yaml:1:1: info[RulesChanged] since main: the dump live/dump.yaml has changed: by it, nlp/x has finished"
    assert said in run("check", "--base", "main").stderr
    for file in ("live/taken.yaml", "live/dump.yaml"):
        Path(file).unlink()
    edit(
        "trainc.yaml",
        "live: {dump: live}",
        "environments: {prod: {output: rendered, live: {dump: live}}, lab: {output: lab}}",
    )
    edit("trainc.yaml", "\noutput: rendered", "")
    assert "no TrainJob nlp/llms in lab; did" in run("build", "--env", "lab", "--rebuild", "nlp/llms").stderr
    assert "lab has no `live`; use --env prod" in run("build", "--rebuild", "finished").stderr
    assert "contradict each other" in run("build", "--rebuild", "nlp/llm", "--keep", "nlp/llm").stderr
    assert run("build", "--rebuild", "all", "--at-most", "0gpus").status == 2


def test_a_revision_has_no_such_file_and_a_job_has_its_name() -> None:
    result = run("explain", "git:HEAD:jobs/bert.yaml")
    assert "jobs/bert.yaml does not exist in git:HEAD\n  help: `git ls-tree" in result.stderr
    result = run("explain", "git:HEAD:output/nlp/bert.yaml")
    assert "does not exist in git:HEAD\n  help: did you mean rendered/nlp/bert.yaml?" in result.stderr
    edit("trainc.yaml", "overlay:", "select: {queue: gpu}\noverlay:")
    result = run("new", "bert", "--namespace", "nlp", "--queue", "gpuu", "--runtime", "torch-h100")
    assert (result.status, result.stderr.count("error[DuplicateTrainJob]")) == (1, 1)


def test_a_new_environment_is_compared_with_no_other_one() -> None:
    edit("trainc.yaml", "overlay: overlays/prod", "environments:\n  prod: {output: rendered, overlay: overlays/prod}")
    edit("trainc.yaml", "\noutput: rendered", "")
    commit("environments")
    write("overlays/asia/overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\nnameSuffix: -asia\n")
    edit("trainc.yaml", "environments:", "environments:\n  asia: {output: asia, overlay: overlays/asia}")
    said = run("diff", "git:main").stdout
    assert "asia:\ngit:main → working tree\n3 of 3 jobs are new" in said
    assert (" end" in said, "renamed" in said, "twice" in said) == (False, False, False)
    edit("trainc.yaml", "output: asia, overlay: overlays/asia", "output: asia")
    assert "! 3 jobs that start in asia are in prod too, and would run twice: " in run("diff", "git:main").stdout


def test_what_only_main_has_changed_is_no_change_of_the_branch() -> None:
    git("checkout", "-q", "-b", "branch")
    job("nlp", "new")
    build()
    commit("new")
    git("checkout", "-q", "main")
    edit("jobs/nlp/llm.yaml", "train.py", "test.py")
    build()
    commit("main goes on")
    git("checkout", "-q", "branch")
    assert "1 of 4 jobs is new" in (said := run("diff", "git:main...").stdout)
    assert "lacks" not in said
    said = " ".join(run("diff", "git:main").stdout.split())
    assert "! This branch lacks 1 commit of main, whose changes show in reverse: merge it first, or compare" in said
    assert "as git:main..." in said
    assert "1 of 4 jobs is new" in run("diff", "git:main...:./").stdout


def test_a_file_of_no_job_is_refused_and_a_folder_of_nothing_denies_no_kept_job() -> None:
    write("rendered/nlp/own.yaml", Path("rendered/nlp/llm.yaml").read_text().replace("llm", "own"))
    said = run("build", "--check", "--base", "main")
    assert (said.status, said.stdout) == (1, "")
    assert "rendered/nlp/own.yaml:1:1: error[ForeignFile] this file is new since main" in said.stderr
    Path("rendered/nlp/own.yaml").unlink()
    edit("trainc.yaml", '"jobs/nlp/**"', '"job/nlp/**"')
    assert (result := run("diff", "git:main")).status == 0, result.stderr
    assert "may use nlp" not in run("check", "--base", "main").stderr


@cases("edits", "says")
def test_what_is_wrong_in_several_environments_is_said_once(edits: list[tuple[str, str, str]], says: str) -> None:
    environments = "environments:\n"
    for name, nodes in (("us", 16), ("eu", 12)):
        write(f"clusters/{name}/kueue.yaml", CLUSTER.replace("count: 16", f"count: {nodes}"))
        write(f"overlays/{name}/overlay.yaml", OVERLAY + "nameSuffix: -eu\n" * (name == "eu"))
        environments += f"  {name}: {{output: rendered/{name}, cluster: clusters/{name}, overlay: overlays/{name}}}\n"
    edit("trainc.yaml", "overlay: overlays/prod\n", environments + "  dev: {output: rendered/dev}\n")
    edit("trainc.yaml", "output: rendered\n", "")
    edit("trainc.yaml", "cluster: cluster\n", "")
    git("rm", "-rfq", "rendered", "cluster")
    build()
    commit("environments")
    for file, old, new in edits:
        edit(file, old, new)
    code = f"[{says.partition(']')[0].rpartition('[')[2]}]"
    for words in (["check"], ["build", "--check"]):
        said = run(*words).stderr
        assert [says in said, said.count(code)] == [True, 1], said
    assert run("diff", "git:main").stderr.count(code) <= run("check", "--base", "main").stderr.count(code)
