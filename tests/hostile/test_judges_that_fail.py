"""A lint or judge that raises is one finding about its document, whatever the command, and the rest is said as without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import clusters
import pytest
import yaml
from commands import run

from trainc.cli.command import commands
from trainc.cli.parser import build_parser, parse_arguments
from trainc.features.authoring.lsp.workspace import Workspace
from trainc.features.cluster.doctor import command as doctor
from trainc.features.cluster.fits import (
    answer,
    findings as fits_findings,
    judging as fits_judging,
    scheduling,
    snapshot,
    usage,
)
from trainc.features.cluster.policies import judging as policy_judging
from trainc.features.gitops.diff import command as diff_command, comparison, live, model
from trainc.features.gitops.report import command as report_command
from trainc.kube import live_objects
from trainc.lints import registry

JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: q}}
spec: {runtimeRef: {name: torch-distributed}, trainer: {image: "a:latest", command: [torchrun, t.py]}}
---
"""
POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [jobsets]}]}
  validations: [{expression: "object.metadata.name != 'bad'", message: not so}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Audit]}
"""
KUEUE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system"},
    "spec": {"template": {"spec": {"containers": [{"image": "kueue/kueue:v0.19.0"}]}}},
}
LIVE = [
    {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "team-a", "uid": "u"},
        "spec": {"suspend": True, "replicatedJobs": []},
    }
    for name in ("llm", "bad")
]
WORKLOADS = [
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name, "namespace": "team-a"}}
    for name in ("waits", "other")
]
DUMP = [
    clusters.queue("q", 8),
    clusters.local("q"),
    clusters.flavor(),
    clusters.node("n", "r"),
    KUEUE,
    *LIVE,
    *WORKLOADS,
]
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team-a}\ndata: {a: b}\n"
FILES = {
    "jobs/llm.yaml": JOB.replace("NAME", "llm") + MAP,
    "jobs/bad.yaml": JOB.replace("NAME", "bad"),
    "policies/all.yaml": POLICY,
    "dump/all.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": DUMP}),
    "trainc.yaml": "sources: [jobs]\npolicies: [policies]\ncluster: dump\nrelease: '2.3'\n",
    "less.yaml": JOB.replace("NAME", "bad").replace("t.py", "u.py"),
}


def _raise(*arguments: Any) -> Iterator[Any]:
    """Fail at whatever is about the job llm."""
    about = [*arguments[0]] if isinstance(arguments[0], Iterable) else arguments[0]
    job = getattr(about, "job", getattr(getattr(about, "entry", about), "job", about))
    if "llm" in str(getattr(job, "name", job)):
        raise KeyError("llm")
    yield from ()


def _group(stage: str, per: str = "job", **fields: Any) -> Any:
    """A group of lints of which one fails, which replaces none."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        at = registry._at

        class Group:
            applies_to = when = None
            functions = (_raise,)

        Group.per = per  # type: ignore[attr-defined]
        for name, value in fields.items():
            setattr(Group, name, staticmethod(value))
        monkeypatch.setattr(registry, "_at", lambda s, plugins: (*([Group] * (s == stage)), *at(s, plugins)))

    return patch


def _fails(module: Any, function: str, name: str = "llm") -> Any:
    """A function which fails where its first argument mentions a name."""

    def failing(original: Any, *arguments: Any, **keywords: Any) -> Any:
        if name in str(arguments[:1]):
            raise KeyError(name)
        return original(*arguments, **keywords)

    return lambda monkeypatch: monkeypatch.setattr(module, function, partial(failing, getattr(module, function)))


