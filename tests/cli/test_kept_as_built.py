"""Kept as built: what each command makes of a job whose runtime has changed since, and of its harmless twin."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Result, run
from repositories import SETTINGS, build, commit, edit, git, job, queue, read, runtime, starting_with, write

from trainc.output.keeping import digest_of

LLM, RUNTIME, SOURCE = "rendered/nlp/llm.yaml", "runtimes/torch-h100.yaml", "jobs/nlp/llm.yaml"
# The line of the runtime that `change_runtime` changes.
LINE = next(number for number, line in enumerate(runtime.__globals__["RUNTIME"].splitlines(), 1) if "WARN" in line)


@starting_with
def repository() -> None:
    """Three jobs of two teams, built and committed."""
    git("init", "-q", "-b", "main")
    write("trainc.yaml", SETTINGS)
    runtime()
    job("nlp", "llm")
    job("nlp", "bert")
    job("ads", "rank")
    build()
    commit("jobs")


def change_runtime() -> None:
    edit(RUNTIME, "WARN", "INFO")


def codes(result: Result) -> list[str]:
    return re.findall(r"(?:error|warning|info)\[(\w+)\]", result.stderr)


def changed() -> set[str]:
    """The rendered files that differ from the commit."""
    return {line.split()[-1] for line in git("status", "--porcelain", "-uall", "rendered").splitlines()}


def objects(path: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(read(path)))


def jobset(path: str) -> str:
    return next(str(one["metadata"]["name"]) for one in objects(path) if one["kind"] == "JobSet")


# What `build` writes.


def test_the_second_line_says_what_a_file_was_built_from() -> None:
    lines = read(LLM).splitlines()
    assert lines[0] == "# Compiled by trainc from jobs/nlp/llm.yaml. Edit that file instead."
    assert re.fullmatch(r"# Built from TrainJob 2:[0-9a-f]{12} by trainc \S+ for Trainer 2\.3\.", lines[1])


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (RUNTIME, "WARN", "INFO"),
        (RUNTIME, "train:1", "train:2"),
        ("trainc.yaml", '"2.3"', '"2.2"'),
        ("trainc.yaml", "nameHash: true", "nameHash: true\ndelivery: kubectl"),
        (SOURCE, "apiVersion", "# A comment.\napiVersion"),
    ],
)
def test_a_build_changes_no_file_of_a_job_that_is_the_same(path: str, old: str, new: str) -> None:
    edit(path, old, new)
    build()
    assert changed() == set()
    assert run("build", "--check").status == 0


def test_a_changed_job_and_a_new_one_are_built_and_the_others_are_not() -> None:
    change_runtime()
    edit(SOURCE, "numNodes: 2", "numNodes: 4")
    job("ads", "new")
    result = build()
    assert changed() == {LLM, "rendered/ads/new.yaml"}
    assert (
        "rendered: 1 file created, 1 file changed; 2 jobs kept as built (`trainc build --rebuild all` builds them again)\n"
        in result.stderr
    )
    assert "INFO" in read(LLM)


def test_files_that_are_what_compiling_gives_are_not_counted_as_kept() -> None:
    assert build().stderr == "rendered: up to date\n"


def test_a_runtime_is_rolled_out_to_the_jobs_that_are_named() -> None:
    change_runtime()
    build("--rebuild", "rank")
    assert changed() == {"rendered/ads/rank.yaml"}
    build("--rebuild", "nlp/*")
    assert changed() == {"rendered/ads/rank.yaml", LLM, "rendered/nlp/bert.yaml"}


def test_the_versions_are_those_of_the_build_that_changed_the_body() -> None:
    edit("trainc.yaml", '"2.3"', '"2.2"')
    build("--rebuild", "all")
    assert changed() == set()
    change_runtime()
    build("--rebuild", "llm")
    assert " for Trainer 2.2.\n" in read(LLM)


def test_a_moved_source_changes_the_first_line_of_a_kept_file_only() -> None:
    change_runtime()
    rest = read(LLM).partition("\n")[2]
    Path(SOURCE).rename("jobs/nlp/moved.yaml")
    build()
    assert read(LLM) == f"# Compiled by trainc from jobs/nlp/moved.yaml. Edit that file instead.\n{rest}"


def test_the_first_build_with_the_setting_adds_one_line_to_each_file() -> None:
    write("trainc.yaml", SETTINGS.replace("rebuild: changed-jobs\n", ""))
    build()
    assert "# Built from" not in read(LLM)
    commit("as in 0.1.0")
    write("trainc.yaml", SETTINGS)
    build()
    assert re.findall(r"^[-+][^-+].*", git("diff", "-U0", "rendered"), re.MULTILINE) == [
        f"+{read(path).splitlines()[1]}" for path in ("rendered/ads/rank.yaml", "rendered/nlp/bert.yaml", LLM)
    ]


def test_a_stale_file_from_before_the_setting_needs_a_choice() -> None:
    write("trainc.yaml", SETTINGS.replace("rebuild: changed-jobs\n", ""))
    build()
    change_runtime()
    write("trainc.yaml", SETTINGS)
    refused = run("build")
    assert (refused.status, codes(refused)) == (1, ["KeepOrRebuild"])
    assert "rendered/ads/rank.yaml, rendered/nlp/bert.yaml, rendered/nlp/llm.yaml" in refused.stderr
    build("--keep", "nlp/*", "--rebuild", "rank")
    assert ["INFO" in read(path) for path in (LLM, "rendered/nlp/bert.yaml", "rendered/ads/rank.yaml")] == [
        False,
        False,
        True,
    ]
    assert (
        build().stderr
        == "rendered: up to date; 2 jobs kept as built (`trainc build --rebuild all` builds them again)\n"
    )


@pytest.mark.parametrize("choice", ["llm", "nlp/*", "all"])
def test_a_changed_job_cannot_be_kept(choice: str) -> None:
    edit(SOURCE, "numNodes: 2", "numNodes: 4")
    result = run("build", "--keep", choice)
    assert (result.status, codes(result), changed()) == (1, ["KeepOrRebuild"], set())
    assert "the TrainJob nlp/llm has changed since rendered/nlp/llm.yaml was built" in result.stderr


def test_a_job_under_an_environment_s_own_setting() -> None:
    outputs = "  a: {output: out/a, rebuild: all}\n  b: {output: out/b}\n"
    write("trainc.yaml", SETTINGS.replace("output: rendered\n", "") + f"environments:\n{outputs}")
    git("rm", "-rq", "rendered")
    build()
    change_runtime()
    build()
    assert ["INFO" in read(f"out/{name}/nlp/llm.yaml") for name in "ab"] == [True, False]


def test_stdout_keeps_nothing() -> None:
    change_runtime()
    assert run("build", "jobs/nlp/llm.yaml").stdout.count("value: INFO") == 1


WRONG_USAGE = {
    ("--rebuild", "lmm"): "there is no TrainJob lmm; did you mean llm?",
    ("--rebuild", "cv/*"): "there is no TrainJob cv/*",
    ("--keep", "nlp/rank"): "there is no TrainJob nlp/rank",
    ("--rebuild", "all", "-o", "-"): "need an output folder, and `rebuild: changed-jobs`",
}


@pytest.mark.parametrize("words", WRONG_USAGE)
def test_wrong_usage_is_said(words: tuple[str, ...]) -> None:
    result = run("build", *words)
    assert (result.status, WRONG_USAGE[words] in result.stderr) == (2, True), result.stderr


def test_there_has_to_be_a_file_to_keep() -> None:
    job("nlp", "new")
    result = run("build", "--keep", "new")
    assert (result.status, "there is no file rendered/nlp/new.yaml to keep" in result.stderr) == (2, True)


def test_a_job_of_one_environment_can_be_chosen_in_a_build_of_all() -> None:
    for name in "ab":
        write(f"overlays/{name}/overlay.yaml", f"apiVersion: trainc/v1alpha1\nkind: Overlay\nnamespace: {name}\n")
    outputs = "".join(f"  {name}: {{overlay: overlays/{name}, output: out/{name}}}\n" for name in "ab")
    old = "  c: {output: out/c, rebuild: all}\n"
    write("trainc.yaml", SETTINGS.replace("output: rendered\n", "") + f"environments:\n{outputs}{old}")
    git("rm", "-rq", "rendered")
    build()
    change_runtime()
    build("--rebuild", "b/llm")
    assert ["INFO" in read(f"out/{name}/{name}/llm.yaml") for name in "ab"] == [False, True]
    assert run("build", "--rebuild", "c/llm").status == 2


def test_all_is_about_the_files_that_there_are() -> None:
    change_runtime()
    job("nlp", "new")
    assert "1 file created; 3 jobs kept as built" in build("--keep", "all").stderr


def test_without_the_setting_there_is_nothing_to_choose() -> None:
    write("trainc.yaml", SETTINGS.replace("changed-jobs", "all"))
    assert run("build", "--rebuild", "all").status == 2


@pytest.mark.parametrize("value", ["changed_jobs", "yes", "[all]"])
def test_another_value_of_the_setting_is_an_error(value: str) -> None:
    edit("trainc.yaml", "changed-jobs", value)
    assert "error[InvalidConfiguration] rebuild: " in run("check").stderr


# What has changed since.


def as_built(*words: str) -> list[tuple[str, str]]:
    """The places and messages of `check` about jobs that are kept as built."""
    found = json.loads(run("check", "--format", "json", *words).stdout)["diagnostics"]
    return [
        (f"{d['source']['file']}:{d['source']['line']}" if d["source"] else "", d["message"])
        for d in found
        if d["code"] == "KeptAsBuilt"
    ]


def test_nothing_is_said_while_nothing_has_changed() -> None:
    assert as_built() == []
    edit(RUNTIME, "apiVersion", "# A comment.\napiVersion")
    assert as_built() == []


def test_the_line_of_the_runtime_is_named_with_its_jobs() -> None:
    change_runtime()
    place, message = (
        f"{RUNTIME}:{LINE}",
        "3 jobs are kept as built; this line has changed since: ads/rank, nlp/bert, nlp/llm",
    )
    assert as_built() == [(place, message)]
    for result in (run("check"), run("build", "--check")):
        assert (result.status, codes(result)) == (0, ["KeptAsBuilt"])
    edit(SOURCE, "numNodes: 2", "numNodes: 4")
    build()
    assert as_built()[0][1].startswith("2 jobs are kept as built; this line has changed since: ads/rank, nlp/bert")


def test_each_file_that_has_changed_is_named_once() -> None:
    runtime("torch-a100")
    job("cv", "net", "torch-a100")
    build()
    change_runtime()
    edit(RUNTIME, "train:1", "train:2")
    edit("runtimes/torch-a100.yaml", "train:1", "train:2")
    found = as_built()
    assert [place.rpartition(":")[0] for place, _ in found] == ["runtimes/torch-a100.yaml", RUNTIME]
    assert found[0][1] == "1 job is kept as built; this line has changed since: cv/net"
    assert found[1][1].startswith("3 jobs are kept as built; this line and 1 other have changed since: ")


def test_a_field_that_is_gone_is_named_by_what_is_next_to_it() -> None:
    edit(RUNTIME, "                  - {name: NCCL_DEBUG, value: WARN}\n", "                  - {name: A, value: B}\n")
    ((place, _),) = as_built()
    assert place == f"{RUNTIME}:{LINE}"
    build("--rebuild", "all")
    commit()
    edit(RUNTIME, "                  env:\n                  - {name: A, value: B}\n", "")
    ((place, message),) = as_built()
    assert place.startswith(f"{RUNTIME}:")
    assert "; what begins at this line has lost a field: " in message


def test_an_overlay_that_changes_the_runtime_is_the_cause() -> None:
    head = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
    write("overlays/prod/overlay.yaml", f'{head}images:\n- name: registry.example.com/train\n  newTag: "1"\n')
    write("trainc.yaml", f"{SETTINGS}overlay: overlays/prod\n")
    build()
    assert as_built() == []
    edit("overlays/prod/overlay.yaml", 'newTag: "1"', 'newTag: "2"')
    ((place, _),) = as_built()
    assert place.startswith("overlays/prod/overlay.yaml:")


EVERY = {LLM, "rendered/nlp/bert.yaml", "rendered/ads/rank.yaml"}
SPEC = "spec: {template: {spec: {replicatedJobs: [{name: node, replicas: 1}]}}}"
OVERLAYS = {
    # What an overlay says, and the files of the jobs whose own it is.
    "labels:\n- pairs: {cost: a}": set(),
    "commonAnnotations: {cost: a}": set(),
    "mirrors: {registry.example.com: mirror.example.com}": set(),
    "images: [{name: registry.example.com/train, newTag: '2'}]": set(),
    f"patches:\n- target: {{kind: ClusterTrainingRuntime}}\n  patch: {{{SPEC}}}": set(),
    "images: [{name: registry.example.com/own, newTag: '2'}]": {LLM},
    "patches:\n- target: {kind: TrainJob, name: llm}\n  patch: {spec: {trainer: {numNodes: 3}}}": {LLM},
    "labels:\n- pairs: {kueue.x-k8s.io/queue-name: a}": EVERY,
    "namePrefix: a-": EVERY,
}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_of_an_overlay_is_the_job_s_own_and_what_is_held_back(overlay: str) -> None:
    edit(SOURCE, "numNodes: 2", "numNodes: 2, image: registry.example.com/own:1")
    build()
    commit()
    write("overlays/prod/overlay.yaml", f"apiVersion: trainc/v1alpha1\nkind: Overlay\n{overlay}\n")
    write("trainc.yaml", f"{SETTINGS}overlay: overlays/prod\n")
    build()
    assert changed() >= OVERLAYS[overlay]
    if not OVERLAYS[overlay]:
        assert changed() == set()
        assert run("build", "--check").status == 0


def test_a_mirror_and_an_own_image_are_told_apart() -> None:
    """The image of a job is the same TrainJob under another mirror, and another one if somebody changes it."""
    edit(SOURCE, "numNodes: 2", "numNodes: 2, image: registry.example.com/own:1")
    write(
        "overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\nmirrors: {registry.example.com: a.example.com}\n"
    )
    write("trainc.yaml", f"{SETTINGS}overlay: overlay.yaml\n")
    build("--rebuild", "all")
    commit()
    edit("overlay.yaml", "a.example.com", "b.example.com")
    build()
    assert changed() == set()
    edit(SOURCE, "own:1", "own:2")
    build()
    assert changed() == {LLM}


def test_another_release_another_trainc_and_other_settings_are_causes() -> None:
    runtime_with_flux = "jobs/nlp/mpi.yaml"
    job("nlp", "mpi", "deepspeed-distributed")
    edit(runtime_with_flux, "command: [torchrun, train.py]", "command: [mpirun, python, train.py]")
    edit("trainc.yaml", '"2.3"', '"2.1"')
    build("--rebuild", "all")
    edit("trainc.yaml", '"2.1"', '"2.3"')
    assert ("", "1 job is kept as built; built for Trainer 2.1, not 2.3: nlp/mpi") in as_built()
    build("--rebuild", "all")
    edit("trainc.yaml", "nameHash: true", "nameHash: true\ndelivery: kubectl")
    ((place, message),) = as_built()
    assert (place, message[:58]) == ("trainc.yaml:6", "4 jobs are kept as built; this line has changed since: ads")
    for path in Path("rendered").rglob("*.yaml"):
        write(str(path), re.sub(r"(?<=by trainc )[0-9.]+", "0.0.7", read(str(path))))
    ((_, message),) = as_built()
    assert "4 jobs are kept as built; trainc 0.0.7 compiled differently from " in message


def test_diff_shows_no_change_and_says_what_has_changed() -> None:
    change_runtime()
    text = run("diff").stdout
    assert "no changes in 3 jobs" in text
    assert f"3 jobs are kept as built; {RUNTIME}:{LINE} has changed since (`trainc build --rebuild" in text
    build("--rebuild", "llm")
    assert json.loads(run("diff", "--format", "json").stdout)["headline"] == "1 of 3 jobs restarts, 16 GPUs"
    assert "no changes" in run("diff", "rendered").stdout
    assert "no changes" in run("diff", "jobs").stdout


def test_diff_of_a_release_or_a_runtime_compares_what_compiling_gives() -> None:
    change_runtime()
    write("other.yaml", read(RUNTIME).replace("INFO", "TRACE"))
    text = run("diff", "--runtime", "torch-h100=other.yaml").stdout
    assert "3 of 3 jobs restart" in text
    assert "`trainc build --rebuild all`" in " ".join(text.split())


def test_diff_says_that_a_moved_output_compiles_everything() -> None:
    change_runtime()
    commit("a changed runtime")
    edit("trainc.yaml", "output: rendered", "output: out")
    text = run("diff").stdout
    assert "3 of 3 jobs restart" in text
    assert "The output moves from rendered to out, where every job is compiled again" in " ".join(text.split())
    build("--keep", "all")
    assert read("out/nlp/llm.yaml") == read(LLM)
    assert "no changes in 3 jobs" in run("diff").stdout


# Who judges a kept job: the commands about what runs see the file, those about the source the TrainJob.


def test_graph_and_report_show_what_git_has_and_explain_what_a_rebuild_gives() -> None:
    edit(RUNTIME, "train:1", "train:2")
    assert "train:1" in run("graph", SOURCE).stdout
    explained = run("explain", SOURCE, "containers[node].image").stdout
    assert explained.startswith(
        "rendered/nlp/llm.yaml is kept as built. Below is what a rebuild gives, which changes 1 field:\n"
    )
    assert "image: registry.example.com/train:1 -> registry.example.com/train:2" in explained
    (change,) = json.loads(run("explain", SOURCE, "--format", "json").stdout)["kept"]["changes"]
    assert (change["kept"], change["rebuilt"]) == ("registry.example.com/train:1", "registry.example.com/train:2")
    assert change["sources"][0]["file"] == RUNTIME
    page = run("report", "-o", "-").stdout
    assert "kept as built (a rebuild gives registry.example.com/train:2)" in page
    build("--rebuild", "all")
    assert "train:2" in run("graph", SOURCE).stdout
    assert "kept" not in json.loads(run("explain", SOURCE, "--format", "json").stdout)
    assert "kept as built" not in run("report", "-o", "-").stdout


def test_fits_judges_the_pods_that_git_has() -> None:
    edit(SOURCE, "namespace: nlp}", "namespace: nlp, labels: {kueue.x-k8s.io/queue-name: queue}}")
    build()
    write("cluster/all.yaml", queue(16, name="queue"))
    verdict = [fit["verdict"] for fit in _alone()]
    assert verdict == ["fits"]
    # A rebuild would not fit.
    edit(RUNTIME, "nvidia.com/gpu: 8", "nvidia.com/gpu: 16")
    assert [fit["verdict"] for fit in _alone()] == ["fits"]
    build("--rebuild", "llm")
    assert [fit["verdict"] for fit in _alone()] == ["never"]


def _alone() -> list[dict[str, Any]]:
    result = run("fits", SOURCE, "--cluster", "cluster", "--format", "json")
    return [job["alone"] for job in json.loads(result.stdout)["jobs"]]


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: images}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [jobset.x-k8s.io], apiVersions: [v1alpha2], operations: [CREATE], resources: [jobsets]}
  validations:
  - expression: >-
      object.spec.replicatedJobs.all(job, job.template.spec.template.spec.containers.all(c, c.image.endsWith(":1")))
    message: this image is not allowed
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: images}
spec: {policyName: images, validationActions: [Deny]}
"""


