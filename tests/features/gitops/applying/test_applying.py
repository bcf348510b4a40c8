"""What Argo CD and Flux do to the outputs, by the files for them in the repository."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from commands import run
from repositories import git, starting_with, write
from steps import steps
from tables import cases

from trainc.features.gitops.applying import argocd, delivery, documents
from trainc.features.gitops.applying.documents import matches
from trainc.reading.document import Document

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: QUEUE}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {image: "example.com/train:1", command: [sh, -c, "train ${EPOCHS}"]}
"""
SETTINGS = """\
release: "2.3"
sources: [jobs]
nameHash: true
environments:
  prod: {output: out/prod, select: {queue: h100}}
  edge: {output: out/edge, delivery: flux, select: {queue: l40s}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: prod, namespace: argocd}
spec:
  project: default
  source:
    repoURL: https://git.example.com/ml/training.git
    targetRevision: main
    path: ml/out/prod
    directory: {recurse: true}
  destination: {server: "https://prod.example.com"}
  syncPolicy:
    automated: {prune: true}
    syncOptions: [ServerSideApply=true]
"""
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: edge, namespace: flux-system}
spec:
  interval: 10m
  sourceRef: {kind: GitRepository, name: training}
  path: ./ml/out/edge
  prune: true
"""
REPOSITORY = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: training, namespace: flux-system}
spec:
  interval: 1m
  url: https://git.example.com/ml/training.git
  ref: {branch: main}
"""
PROJECT = """\
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: ml, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "https://prod.example.com", namespace: "team-*"}]
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: training, namespace: argocd}
spec:
  goTemplate: true
  generators:
    - git: {repoURL: https://git.example.com/ml/training.git, directories: [{path: ml/out/pro*}]}
  template:
    metadata: {name: "{{.path.basename}}"}
    spec:
      project: default
      source:
        {repoURL: https://git.example.com/ml/training.git, path: "{{.path.path}}", directory: {recurse: true}}
      destination: {server: "https://prod.example.com"}
      syncPolicy: {automated: {prune: true}}
"""
ARGO, FLUX, SOURCE = "argocd/prod.yaml", "flux/edge.yaml", "flux/source.yaml"


@starting_with
def folder() -> None:
    Path("ml").mkdir()
    os.chdir("ml")
    git("init", "-q", "-b", "main", "..")
    write("trainc.yaml", SETTINGS)
    write("jobs/a.yaml", JOB.replace("NAME", "bert").replace("QUEUE", "h100"))
    write("jobs/b.yaml", JOB.replace("NAME", "vit").replace("QUEUE", "l40s"))
    write(ARGO, APPLICATION)
    write(FLUX, KUSTOMIZATION)
    write(SOURCE, REPOSITORY)
    assert run("build").status == 0
    git("add", "-A")
    git("commit", "-qm", "base")


def said() -> list[str]:
    lines = run("check").stderr.splitlines()
    assert "Traceback" not in "".join(lines)
    return [line for line in lines if "[AppliedDifferently]" in line or "[SettingsNotUsed]" in line]


def below(key: str, more: str) -> tuple[str, str]:
    return key, f"{key}\n{more}"


