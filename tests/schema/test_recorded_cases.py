"""The schema check against recorded behaviour: nothing that the API server took is refused, nothing kept is changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from trainc.findings import format_path, has_errors
from trainc.kube.releases import PREVIEWS, RELEASES
from trainc.schema import check
from trainc.schema.rules import runtime_rules

pytestmark = pytest.mark.conformance

Json = dict[str, Any]
Recorded = Callable[[str], list[Json]]
PLACEHOLDERS = ("resources", "metadata", "status")
# The trainer's and the initializers' containers are for plugins to change; every other one passes through.
CHANGED = {"node", "dataset-initializer", "model-initializer"}


def comparable(value: Any) -> Any:
    """A value less the empty placeholders, which mean nothing, and less ports, which the controller garbles."""
    if isinstance(value, dict):
        kept = {k: comparable(v) for k, v in value.items() if k != "ports"}
        return {k: v for k, v in kept.items() if not (k in PLACEHOLDERS and v == {})}
    return [comparable(v) for v in value] if isinstance(value, list) else value


def containers(jobset_spec: Json) -> Iterator[tuple[str, str, Json]]:
    for replicated in jobset_spec["replicatedJobs"]:
        for container in replicated["template"]["spec"]["template"]["spec"]["containers"]:
            yield replicated["name"], container["name"], comparable(container)


@pytest.mark.parametrize("release", RELEASES)
def test_every_recorded_document_is_accepted(recorded: Recorded, release: str) -> None:
    cases = recorded(f"trainer-{release}")
    for case in cases:
        for document in (case["trainjob"], case["runtime"]):
            assert check(document, document["kind"], release)[1] == [], case["id"]
    assert len(cases) == (400 if release in PREVIEWS else 300)


@pytest.mark.parametrize("release", RELEASES)
def test_the_recorded_runtimes_pass_their_webhook(recorded: Recorded, release: str) -> None:
    for case in recorded(f"trainer-{release}"):
        assert runtime_rules(case["runtime"], release) == [], case["id"]


@pytest.mark.parametrize("release", RELEASES)
def test_sidecars_leave_the_check_as_the_controller_emits_them(recorded: Recorded, release: str) -> None:
    compared = 0
    for case in recorded(f"trainer-{release}"):
        if "manifests" not in case["expect"] or re.search("Overrides|runtimePatches|envInjection", str(case)):
            continue
        stored, _ = check(case["runtime"], case["runtime"]["kind"], release)
        (jobset,) = [m for m in case["expect"]["manifests"][0] if m["kind"] == "JobSet"]
        emitted = {(job, name): container for job, name, container in containers(jobset["spec"])}
        for job, name, container in containers(stored["spec"]["template"]["spec"]):
            if name not in CHANGED:
                assert container == emitted[job, name], case["id"]
                compared += 1
    assert compared > 20


def test_a_jobset_that_was_admitted_is_accepted_and_one_that_broke_the_schema_is_not(recorded: Recorded) -> None:
    for case in recorded("admission"):
        _, findings = check(case["input"], "JobSet", case["release"], prune=True)
        problems = [f"{f.code} {format_path(f.path)}" for f in findings if f.severity == "error"]
        if "admitted" in case:
            assert not problems, (case["id"], problems)
        elif case["rejected"][0].startswith("schema: "):
            where = case["rejected"][0].removeprefix("schema: .").partition(" ")[0]
            assert any(where in problem for problem in problems), (case["id"], problems)


def test_an_admitted_jobset_holds_what_the_check_makes_of_its_input(recorded: Recorded) -> None:
    for case in recorded("admission"):
        stored, findings = check(case["input"], "JobSet", case["release"], prune=True)
        if "admitted" in case:
            assert not has_errors(findings)
            assert list(missing(comparable(stored), comparable(case["admitted"]), "")) == [], case["id"]


def missing(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    """Where `ours` says something that `theirs` does not; the webhook adds to it, and names nameless rules."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            yield from missing(value, theirs.get(key), f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, value in enumerate(ours):
            yield from missing(value, theirs[index], f"{path}[{index}]")
    elif ours != theirs and not (ours == "" and re.fullmatch(r"\.spec\.failurePolicy\.rules\[\d+\]\.name", path)):
        yield f"{path}: {ours!r} is not {theirs!r}"