def test_a_source_that_breaks_kept_jobs_is_one_error_at_its_line() -> None:
    write("policies/images.yaml", POLICY)
    write("trainc.yaml", f"{SETTINGS}policies: [policies]\n")
    commit()
    edit(RUNTIME, "train:1", "train:2")
    for result in (run("check"), run("build"), run("build", "--check")):
        assert (result.status, codes(result).count("PolicyDenied")) == (1, 1)
        line = 1 + [line.strip() for line in read(RUNTIME).splitlines()].index("image: registry.example.com/train:2")
        assert f"{RUNTIME}:{line}:" in result.stderr
        assert "3 kept jobs could not be built again: ads/rank, nlp/bert, nlp/llm" in " ".join(result.stderr.split())


def test_lints_of_the_source_are_about_the_trainjob() -> None:
    change_runtime()
    edit(SOURCE, "command: [torchrun, train.py]", "command: [torchrun, train.py], args: [--lr=$LR]")
    before = codes(run("check"))
    assert "UnexpandedShellVariable" in before
    build()
    change = codes(run("check"))
    assert "UnexpandedShellVariable" in change


# A kept job that no longer compiles.


def lose_the_runtime() -> None:
    Path(RUNTIME).rename("runtimes/other.yaml")
    edit("runtimes/other.yaml", "name: torch-h100", "name: other")