CHANGES = {
    "Argo CD reads no subfolder": (ARGO, ("{recurse: true}", "{recurse: false}"), f"{ARGO}:10:17: ", "none of 1 file"),
    "no directory": (ARGO, ("    directory: {recurse: true}\n", ""), f"{ARGO}:6:3: ", "reads no subfolder"),
    "a glob that no file matches": (ARGO, ("{recurse: true}", "{recurse: true, include: '{*.yml,*.json}'}"), f"{ARGO}:10:32: ", "none of 1 file"),
    "a glob that leaves files out": (ARGO, ("{recurse: true}", "{recurse: true, exclude: 'team-?/*'}"), f"{ARGO}:10:32: ", "does not read what"),
    "a type that needs another file": (ARGO, ("directory: {recurse: true}", "kustomize: {namePrefix: x-}"), f"{ARGO}:10:5: ", "needs a kustomization.yaml"),
    "former JobSets stay": (ARGO, ("{prune: true}", "{selfHeal: true}"), f"{ARGO}:13:5: ", "keeps its GPUs"),
    "an option that nothing is called": (ARGO, ("[ServerSideApply=true]", "[ServerSideAply=true]"), f"{ARGO}:14:19: ", "no sync option ServerSideAply=true"),
    "pods stay": (ARGO, ("[ServerSideApply=true]", "[PrunePropagationPolicy=orphan]"), f"{ARGO}:14:19: ", "the Jobs and pods go on"),
    "Kueue's fields": (ARGO, ("[ServerSideApply=true]", "[Replace=true]"), f"{ARGO}:14:19: ", "what Kueue has set"),
    "an option of objects": (ARGO, ("[ServerSideApply=true]", "[Force=true]"), f"{ARGO}:14:19: ", "only objects have"),
    "a branch misspelt": (ARGO, ("Revision: main", "Revision: mian"), f"{ARGO}:8:5: ", "no branch mian here"),
    "a part of an output": (ARGO, ("out/prod", "out"), f"{ARGO}:9:5: ", "the outputs of 2 environments"),
    "no cluster": (ARGO, ('server: "https://prod.example.com"', "namespace: a"), f"{ARGO}:11:3: ", "names no cluster"),
    "another cluster": (ARGO, ("prod.example.com", "test.example.com"), f"{ARGO}:11:3: ", "in the one of before, their jobs go on"),
    "another name": (ARGO, ("name: prod", "name: production"), f"{ARGO}:3:12: ", "this was prod"),
    "the folder of the other tool": (ARGO, ("out/prod", "out/edge"), f"{ARGO}:9:5: ", "says `delivery: flux`"),
    "Flux deletes nothing": (FLUX, ("prune: true", "prune: false"), f"{FLUX}:8:3: ", "keeps its GPUs"),
    "Flux stands still": (FLUX, below("  prune: true", "  suspend: true"), f"{FLUX}:9:3: ", "while this is true"),
    "other namespaces": (FLUX, below("  prune: true", "  targetNamespace: x"), f"{FLUX}:9:3: ", "puts all jobs into namespace x"),
    "other names": (FLUX, below("  prune: true", "  nameSuffix: -x"), f"{FLUX}:9:3: ", "renames every JobSet"),
    "another queue": (FLUX, below("  prune: true", "  commonMetadata: {labels: {kueue.x-k8s.io/queue-name: x}}"), f"{FLUX}:9:29: ", "over what 1 job have"),
    "another image": (FLUX, below("  prune: true", "  images: [{name: example.com/train, newTag: '2'}]"), f"{FLUX}:9:12: ", "replaces the image"),
    "a patch": (FLUX, below("  prune: true", "  patches: [{target: {kind: JobSet}, patch: x}]"), f"{FLUX}:9:13: ", "changes rendered JobSets"),
    "the old Kustomization ends its jobs": (FLUX, ("name: edge", "name: edges"), f"{FLUX}:3:12: ", "deletes all its jobs"),
    "a source misspelt": (FLUX, ("name: training", "name: trainig"), f"{FLUX}:6:36: ", "no GitRepository trainig here"),
    "a kind misspelt": (FLUX, ("kind: GitRepository", "kind: GitRepositry"), f"{FLUX}:6:15: ", "no source of kind GitRepositry"),
    "a source's branch": (SOURCE, ("branch: main", "branch: mains"), f"{SOURCE}:7:9: ", "no branch mains here"),
    "a source that stands still": (SOURCE, below("  interval: 1m", "  suspend: true"), f"{SOURCE}:6:3: ", "no new commit"),
    "a source that leaves files out": (SOURCE, below("  interval: 1m", "  ignore: |\n    /ml/out"), f"{SOURCE}:6:3: ", "leaves out 1 file"),
    ".sourceignore": ("../.sourceignore", ("", "# all\n/ml\n"), "../.sourceignore:2:1: ", "leaves out 1 file"),
    "a project without the namespace": ("argocd/ml.yaml", ("", PROJECT.replace("team-*", "team-b")), "argocd/ml.yaml:6:3: ", "does not allow namespace team-a"),
    "a project without the repository": ("argocd/ml.yaml", ("", PROJECT.replace('["*"]', "['https://git.example.com/*']")), "argocd/ml.yaml:5:3: ", "does not allow https"),
    "a project without the kind": ("argocd/ml.yaml", ("", PROJECT + "  namespaceResourceBlacklist: [{group: '*', kind: JobSet}]\n"), "argocd/ml.yaml:7:3: ", "does not allow JobSet"),
    "a second Application": ("argocd/again.yaml", ("", APPLICATION.replace("name: prod", "name: again")), "argocd/again.yaml:9:5: ", "applies the same folder"),
    "a folder misspelt": ("argocd/again.yaml", ("", APPLICATION.replace("name: prod", "name: x").replace("out/prod", "out/prdo")), "argocd/again.yaml:9:5: ", "there is no ml/out/prdo"),
    "a folder misspelt elsewhere": ("../gitops/prod.yaml", ("", APPLICATION.replace("name: prod", "name: x").replace("out/prod", "out/pord")), "../gitops/prod.yaml:9:5: ", "there is no ml/out/pord"),
    "the folder misspelt": (FLUX, ("out/edge", "out/egde"), f"{FLUX}:7:3: ", "there is no ml/out/egde, and nothing here applies ml/out/edge now, which this Kustomization did: no change"),
    "another folder": (FLUX, ("out/edge", "jobs"), f"{FLUX}:7:3: ", "ml/jobs is not an output, and nothing here applies ml/out/edge now, which this Kustomization did: its jobs are deleted"),
    "both tools": ("../gitops/edge.yaml", ("", APPLICATION.replace("name: prod", "name: x").replace("out/prod", "out/edge").replace("default", "ml")), "../gitops/edge.yaml:9:5: ", f"by Argo CD here and by Flux at {FLUX}:7"),
    "a copy of the name": ("argocd/again.yaml", ("", APPLICATION), "argocd/again.yaml:3:12: ", "the Application of this name"),
    "a second Kustomization": ("flux/again.yaml", ("", KUSTOMIZATION.replace("name: edge", "name: again")), "flux/again.yaml:7:3: ", "applies the same folder"),
    "a list without it": ("flux/kustomization.yaml", ("", "kind: Kustomization\nresources: [source.yaml]\n"), "flux/kustomization.yaml:2:1: ", "edge.yaml is not in this list"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "edit", "place", "text"), CHANGES.values(), ids=CHANGES)
