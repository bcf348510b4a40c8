"""The engine: passes in their order, and who is told of each."""

from __future__ import annotations

import itertools
from typing import Any

from trainc.ir.info import Info
from trainc.ir.release import release_facts
from trainc.ir.trainjob import TrainJob
from trainc.plugins.engine import build, enforce, provided_secrets
from trainc.plugins.plugin import Plugin
from trainc.plugins.registry import plugin_named
from trainc.startup.records import replace

JOB = TrainJob("llm", "team-a", "rt", "ClusterTrainingRuntime")
INFO = Info(release_facts("2.3"), "gitops", "cluster.local", {}, (), {})


def marked(info: Info, mark: str) -> Info:
    return replace(info, labels={**info.labels, mark: str(len(info.labels))})


FIRST = Plugin("First", enforce_ml_policy=lambda _, info: marked(info, "a"), pre_build_sync=lambda _, info: info)
SECOND = Plugin(
    "Second",
    enforce_ml_policy=lambda _, info: marked(info, "b"),
    enforce_pod_group_policy=lambda _, info: marked(info, "c"),
    build=lambda job, _: [{"kind": job.name}],
)


def test_extension_points_come_in_order_and_plugins_within_them() -> None:
    assert enforce(JOB, INFO, (FIRST, SECOND)).labels == {"a": "0", "b": "1", "c": "2"}
    assert enforce(JOB, INFO, ()) is INFO
    assert build(JOB, INFO, (FIRST, SECOND)) == [{"kind": "llm"}]
    assert provided_secrets(JOB, INFO, (FIRST, SECOND)) == ()


def test_an_observer_is_told_of_each_change_and_of_nothing_else() -> None:
    seen: list[tuple[str, str, Any, Any]] = []
    after = enforce(JOB, INFO, (FIRST, SECOND), lambda *change: seen.append(change))
    assert [(plugin, point) for plugin, point, _, _ in seen] == [
        ("First", "enforce_ml_policy"),
        ("Second", "enforce_ml_policy"),
        ("Second", "enforce_pod_group_policy"),
    ]
    assert seen[0][2] is INFO
    assert all(before is earlier for (_, _, _, earlier), (_, _, before, _) in itertools.pairwise(seen))
    assert seen[-1][3] is after


def test_every_plugin_is_found_by_its_name() -> None:
    for name in (
        "PlainML",
        "Torch",
        "MPI",
        "JAX",
        "XGBoost",
        "Flux",
        "CoScheduling",
        "Volcano",
        "Initializer",
        "JobSet",
    ):
        assert plugin_named(name).name == name
