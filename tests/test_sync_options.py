"""Sync options: what each delivery tool understands, and what it does not."""

from __future__ import annotations

import pytest

from trainc import Options
from trainc.kube.sync_options import SyncOption, sync_options_of


def test_options_are_spelled_as_the_table_spells_them_and_in_its_order() -> None:
    options = Options(sync_options=("PruneLast", "Replace=true", "Force", "PruneLast=true"))
    assert options.sync_options == ("Replace=true", "Force=true", "PruneLast=true")


@pytest.mark.parametrize(
    ("delivery", "names", "complaint"),
    [
        ("argocd", ("Repalce=true",), "unknown sync option 'Repalce=true' for argocd"),
        ("argocd", ("force=enabled",), "unknown sync option"),
        ("flux", ("Replace=true",), "choose one of force=enabled"),
        ("kubectl", ("Replace=true",), "it has none"),
        ("argocd", ("Force=true", "ServerSideApply=true"), "kubectl refuses"),
        ("argocd", ("Prune=confirm", "Prune=false"), "cannot be used together"),
        ("flux", ("ssa=Merge", "ssa=IfNotPresent"), "the same annotation"),
    ],
)
def test_what_a_tool_does_not_understand_is_refused(delivery: str, names: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Options(delivery=delivery, sync_options=names)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option", [*sync_options_of("argocd"), *sync_options_of("flux")], ids=lambda option: option.name
)
def test_every_option_says_what_it_does_to_a_running_job(option: SyncOption) -> None:
    assert len(option.effect.split()) > 5
    assert not option.effect.endswith(".")
    assert option in sync_options_of(option.tool)


@pytest.mark.parametrize("field", ["semantics", "secrets", "delivery"])
def test_an_unknown_choice_is_refused_with_the_known_ones(field: str) -> None:
    with pytest.raises(ValueError, match=f"unknown {field} 'nothing'; choose"):
        Options(**{field: "nothing"})  # type: ignore[arg-type]