def test_what_a_tool_does_otherwise_is_said_once_where_it_is_written(
    file: str, edit: tuple[str, str], place: str, text: str
) -> None:
    before = Path(file).read_text(encoding="utf-8") if Path(file).exists() else ""
    assert edit[0] in before
    write(file, before.replace(*edit, 1) if before else edit[1])
    if "out/pord" in edit[1]:
        Path(ARGO).unlink()
        git("commit", "-qam", "no Application")
    if file == "argocd/ml.yaml":
        write(ARGO, APPLICATION.replace("project: default", "project: ml"))
    (line,) = said()
    assert line.startswith(place), line
    assert text in line


def test_an_application_of_all_outputs_is_told_the_one_that_it_had() -> None:
    write(ARGO, APPLICATION.replace("path: ml/out/prod", "path: ml/out"))
    found = run("check", "--base", "main").stderr
    assert "ml/out has the outputs of 2 environments" in found
    assert "help: write `path: ml/out/prod`, as before" in found


def test_an_application_that_is_gone_is_named_where_the_output_is() -> None:
    Path(ARGO).unlink()
    (line,) = said()
    assert line.startswith("trainc.yaml:5:10: ")
    assert f"nothing here makes Argo CD apply ml/out/prod now ({ARGO}:9 did)" in line


def test_an_application_outlives_its_environment() -> None:
    """In any folder of the repository, if it names the repository that others of outputs name."""
    Path(FLUX).unlink()
    write("trainc.yaml", SETTINGS[: SETTINGS.index("  edge:")])
    edge = APPLICATION.replace("name: prod", "name: edge").replace("out/prod", "out/edge")
    write("../gitops/edge.yaml", edge)
    (line,) = said()
    assert line.startswith("../gitops/edge.yaml:9:5: warning[SettingsNotUsed] spec.source.path: no environment has")
    write("../gitops/edge.yaml", edge.replace("ml/training.git", "ml/other.git"))
    assert said() == []


def test_an_application_set_stands_for_its_elements() -> None:
    Path(ARGO).unlink()
    write("argocd/set.yaml", SET)
    assert said() == []
    write("argocd/set.yaml", SET.replace(", directory: {recurse: true}", ""))
    (line,) = said()
    assert line.startswith("argocd/set.yaml:12:7: ")
    write("argocd/set.yaml", SET.replace("ml/out/pro*", "ml/output/*"))
    assert "no folder matches ml/output/*" in "".join(said())


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("argocd/test.yaml", APPLICATION.replace("prod.example", "test.example").replace("name: prod", "name: test")),
        ("argocd/docs.yaml", APPLICATION.replace("ml/out/prod", "ml/argocd").replace("name: prod", "name: docs")),
        (ARGO, APPLICATION.replace("    automated: {prune: true}\n", "")),
        (FLUX, KUSTOMIZATION + "  postBuild: {substitute: {A: b}}\n  timeout: 1m\n"),
        (SOURCE, REPOSITORY + "  ignore: |\n    /*\n    !/ml/out/edge\n"),
        ("../clusters/other/edge.yaml", KUSTOMIZATION),
        ("../other.yaml", KUSTOMIZATION.replace("./ml/out/edge", "./").replace("name: training", "name: infra")),
    ],
)
def test_what_is_fine_or_not_certain_is_not_said(file: str, text: str) -> None:
    write(file, text)
    assert said() == []


