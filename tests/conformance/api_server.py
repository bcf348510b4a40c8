"""What an API server refuses of a Job, and of its pods."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from commands import run

from conformance import Case
from trainc import CompileError, Diagnostic, Options, compile_trainjob

_TRAINER = "trainer.kubeflow.org/v1alpha1"
_TRAINER_LABEL = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
# A refusal by an admission plugin names no field, only words: what a finding about the same thing is about.
_SUBJECTS = {
    "Overhead": "overhead",
    "RuntimeClass": "runtimeClass",
    "runtimeClass.scheduling": "nodeSelector",
    "PreemptionPolicy": "preemptionPolicy",
    "integer value of priority": "priority",
    "PriorityClass": "priorityClassName",
    "service account": "serviceaccount|secret",
    "per Container": "resources",
    "per Pod": "resources",
    "quota": "resources|quota|pods|priorityClassName|jobs|emptyDir",
    "secret": "secret",
    "schedulingGates": "nodeName|schedulingGates",
    "image": "image",
}
# The names between a JobSet and the pods that the server and trainc write differently.
_PASSED_OVER = {"spec", "template", "metadata"}


def judge_jobs(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Ask for an error exactly where the server refuses a Job; a place is compared by `placed_where_it_is_refused`."""
    for case in cases:
        # What the server takes and no kubelet ever starts may be refused or passed.
        if case.get("starts") is False:
            continue
        errors, accepted = refused(case["job"]), case["answer"]["accepted"]
        said = [f"{each.code} {each.path}" for each in errors]
        yield case["id"], [] if accepted == (not errors) else [f"accepted is {accepted}: {said or case['answer']}"]


def placed_where_it_is_refused(case: Case) -> bool | None:
    """Whether an error is at a field that the server names; None if nothing is refused."""
    errors = refused(case["job"])
    if case["answer"]["accepted"] or not errors:
        return None
    fields = [names_on(cause["field"]) for cause in case["answer"]["causes"]]
    return any(_meet(names_on(str(each.path)), field) for each in errors for field in fields)


def refused(job: Case) -> list[Diagnostic]:
    """The errors of a TrainJob whose only replicated job is this one."""
    trainjob, runtime = _documents(job, "team-a", "llm")
    try:
        compile_trainjob(trainjob, [runtime], Options(release="2.3"))
    except CompileError as error:
        return [each for each in error.diagnostics if each.severity == "error"]
    return []


def judge_pods(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Ask for a finding about what the server refuses of a Job, JobSet or pod, and for no error where all are taken.

    A refusal that depends on what the cluster does not hold is not scored.
    """
    for case in cases:
        answer = case["answer"]
        if "depends" in answer:
            continue
        findings = [each for each in _checked(case) if each["severity"] != "info"]
        said = [f"{each['code']} {each['path']}: {each['message']}" for each in findings]
        if answer["accepted"]:
            yield case["id"], said
        else:
            is_right = any(_is_about(each, answer) for each in findings)
            yield case["id"], [] if is_right else [f"{answer['stage']}: {answer.get('message')}", *said]


def _checked(case: Case) -> list[Case]:
    job, around = case["job"], case.get("namespace_objects", [])
    namespace = job["metadata"]["namespace"]
    trainjob, runtime = _documents(job, namespace, job["metadata"]["name"].split("-")[0])
    metadata = {"name": namespace, "labels": {"kubernetes.io/metadata.name": namespace}}
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    settings: dict[str, Any] = {"kubernetes": "1.36", "delivery": "kubectl"}
    folders = {"sources": [trainjob], "runtimes": [runtime], **({"cluster": [own, *around]} if around else {})}
    return check(folders, settings)


def check(folders: dict[str, list[Case]], settings: dict[str, Any]) -> list[Case]:
    """The diagnostics of `trainc check` in a project whose folders hold these documents."""
    with TemporaryDirectory() as project:
        listed: dict[str, Any] = {"release": "2.3", **settings}
        for name, documents in folders.items():
            (Path(project) / name).mkdir()
            listed[name] = name if name == "cluster" else [name]
            for number, document in enumerate(documents):
                (Path(project) / name / f"{number:03}.yaml").write_text(json.dumps(document), encoding="utf-8")
        (Path(project) / "trainc.yaml").write_text(json.dumps(listed), encoding="utf-8")
        done = run("check", "--config", f"{project}/trainc.yaml", "--format", "json")
        answer: list[Case] = json.loads(done.stdout)["diagnostics"]
        return answer


def _documents(job: Case, namespace: str, name: str) -> tuple[Case, Case]:
    template = {"metadata": {"labels": _TRAINER_LABEL}, "spec": job["spec"]}
    runtime = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}
    reference = {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime"}}
    return (
        {
            "apiVersion": _TRAINER,
            "kind": "TrainJob",
            "metadata": {"name": name, "namespace": namespace},
            "spec": reference,
        },
        {
            "apiVersion": _TRAINER,
            "kind": "TrainingRuntime",
            "metadata": {"name": "rt", "namespace": namespace},
            "spec": runtime,
        },
    )


def _is_about(finding: Case, answer: Case) -> bool:
    fields = [names_on(cause["field"]) for cause in answer.get("causes", []) if cause["field"]]
    if fields:
        return any(_meet(names_on(finding["path"]), field) for field in fields)
    words = [about for word, about in _SUBJECTS.items() if word in answer.get("message", "")]
    text = f"{finding['path']} {finding['message']}"
    return any(re.search(about, text, re.IGNORECASE) for about in words)


def names_on(path: str) -> list[str]:
    """The names on a path inside a Job, without indexes."""
    inside = path.rpartition("replicatedJobs")[2] or path
    words = re.sub(r"\[\d+\]|[^A-Za-z0-9]+", " ", inside).split()
    return [word for word in words if word not in _PASSED_OVER]


def _meet(ours: list[str], theirs: list[str]) -> bool:
    """Whether our path is at theirs or below it, or ends at most one name above it."""
    if len(ours) >= len(theirs):
        return ours[: len(theirs)] == theirs
    return bool(ours) and len(ours) == len(theirs) - 1 and theirs[: len(ours)] == ours