def test_a_runtime_that_is_gone_stops_nothing() -> None:
    before = {path: read(str(path)) for path in Path("rendered").rglob("*.yaml")}
    lose_the_runtime()
    for result in (run("check"), run("build", "--check"), run("build")):
        assert (result.status, codes(result)) == (1, ["RuntimeNotFound"])
        assert "help: restore it in runtimes/" in result.stderr
        assert "3 kept jobs could not be built again" in result.stderr
    commit("merged all the same")
    for result in (run("check"), run("build", "--check"), run("build")):
        assert (result.status, codes(result)) == (0, ["KeptCannotRebuild"])
        assert "there is no ClusterTrainingRuntime 'torch-h100'" in result.stderr
    assert {path: read(str(path)) for path in Path("rendered").rglob("*.yaml")} == before
    assert "no changes in 3 jobs" in run("diff").stdout
    assert "nlp" in run("report", "-o", "-").stdout
    assert "NCCL_DEBUG" not in run("graph", SOURCE).stderr
    assert run("graph", SOURCE).status == 0
    assert run("explain", SOURCE).status == 1
    edit(SOURCE, "numNodes: 2", "numNodes: 4")
    assert codes(run("build")).count("RuntimeNotFound") == 1


def test_a_trainjob_that_the_schema_refuses_stops_nothing_while_it_is_the_same() -> None:
    text = read(SOURCE).replace("numNodes: 2", "numNodes: two")
    before = read(LLM)
    write(SOURCE, text)
    assert codes(run("build")) == ["WrongType"]
    # As if an older trainc had accepted it.
    digest = digest_of({**yaml.safe_load(text), "nameHash": True})
    write(LLM, re.sub(r"(?<=TrainJob )2:[0-9a-f]{12}", digest, before, count=1))
    commit()
    result = run("build")
    assert (result.status, codes(result)) == (0, ["KeptCannotRebuild"])
    assert read(LLM).split("\n", 2)[2] == before.split("\n", 2)[2]
    assert run("check").status == 0
    assert run("diff").status == 0
    assert "registry.example.com/train:1" in run("report", "-o", "-").stdout