@cases("glob", "text", "is_matched")
def test_a_glob_is_what_argo_cd_takes_it_for_and_takes_steps_in_proportion(
    glob: Any, text: Any, is_matched: Any
) -> None:
    assert matches(glob, text, "/" if "://" in glob else "") is is_matched


def numbered(text: str, old: str, new: str, count: int) -> str:
    return "---\n".join(text.replace(old, new.format(i)) for i in range(count))


GROWING = {
    "projects": lambda n: {"argocd/m.yaml": numbered(APPLICATION, "project: default", "project: aproj{0}x", n) + "---\n" + numbered(PROJECT, "name: ml", "name: bproj{0}x", n)},
    "sources": lambda n: {"flux/m.yaml": numbered(KUSTOMIZATION, "name: training", "name: asource{0}x", n) + "---\n" + numbered(REPOSITORY, "name: training", "name: bsource{0}x", n)},
    "rules of a project": lambda n: {"argocd/m.yaml": numbered(APPLICATION, "project: default", "project: ml", n), "argocd/p.yaml": PROJECT.partition("spec:")[0] + f"spec: {{sourceRepos: [{'a, ' * n}]}}\n"},
    "globs and folders": lambda n: {"argocd/set.yaml": SET.replace("[{path: ml/out/pro*}]", f"[{'{path: many/*/*}, ' * n}]"), **{f"../many/{i}/a": "" for i in range(n)}},
}  # fmt: skip


@pytest.mark.parametrize("files", GROWING.values(), ids=GROWING)
def test_more_documents_take_steps_in_proportion(
    files: Callable[[int], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_MOST_FOLDERS", 5)
    monkeypatch.setattr(documents, "_BESIDE", 5)
    monkeypatch.setattr(argocd, "_MOST_RULES", 5)
    found = []
    for n in (60, 120):
        for file, content in files(n).items():
            write(file, content)
        found.append(steps(said))
    assert found[1] < 2.3 * found[0]


def test_a_set_with_a_long_template_stands_for_few_elements() -> None:
    elements = f"    - list: {{elements: [{'{path: {path: ml/out/prod}}, ' * 500}]}}\n"
    written = SET.replace("  generators:\n", f"  generators:\n{elements}")
    counts = []
    for more in ("", "a, " * 1_000_000):
        (data,) = yaml.load_all(written.replace("syncPolicy: {", "syncPolicy: {more: LONG, "), yaml.CSafeLoader)
        data["spec"]["template"]["spec"]["syncPolicy"]["more"] = more
        counts.append(len([*documents.appliers([Document.of(data)], "ml", documents.Folders(".."))]))
    assert counts == [500, 2]


def test_elements_folders_and_expressions_without_end_end() -> None:
    for name in ("x", "y"):
        Path("jobs", name).symlink_to(".")
    many = f"  - git: {{directories: [{{path: {'/'.join('*' * 60)}}}]}}\n"
    elements = "".join(f"      - {{a: {i}}}\n" for i in range(2_000))
    write(
        "argocd/set.yaml",
        SET.replace("  generators:\n", f"  generators:\n{many}  - list:\n      elements:\n{elements}"),
    )
    write(
        FLUX, KUSTOMIZATION + "  patches: [{target: {kind: '((J|o)*)*('}, patch: a}]\n  timeout: 1.2.3m\n  wait: true\n"
    )
    assert said() == []


def test_what_cannot_be_judged_is_said_and_the_rest_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise KeyError

    monkeypatch.setattr(delivery, "of_application", fail)
    write(FLUX, KUSTOMIZATION.replace("prune: true", "prune: false"))
    result = run("check")
    assert f"{ARGO}:3:" in result.stderr
    assert (
        "error[WrongType] metadata.name: what is applied is unknown: the comparison failed with KeyError"
        in result.stderr
    )
    assert "Flux deletes nothing" in "".join(said())
    monkeypatch.setattr(delivery.Delivery, "_since", fail)
    assert "what Argo CD and Flux apply is unknown" in run("check").stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [("path: ml/out/prod", "path: ''"), ("path: ml/out/prod", "path: ml/out/prod, directory: {include: '[a--b]'}")],
)
def test_no_value_keeps_the_other_documents_from_being_judged(old: str, new: str) -> None:
    assert old in APPLICATION
    write("argocd/odd.yaml", APPLICATION.replace(old, new))
    write("argocd/empty.yaml", "a: b\n")
    assert not [line for line in said() if "failed" in line]
