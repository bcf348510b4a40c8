"""The worked overlays: each environment compiles to its golden, and says no more than it has to."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from golden_files import GoldenFile
from syrupy.assertion import SnapshotAssertion

OVERLAYS = Path(__file__).parents[3] / "overlays"
ENVIRONMENTS = ("dev", "prod")


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(OVERLAYS.parent)


@pytest.mark.golden
@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot:UserWarning")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_compiles_to_its_golden(environment: str, snapshot: SnapshotAssertion) -> None:
    result = run("build", f"overlays/{environment}")
    assert result.status == 0, result.stderr
    assert result.stdout == snapshot.use_extension(GoldenFile)(name=f"overlay-{environment}")


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_nothing_about_an_example_is_worth_a_warning(environment: str) -> None:
    stderr = run("build", f"overlays/{environment}").stderr
    assert "warning" not in stderr
    assert "error" not in stderr


def test_all_pods_of_the_production_job_run_the_same_image() -> None:
    images = {line.strip() for line in run("build", "overlays/prod").stdout.splitlines() if "image: " in line}
    assert len(images) == 1
    assert "registry.example.com/ml/train@sha256:" in images.pop()


def test_every_folder_is_an_overlay_and_has_its_golden_or_is_a_base() -> None:
    assert {path.parent.name for path in OVERLAYS.glob("*/overlay.yaml")} == {"base", *ENVIRONMENTS}