def test_a_kept_file_that_is_not_yaml_is_an_error_at_its_line() -> None:
    text = read(LLM).splitlines(keepends=True)
    write(LLM, "".join(text[:2]) + "a: [\n")
    for result in (run("check"), run("build"), run("report", "-o", "-"), run("graph", SOURCE), run("diff")):
        assert result.status == 1
        assert re.search(rf"{LLM}:[34]:\d+: error\[YAMLSyntax\]", result.stderr)


@pytest.mark.parametrize(
    "document",
    [
        "a: 1",
        "apiVersion: v1\nkind: PodGroup\nmetadata: 3",
        "apiVersion: v1\nkind: JobSet\nmetadata: {generateName: a}",
    ],
)
def test_a_kept_file_of_something_else_is_an_error_of_every_command(document: str) -> None:
    text = read(LLM).splitlines(keepends=True)
    write(LLM, "".join(text[:2]) + document + "\n")
    commands = (("check",), ("build",), ("build", "--check"), ("report", "-o", "-"), ("graph", SOURCE), ("diff",))
    for words in (*commands, ("explain", SOURCE), ("fits", "--cluster", "jobs")):
        result = run(*words)
        assert (result.status, result.stderr.count(f"{LLM}:3:1: error")) == (1, 1), (words, result.stderr)


# Names with a hash.


def test_the_name_of_a_running_jobset_finds_its_job_although_a_rebuild_would_have_another() -> None:
    change_runtime()
    name = jobset(LLM)
    assert re.fullmatch(r"llm-\w{6}", name)
    for wanted in (name, f"nlp/{name}"):
        assert run("graph", f"jobs#{wanted}").stdout.startswith(f"JobSet nlp/{name}")
        assert run("explain", f"jobs#{wanted}", "NCCL_DEBUG").status == 0
    assert run("graph", f"jobs#ads/{name}").status == 2
    assert run("graph", "jobs#llm-bcdfgh").status == 2
