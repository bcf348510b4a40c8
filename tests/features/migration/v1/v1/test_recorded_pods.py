"""The pods of every recorded v1 job compared with those of the JobSet that it becomes, whatever is chosen for it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from conformance import SETS, Case
from conformance.v1 import answer, different_pods

(V1,) = (recorded for recorded in SETS if recorded.name == "v1")
# What a runtime of the catalog decides, whatever the job had: how it restarts, ends and is deleted.
_OF_THE_CATALOG = frozenset(("restartPolicy", "ttlSecondsAfterFinished", "backoffLimit", "schedulingPolicy"))


@pytest.mark.parametrize(
    ("choices", "excused"),
    [({"variables": "torchrun"}, frozenset()), ({"into": "catalog"}, _OF_THE_CATALOG)],
    ids=["variables of torchrun", "runtimes of the catalog"],
)
def test_no_pod_is_another_than_in_v1(choices: dict[str, Any], excused: frozenset[str], vectors: Path) -> None:
    wrong = {case["id"]: different_pods(case, answer(case, **choices), excused) for case in V1.cases(vectors)}
    assert {name: differences for name, differences in wrong.items() if differences} == {}


def _container(jobset: Case) -> Case:
    container: Case = jobset["spec"]["replicatedJobs"][-1]["template"]["spec"]["template"]["spec"]["containers"][0]
    return container


def _job(jobset: Case) -> Case:
    job: Case = jobset["spec"]["replicatedJobs"][-1]["template"]["spec"]
    return job


BREAKAGES: dict[str, Callable[[Case], object]] = {
    "image": lambda jobset: _container(jobset).update(image="other"),
    "resources": lambda jobset: _container(jobset).update(resources={"limits": {"cpu": "77"}}),
    "command": lambda jobset: _container(jobset).update(command=["other"]),
    "env": lambda jobset: _container(jobset).update(env=[]),
    "pods": lambda jobset: _job(jobset).update(parallelism=99, completions=99),
    "parallelism": lambda jobset: _job(jobset).update(completions=99),
    "volumes": lambda jobset: _job(jobset)["template"]["spec"].update(volumes=[{"name": "a", "emptyDir": {}}]),
    "hostNetwork": lambda jobset: _job(jobset)["template"]["spec"].update(hostNetwork=True),
    "suspend": lambda jobset: jobset["spec"].update(suspend=True),
    "name": lambda jobset: jobset["metadata"].update(name="other"),
    "address": lambda jobset: jobset["spec"].update(network={"subdomain": "other"}),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_the_comparison_sees_what_is_broken(breakage: str, vectors: Path) -> None:
    seen: set[str] = set()
    for case in list(V1.cases(vectors))[:40]:
        given = deepcopy(answer(case))
        for manifest in given.get("manifests", ()):
            if manifest["kind"] == "JobSet":
                BREAKAGES[breakage](manifest)
                seen.update(difference.split(":")[0] for difference in different_pods(case, given))
    assert seen & {
        breakage,
        "env" if breakage == "address" else breakage,
        "pods" if breakage == "parallelism" else breakage,
    }
