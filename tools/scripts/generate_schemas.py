"""Write compiler/trainc/schema/definitions.py from the PyPI package kubeflow-trainer-api.

    python tools/scripts/generate_schemas.py [--wheels DIR] [--output FILE]

The package contains one pydantic model per API type of a Trainer release. Only field names, types and required fields
are extracted, by parsing the models (they are never imported), and only for types reachable from a TrainJob, a runtime
or a JobSet. Without --wheels, the packages are downloaded with pip into a temporary folder.

A type is written "string", "integer", "boolean", "time", "quantity", "int-or-string", "object" (a struct without
fields), "any", "group.Name" (another definition), "[T]" (a list) or "{T}" (a map from strings); a final "!" marks
a required field.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = "kubeflow-trainer-api"
VERSIONS = {"2.0": "2.0.1", "2.1": "2.1.0", "2.2": "2.2.1", "2.3": "2.3.0"}
# Releases without a package: what kubeflow/trainer docs/proposals/2782 and the pull request kubeflow/trainer#4027 add.
PREVIEWS: dict[str, dict[str, dict[str, str]]] = {
    "2.4": {
        "trainer.ContainerPatch": {"resources": "core.ResourceRequirements"},
        "trainer.PodSpecPatch": {"resourceClaims": "[core.PodResourceClaim]"},
        "trainer.Trainer": {"resourceClaimsPerNode": "[trainer.TrainerResourceClaim]"},
        "trainer.TrainerResourceClaim": {"name": "string!", "resourceClaimTemplateName": "string!"},
    }
}
OUTPUT = Path(__file__).parents[2] / "compiler" / "trainc" / "schema" / "definitions.py"
ROOTS = ("trainer.TrainJob", "trainer.TrainingRuntime", "trainer.ClusterTrainingRuntime", "jobset.JobSet")
GROUPS = {
    "IoK8sApiCoreV1": "core",
    "IoK8sApiBatchV1": "batch",
    "IoK8sApiAutoscalingV2": "autoscaling",
    "IoK8sApimachineryPkgApisMetaV1": "meta",
    "TrainerV1alpha1": "trainer",
    "JobsetV1alpha2": "jobset",
    "SchedulingV1beta1": "volcano",
}
SCALARS = {
    "StrictStr": "string",
    "StrictInt": "integer",
    "StrictBool": "boolean",
    "datetime": "time",
    "IoK8sApimachineryPkgApiResourceQuantity": "quantity",
    "IoK8sApimachineryPkgUtilIntstrIntOrString": "int-or-string",
}
# Set by the API server, never by users: accepted without checks.
SERVER_WRITTEN = {**{(root, "status"): "any" for root in ROOTS}, ("meta.ObjectMeta", "managedFields"): "any"}

Fields = dict[str, str]


def short_name(model: str) -> str:
    """`IoK8sApiCoreV1Container` as `core.Container`."""
    for prefix, group in GROUPS.items():
        if model.startswith(prefix):
            return f"{group}.{model.removeprefix(prefix)}"
    raise ValueError(f"model {model} belongs to no known API group")


def type_text(annotation: ast.expr) -> str:
    """Convert an annotation to the notation described in this module's docstring."""
    if isinstance(annotation, ast.Name):
        return SCALARS.get(annotation.id) or short_name(annotation.id)
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        inner = annotation.slice
        match annotation.value.id, inner:
            case "Optional", _:
                return type_text(inner)
            case "List", _:
                return f"[{type_text(inner)}]"
            case "Dict", ast.Tuple(elts=[_, ast.Name(id="Any")]):
                return "object"
            case "Dict", ast.Tuple(elts=[_, value]):
                return "{" + type_text(value) + "}"
    raise ValueError(f"unknown annotation {ast.unparse(annotation)}")


def field_of(statement: ast.AnnAssign) -> tuple[str, str]:
    """The JSON name and the type of a model field."""
    assert isinstance(statement.target, ast.Name)
    options = statement.value.keywords if isinstance(statement.value, ast.Call) else []
    named = {option.arg: option.value for option in options}
    alias = named.get("alias")
    name = str(alias.value) if isinstance(alias, ast.Constant) else statement.target.id
    required = statement.value is None or (isinstance(statement.value, ast.Call) and "default" not in named)
    return name, type_text(statement.annotation) + ("!" if required else "")


