"""Small documents for tests: a TrainJob, a runtime and its jobs, with only what a test is about spelled out."""

from __future__ import annotations

from typing import Any

import pytest

from trainc import Compilation, CompileError, Diagnostic, Options, compile_trainjob

API = "trainer.kubeflow.org/v1alpha1"
LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
Json = dict[str, Any]


def container(name: str = "node", **fields: Any) -> Json:
    return {"name": name, "image": "example.com/train:1", **fields}


def job(name: str = "node", step: str | None = "trainer", containers: list[Json] | None = None, **fields: Any) -> Json:
    """A replicated job; `pod` and `spec` add to its pod spec and job spec, everything else to the job itself."""
    pod = {"containers": containers if containers is not None else [container()], **fields.pop("pod", {})}
    template: Json = {"spec": {**fields.pop("spec", {}), "template": {"spec": pod}}}
    if step:
        template["metadata"] = {"labels": {LABEL: step}}
    return {"name": name, "template": template, **fields}


def runtime(*jobs: Json, policy: Json | None = None, gang: Json | None = None, name: str = "rt", **spec: Any) -> Json:
    """A ClusterTrainingRuntime; `spec` adds to its JobSetSpec."""
    body: Json = {"template": {"spec": {"replicatedJobs": list(jobs) or [job()], **spec}}}
    if policy is not None:
        body["mlPolicy"] = policy
    if gang is not None:
        body["podGroupPolicy"] = gang
    return {"apiVersion": API, "kind": "ClusterTrainingRuntime", "metadata": {"name": name}, "spec": body}


def trainjob(trainer: Json | None = None, *, runtime: str = "rt", name: str = "llm", **spec: Any) -> Json:
    """A TrainJob in namespace team-a."""
    body: Json = {"runtimeRef": {"name": runtime}, **spec}
    if trainer is not None:
        body["trainer"] = trainer
    return {"apiVersion": API, "kind": "TrainJob", "metadata": {"name": name, "namespace": "team-a"}, "spec": body}


def compiled(
    job: Json, *runtimes: Json, release: str = "2.3", semantics: Any = "gitops", **options: Any
) -> Compilation:
    return compile_trainjob(job, list(runtimes), Options(release=release, semantics=semantics, **options))


def diagnostics_of(code: str, job: Json, *runtimes: Json, **options: Any) -> list[Diagnostic]:
    """The diagnostics of one code, whether the job compiles or is refused."""
    try:
        found = compiled(job, *runtimes, **options).diagnostics
    except CompileError as error:
        found = error.diagnostics
    assert all(is_text(d.message) and is_text(d.hint) for d in found)
    return [diagnostic for diagnostic in found if diagnostic.code == code]


def one(result: Compilation, kind: str) -> Json:
    """The only object of a kind."""
    (found,) = [manifest for manifest in result.manifests if manifest["kind"] == kind]
    return found


def replicated_job(result: Compilation, name: str = "node") -> Json:
    return next(j for j in one(result, "JobSet")["spec"]["replicatedJobs"] if j["name"] == name)


def pod(result: Compilation, job: str = "node") -> Json:
    spec: Json = replicated_job(result, job)["template"]["spec"]["template"]
    return spec


def main(result: Compilation, job: str = "node", name: str = "node") -> Json:
    """A container of a job's pods."""
    return next(c for c in pod(result, job)["spec"]["containers"] if c["name"] == name)


def env(result: Compilation, job: str = "node", name: str = "node") -> Json:
    """Literal variables of a container by name; a reference shows as its source."""
    return {v["name"]: v.get("value", v.get("valueFrom")) for v in main(result, job, name).get("env", ())}


def pods(result: Compilation, job: str = "node") -> int:
    spec = replicated_job(result, job)["template"]["spec"]
    assert spec["parallelism"] == spec["completions"]
    count: int = spec["parallelism"]
    return count


def codes(result: Compilation) -> set[str]:
    return {diagnostic.code for diagnostic in result.diagnostics}


def refused(job: Json, *runtimes: Json, release: str = "2.3", semantics: Any = "gitops", **options: Any) -> list[Any]:
    """The errors of a compilation that has some; every diagnostic says something, and how to mend it."""
    with pytest.raises(CompileError) as failed:
        compiled(job, *runtimes, release=release, semantics=semantics, **options)
    assert all(is_text(d.message) and is_text(d.hint) for d in failed.value.diagnostics)
    return [d for d in failed.value.diagnostics if d.severity == "error"]


def is_text(text: Any) -> bool:
    """Whether a message holds words, and nothing of Python's."""
    return isinstance(text, str) and text != "" and "None" not in text
