"""tools/scripts/generate_schemas.py writes what is committed, and reads models as they are written."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / "tools" / "scripts" / "generate_schemas.py"
COMMITTED = REPOSITORY / "compiler" / "trainc" / "schema" / "definitions.py"

MODEL = '''
class TrainerV1alpha1Thing(BaseModel):
    """Text that is not taken."""
    name: StrictStr = Field(description="x")
    num_nodes: Optional[StrictInt] = Field(default=None, description="x", alias="numNodes")
    items: Optional[List[IoK8sApiCoreV1EnvVar]] = None
    limits: Dict[str, IoK8sApimachineryPkgApiResourceQuantity] = Field(description="x")
    jax: Optional[Dict[str, Any]] = None
    __properties: ClassVar[List[str]] = ["name"]
'''


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_schemas", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_model_becomes_names_and_types_without_its_text(generator: ModuleType) -> None:
    assert dict(generator.model_fields(MODEL)) == {
        "TrainerV1alpha1Thing": {
            "name": "string!",
            "numNodes": "integer",
            "items": "[core.EnvVar]",
            "limits": "{quantity}!",
            "jax": "object",
        }
    }


def test_an_annotation_that_nobody_thought_of_is_an_error(generator: ModuleType) -> None:
    with pytest.raises(ValueError, match="unknown annotation"):
        dict(generator.model_fields("class TrainerV1alpha1Thing:\n    a: Tuple[int]\n"))


def test_a_model_of_an_unknown_group_is_an_error(generator: ModuleType) -> None:
    with pytest.raises(ValueError, match="no known API group"):
        generator.short_name("IoK8sApiPolicyV1PodDisruptionBudget")


def test_what_nothing_refers_to_is_never_parsed(generator: ModuleType) -> None:
    models = {root: f"class {self_name(root)}:\n    spec: Optional[StrictStr] = None\n" for root in generator.ROOTS}
    found = generator.definitions({**models, "trainer.Broken": "<<<<<<< HEAD"})
    assert found.keys() == set(generator.ROOTS)


def self_name(root: str) -> str:
    group, _, name = root.partition(".")
    return {"trainer": "TrainerV1alpha1", "jobset": "JobsetV1alpha2"}[group] + name


def test_models_are_read_from_the_wheel(generator: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("kubeflow_trainer_api/models/thing.py", MODEL)
        archive.writestr("kubeflow_trainer_api/rest.py", "class TrainerV1alpha1Client:\n    pass\n")
    assert generator.model_sources(wheel).keys() == {"trainer.Thing"}


def test_a_release_is_told_by_what_it_changes(generator: ModuleType) -> None:
    before = {"a.A": {"kept": "string", "gone": "string"}, "a.B": {"x": "any"}}
    after = {"a.A": {"kept": "string", "new": "integer"}, "a.C": {"y": "any"}}
    assert generator.difference(before, after) == {
        "a.A": {"gone": "", "new": "integer"},
        "a.B": {},
        "a.C": {"y": "any"},
    }
    assert generator.difference(after, after) == {}


def test_the_committed_schemas_are_compact_and_say_where_they_are_from() -> None:
    assert COMMITTED.read_text(encoding="utf-8").startswith('"""The API types of kubeflow-trainer-api ')
    assert COMMITTED.stat().st_size < 40_000


@pytest.mark.skipif("TRAINC_REGENERATE" not in os.environ, reason="set TRAINC_REGENERATE=1 to download the packages")
def test_generating_again_gives_the_committed_schemas(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, str(SCRIPT), "--output", str(tmp_path / "definitions.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    if "CalledProcessError" in result.stderr:
        pytest.skip("the package registry is out of reach")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "definitions.py").read_text(encoding="utf-8") == COMMITTED.read_text(encoding="utf-8")
