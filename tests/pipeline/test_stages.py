"""The stages of one job: what each adds to the report, what stops the others, and what a trace is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from builders import Json, job, runtime, trainjob
from tables import cases

from trainc import Options
from trainc.kube.documents import Manifest
from trainc.pipeline.compiler import Result, Trace, compile_job
from trainc.pipeline.session import Session
from trainc.reading.document import Document


def result_of(*documents: Json, trace: Trace | None = None, **options: Any) -> Result:
    session = Session(Options(release="2.3", **options)).with_input([Document.of(document) for document in documents])
    (document,) = session.jobs
    return compile_job(document, session, trace or Trace())


TORCH = runtime(policy={"torch": {}})
RESTARTING = runtime(job(pod={"restartPolicy": "Always"}))


@cases("documents", "options", "found")
def test_a_finding_knows_its_stage_and_what_it_is_about(
    documents: tuple[Json, ...], options: dict[str, Any], found: tuple[str, str, str]
) -> None:
    findings = result_of(*tuple(documents), **options).report.findings
    assert tuple(found) in {(finding.code, finding.stage, finding.about) for finding in findings}


def test_an_error_of_validation_keeps_a_job_from_being_linted_and_built() -> None:
    wrong = {"env": [{"name": "PET_NNODES", "value": "2"}], "resourcesPerNode": {"limits": {"memory": "64"}}}
    result = result_of(trainjob(wrong), TORCH)
    assert {finding.stage for finding in result.report.findings} == {"validation"}
    assert result.objects is None


def test_an_error_of_admission_stops_no_other_stage() -> None:
    result = result_of(trainjob({}), RESTARTING, delivery="flux", kubernetes="1.36")
    assert result.objects is not None
    assert result.report.has_errors


class Told(Trace):
    def __init__(self) -> None:
        self.steps: list[str] = []

    def on_lowered(self, result: Result) -> None:
        self.steps.append(f"lowered {result.job.label}")

    def on_renamed(self, job: Any) -> None:
        self.steps.append(f"renamed {job.plain_name}")

    def on_pass(self, plugin: Any, point: str, before: Any, after: Any) -> None:
        assert before is not after
        self.steps.append(f"{plugin.plugin.name} {point}")

    def on_shaped(self, stage: str, manifests: Sequence[Manifest]) -> None:
        assert manifests
        self.steps.append(stage)


def test_a_trace_is_told_of_every_step_that_changed_something_in_order() -> None:
    trace = Told()
    limited = trainjob({}, activeDeadlineSeconds=60)
    result = result_of(limited, TORCH, trace=trace, name_hash=True)
    assert trace.steps == [
        "lowered TrainJob team-a/llm",
        "renamed llm",
        "Torch enforce_ml_policy",
        "build",
        "deadline-moves-to-trainer",
        "admission",
        "delivery",
    ]
    assert result.objects is not None
    assert result.objects.manifests[0]["metadata"]["name"].startswith("llm-")


def test_a_trace_of_a_refused_job_is_told_nothing() -> None:
    trace = Told()
    result_of(trainjob({}, runtime="none"), trace=trace)
    assert trace.steps == []