def model_fields(source: str) -> Iterator[tuple[str, Fields]]:
    """Every model class of a module with its fields."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.ClassDef):
            fields = [s for s in statement.body if isinstance(s, ast.AnnAssign)]
            yield statement.name, dict(field_of(f) for f in fields if "ClassVar" not in ast.unparse(f.annotation))


def model_sources(wheel: Path) -> dict[str, str]:
    """The model modules of a wheel: short class name -> source."""
    sources = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            text = archive.read(name).decode() if "/models/" in name and name.endswith(".py") else ""
            for line in text.splitlines():
                if line.startswith("class ") and line.split("(")[0].removeprefix("class ").startswith(tuple(GROUPS)):
                    sources[short_name(line.split("(")[0].removeprefix("class "))] = text
    return sources


def references(fields: Fields) -> Iterator[str]:
    """The definitions that `fields` refer to."""
    for text in fields.values():
        name = text.strip("[]{}!")
        if "." in name:
            yield name


def definitions(sources: Mapping[str, str]) -> dict[str, Fields]:
    """All definitions reachable from the roots, except through fields that only the API server sets."""
    found: dict[str, Fields] = {}
    wanted = list(ROOTS)
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        fields = next(f for model, f in model_fields(sources[name]) if short_name(model) == name)
        found[name] = {field: SERVER_WRITTEN.get((name, field), text) for field, text in fields.items()}
        wanted += references(found[name])
    return found


def difference(before: Mapping[str, Fields], after: Mapping[str, Fields]) -> dict[str, Fields]:
    """The changes in a release: fields that are new or have another type, "" for removed ones, {} for definitions."""
    changed: dict[str, Fields] = {name: {} for name in before.keys() - after.keys()}
    for name, fields in after.items():
        known = before.get(name, {})
        gone = dict.fromkeys(known.keys() - fields.keys(), "")
        if found := {field: text for field, text in fields.items() if known.get(field) != text} | gone:
            changed[name] = found
    return changed


def module_text(found: Mapping[str, Mapping[str, Fields]]) -> str:
    """The oldest release in full, then the changes of each later one: sorted, one definition per line.

    Generates Python rather than JSON, because cached bytecode loads in a fraction of the time.
    """
    versions = ", ".join(VERSIONS[release] for release in found if release in VERSIONS)
    lines = [
        f'"""The API types of {PACKAGE} {versions}; generated by tools/scripts/generate_schemas.py."""\n',
        "from trainc.kube.releases import Since\n",
        "# fmt: off",
        "DEFINITIONS = Since[dict[str, str]]({",
    ]
    before: Mapping[str, Fields] = {}
    for release, after in found.items():
        row = difference(before, after)
        lines.append(f"    {json.dumps(release)}: {{")
        lines += [f"        {json.dumps(name)}: {json.dumps(row[name], sort_keys=True)}," for name in sorted(row)]
        lines.append("    },")
        before = after
    return "\n".join((*lines, "})", ""))


def find_wheel(version: str, wheels: Path) -> Path:
    """The wheel of `version` in the folder `wheels`, downloaded if it is missing."""
    pattern = f"{PACKAGE.replace('-', '_')}-{version}-*.whl"
    if not list(wheels.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(wheels)]
        subprocess.run([*command, f"{PACKAGE}=={version}"], check=True)
    return next(wheels.glob(pattern))


def main() -> None:
    """Write the definitions of all releases."""
    parser = argparse.ArgumentParser(description="Generate the compact API schemas from kubeflow-trainer-api.")
    parser.add_argument("--wheels", type=Path, help="folder that holds, or receives, the packages")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="file to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        wheels = {
            release: find_wheel(version, options.wheels or Path(temporary)) for release, version in VERSIONS.items()
        }
        found = {release: definitions(model_sources(wheel)) for release, wheel in wheels.items()}
        for release, added in PREVIEWS.items():
            newest = found[list(found)[-1]]
            found[release] = newest | {name: newest.get(name, {}) | fields for name, fields in added.items()}
        text = module_text(found)
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
