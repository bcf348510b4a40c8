"""Write compiler/trainc/schema/kubernetes_fields.json from the PyPI package kubernetes-validate.

    python tools/scripts/generate_kubernetes.py [--schemas DIR] [--output FILE]

The package contains the JSON Schemas published for each Kubernetes minor. Only names are extracted: fields of pods,
Jobs and claims that some minor in the range does not have, and fields whose description calls them deprecated. Feature
gates mentioned in descriptions are ignored, because they are seldom up to date.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trainc.kube.releases import KUBERNETES
from trainc.schema.definitions import DEFINITIONS

OUTPUT = Path(__file__).parents[2] / "compiler" / "trainc" / "schema" / "kubernetes_fields.json"
# The groups of definitions.py, by their names in Kubernetes' schemas.
GROUPS = {
    "core": "io.k8s.api.core.v1.",
    "batch": "io.k8s.api.batch.v1.",
    "autoscaling": "io.k8s.api.autoscaling.v2.",
}
DEPRECATED = re.compile(r"(?:^|\s)Deprecated[.:]")
Published = Mapping[str, Mapping[str, Any]]
Spans = dict[str, tuple[str, str]]


def published(folder: Path, minor: str) -> Published:
    """The properties of every definition of a minor, by name: field -> schema."""
    text = (folder / f"v{minor}.0-local-strict" / "_definitions.json").read_bytes()
    return {name: schema.get("properties", {}) for name, schema in json.loads(text)["$defs"].items()}


def known_fields() -> Iterator[tuple[str, str]]:
    """The (definition, field) of Kubernetes' own types that any Trainer release knows."""
    known = {name: True for row in DEFINITIONS.rows.values() for name in row if name.split(".")[0] in GROUPS}
    for name in sorted(known):
        fields = {field for row in DEFINITIONS.rows.values() for field in row.get(name, {})}
        yield from ((name, field) for field in sorted(fields))


def spans(minors: Mapping[str, Published], holds: Callable[[Published, str, str], bool]) -> Spans:
    """The first and last minor for which `holds` is true of each field; fields for which it never is are omitted."""
    found = {}
    for name, field in known_fields():
        group, _, definition = name.partition(".")
        full = f"{GROUPS[group]}{definition}"
        having = [minor for minor in KUBERNETES if holds(minors[minor], full, field)]
        if having:
            assert having == list(KUBERNETES[KUBERNETES.index(having[0]) : KUBERNETES.index(having[-1]) + 1]), name
            found[f"{name}.{field}"] = (having[0], having[-1])
    return found


def has_field(minor: Published, definition: str, field: str) -> bool:
    """Whether a minor has the field."""
    return field in minor.get(definition, {})


def has_definition(minor: Published, definition: str, field: str) -> bool:
    """Whether a minor has the struct that contains the field."""
    return definition in minor


def is_deprecated(minor: Published, definition: str, field: str) -> bool:
    """Whether a minor marks the field as deprecated."""
    return bool(DEPRECATED.search(minor.get(definition, {}).get(field, {}).get("description", "")))


def table(found: Spans) -> dict[str, list[str]]:
    """The first minor of each field, and the last one if that is not the newest."""
    return {field: [first] if last == KUBERNETES[-1] else [first, last] for field, (first, last) in found.items()}


def tables_text(minors: Mapping[str, Published], version: str) -> str:
    """The text of the generated file: fields that not every minor has, and those that are deprecated, with the minors."""
    # If a whole struct is new, the field that refers to it is sufficient.
    whole = spans(minors, has_definition)
    limited = {field: span for field, span in spans(minors, has_field).items() if span != whole[field]}
    deprecated = spans(minors, is_deprecated)
    tables = {"kubernetes-validate": version, "fields": table(limited), "deprecated": table(deprecated)}
    return f"{json.dumps(tables, indent=2)}\n"


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description="Generate the table of fields by Kubernetes minor.")
    parser.add_argument("--schemas", type=Path, help="the package's folder kubernetes-json-schema (default: installed)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="file to write")
    options = parser.parse_args()
    found = importlib.util.find_spec("kubernetes_validate")
    folder = options.schemas or Path(str(found and found.origin)).with_name("kubernetes-json-schema")
    minors = {minor: published(folder, minor) for minor in KUBERNETES}
    options.output.write_text(tables_text(minors, f"{KUBERNETES[-1]}.0"), encoding="utf-8")


if __name__ == "__main__":
    main()