def _fails_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job which fails when it is submitted after others."""
    submit = scheduling.Scheduler.submit

    def failing(self: Any, entry: Any, queue: Any) -> None:
        if "llm" in str(entry.workload) and entry.order != (0,):
            raise KeyError("llm")
        submit(self, entry, queue)

    monkeypatch.setattr(scheduling.Scheduler, "submit", failing)


NOW, DIFF, LIVE_DIFF = "fits --now --stale", "diff less.yaml jobs", "diff jobs --live dump"
LINTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "of a lowered job": _group("lowered"),
    "of a container": _group("sized", "container"),
    "of a training": _group("sized", "training"),
    "of an input": _group("sized", "input"),
    "of a built job": _group("built"),
    "of applied objects": _group("applied"),
    "of all jobs": _group("all_jobs"),
    "that asks whether it applies": _group("sized", applies_to=lambda *_: next(_raise(*_), True)),
    "that asks when it applies": _group("sized", "container", when=lambda *_: next(_raise(*_), True)),
}
WORDS = (
    "check", "build -o out --keep-going", "diff less.yaml jobs", "report -o -", "fits",
    "explain jobs/llm.yaml", "krm", "the language server",
)  # fmt: skip
RAISES: dict[str, Any] = {
    **{
        f"{kind} | {words}": (words, patch)
        for kind, patch in LINTS.items()
        for words in WORDS
        if kind != "of all jobs" or not words.startswith(("explain", "report"))
    },
    **{
        f"{kind} | {words}": (words, _fails(module, function, name))
        for kind, module, function, name, commands in (
            (
                "policies",
                policy_judging,
                "as_stored",
                "llm",
                ("check", "build -o out", "report -o -", "the language server"),
            ),
            ("a job in the cluster", answer, "_readable_job", "llm", ("check", "fits", "the language server")),
            ("the cluster", answer, "read_cluster", "", ("check", "fits", "report -o -")),
            ("a node", snapshot, "_node", "n", ("check", "fits", "report -o -")),
            ("what all jobs say of the cluster", fits_findings, "about_snapshot", "", ("check", "fits")),
            ("places of findings", fits_judging, "place_in_input", "", ("check", "fits")),
            ("a Workload", usage, "_read", "waits", (NOW,)),
            ("a job now", answer, "_now", "llm", (NOW,)),
            ("all that is in use", answer, "moment_at", "", (NOW,)),
            ("a changed job", comparison, "_job_diff", "llm", (DIFF, f"{DIFF} --format markdown")),
            ("causes", model, "explain_groups", "llm", (DIFF, f"{DIFF} --format markdown")),
            *(
                (f"changes of {name}", diff_command, name, "", (DIFF,))
                for name in ("_loosened", "denials", "_cluster", "of_sweeps", "_budgets", "with_places")
            ),
            ("an object of the cluster and git", live, "compare_manifests", "llm", (LIVE_DIFF,)),
            ("an object of the cluster", live, "_drop_malformed", "'llm'", (LIVE_DIFF,)),
            ("a drawn job", report_command, "_details", "llm", ("report -o -",)),
            ("the first page", report_command, "overview_of", "", ("report -o -",)),
            ("the cluster of a report", fits_judging, "read_cluster", "", ("report -o -",)),
            ("a state of a report", live_objects, "state_of", "'llm'", ("report -o - --live dump",)),
            ("versions of the cluster", doctor, "compare", "", ("doctor --from dump",)),
            ("what the cluster lacks", doctor, "missing_rows", "", ("doctor --from dump",)),
        )
        for words in commands
    },
    "all jobs together | fits": ("fits", _fails_together),
}


def _said(words: str) -> tuple[int, str]:
    """The status of a command, and what it says."""
    if words == "the language server":
        arguments = parse_arguments(build_parser(next(c for c in commands() if c.name == "check")), [])
        texts = {str(Path(file).resolve()): FILES[file] for file in ("jobs/llm.yaml", "jobs/bad.yaml")}
        workspace = Workspace(arguments, str(Path.cwd()))
        found = [d for file in texts for d in workspace.look_at(file, texts).diagnostics]
        return 1, "\n".join(sorted({f"{d.object}: {d.message}" for d in found}))
    items = [document for text in (FILES["jobs/llm.yaml"], FILES["jobs/bad.yaml"]) for document in yaml.safe_load_all(text) if document]  # fmt: skip
    listed = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}
    result = run(*words.split(), stdin=json.dumps(listed).encode() if words == "krm" else b"")
    return result.status, result.stdout + result.stderr


def _rest(text: str) -> set[str]:
    """What is said of the other job."""
    return {line for line in text.splitlines() if "bad" in line and "job" not in line}


@pytest.mark.parametrize("case", RAISES)
def test_what_raises_is_one_finding_and_the_command_goes_on(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, patch = RAISES[case]
    monkeypatch.chdir(tmp_path)
    for file, text in FILES.items():
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text(text, encoding="utf-8")
    _, sound = _said(words)
    patch(monkeypatch)
    status, broken = _said(words)
    assert status in (0, 1), broken
    # The page of a report and the answer to kustomize hold what is on the standard error too.
    twice = words.startswith(("krm", "report")) or "markdown" in words
    assert broken.count("failed with KeyError") in ((1, 2) if twice else (1,)), broken
    assert broken.count("WrongType") >= 1 or words.startswith("doctor") or words == "the language server", broken
    assert "bad" in sound or words.startswith(("doctor", "explain")), sound
    # What refuses one job refuses the whole answer to kustomize; a cluster that cannot be read answers nothing.
    alone = ("the cluster", "the first page", "all that is in use", "an object")
    if words != "krm" and not case.startswith(alone):
        assert _rest(sound) <= _rest(broken), broken
