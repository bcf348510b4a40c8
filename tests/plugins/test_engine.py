"""The engine: passes in their order, and who is told of each."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from trainc.ir.deviations import deviations
from trainc.ir.info import Info
from trainc.ir.release import release_facts
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import Json
from trainc.kube.releases import RELEASES
from trainc.plugins import FOLDERS
from trainc.plugins.plugin import Passes, Plugin
from trainc.plugins.registry import PLUGINS, Applied, build, enforce, load_attribute, provided_secrets
from trainc.schema.shapes import definition
from trainc.startup.records import replace

JOB = TrainJob("llm", "team-a", "rt")
INFO = Info(release_facts("2.3"), "gitops", "cluster.local", {}, (), {})


def marked(info: Info, mark: str) -> Info:
    return replace(info, labels={**info.labels, mark: str(len(info.labels))})


def applied(name: str, passes: Passes, policy: Json | None = None) -> Applied:
    return Applied(Plugin(name, passes=""), passes, policy or {})


FIRST = applied(
    "First",
    Passes(
        enforce_ml_policy=lambda _, policy, info: marked(info, policy["mark"]), pre_build_sync=lambda _, __, info: info
    ),
    {"mark": "a"},
)
SECOND = applied(
    "Second",
    Passes(
        enforce_ml_policy=lambda _, __, info: marked(info, "b"),
        enforce_pod_group_policy=lambda _, __, info: marked(info, "c"),
        build=lambda job, _, __: [{"kind": job.name}],
    ),
)


def test_extension_points_come_in_order_and_plugins_within_them() -> None:
    assert enforce(JOB, INFO, (FIRST, SECOND)).labels == {"a": "0", "b": "1", "c": "2"}
    assert enforce(JOB, INFO, ()) is INFO
    assert build(JOB, INFO, (FIRST, SECOND)) == [{"kind": "llm"}]
    assert provided_secrets(JOB, INFO, (FIRST, SECOND)) == ()


def test_an_observer_is_told_of_each_change_and_of_nothing_else() -> None:
    seen: list[tuple[Applied, str, Any, Any]] = []
    after = enforce(JOB, INFO, (FIRST, SECOND), lambda *change: seen.append(change))
    assert [(each.plugin.name, point) for each, point, _, _ in seen] == [
        ("First", "enforce_ml_policy"),
        ("Second", "enforce_ml_policy"),
        ("Second", "enforce_pod_group_policy"),
    ]
    assert seen[0][2] is INFO
    assert all(before is earlier for (_, _, _, earlier), (_, _, before, _) in itertools.pairwise(seen))
    assert seen[-1][3] is after


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_what_a_plugin_names_is_there(plugin: Plugin) -> None:
    assert isinstance(load_attribute(plugin.passes, "PASSES"), Passes)
    assert all(callable(load_attribute(lint.module, lint.function)) for lint in plugin.lints)
    known = {deviation.id for deviation in deviations()}
    assert plugin.defects <= known
    assert not plugin.detectors or set(load_attribute(plugin.detectors, "DETECTORS")) <= known
    assert bool(plugin.policy) != (plugin.applies_to is not None) or plugin.gang is not None


def test_names_are_told_apart() -> None:
    for names in ([plugin.name for plugin in PLUGINS], [plugin.policy for plugin in PLUGINS if plugin.policy]):
        assert len(set(names)) == len(names)


def test_the_table_that_the_version_prints_has_the_names_of_the_records() -> None:
    assert [name for name, _ in FOLDERS.values()] == [plugin.name for plugin in PLUGINS]


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_a_policy_of_trainers_api_names_the_folder_that_is_ported(plugin: Plugin) -> None:
    ports = {name: bool(folder) for name, folder in FOLDERS.values()}[plugin.name]
    api = "trainer.MLPolicy" if plugin.gang is None else "trainer.PodGroupPolicy"
    if plugin.policy:
        assert ports == any(plugin.policy in definition(release, api).fields for release in RELEASES)
