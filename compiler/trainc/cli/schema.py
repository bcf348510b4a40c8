"""What `trainc schema` does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trainc.cli.arguments.schema import KINDS
from trainc.cli.command import Arguments, Status, Streams
from trainc.cli.reporting import report
from trainc.features import features
from trainc.findings import CompileError
from trainc.kube.releases import NEWEST_RELEASE
from trainc.project.overlays.overlay import OVERLAY
from trainc.project.settings_file import read_configuration
from trainc.project.trainc_yaml import TRAINC_YAML
from trainc.reading.cluster import CLUSTER
from trainc.schema.editor_schema import DIALECT, json_schema
from trainc.schema.shapes import ROOTS

_OF_FEATURES = (feature.load(target) for feature in features() for target in feature.kinds.values())
# trainc's own files.
OWN_KINDS = {kind.name: kind for kind in (OVERLAY, CLUSTER, *_OF_FEATURES, TRAINC_YAML)}


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the schema."""
    try:
        release = arguments.release or read_configuration(["."], None).options.get("release", NEWEST_RELEASE)
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    schema = schema_of(arguments.kind or "", release)
    streams.write(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
    return Status.DONE


def schema_of(kind: str, release: str) -> Mapping[str, Any] | None:
    """The schema of documents of a kind, trainc's own among them; of every kind if it is empty, None if it is unknown."""
    if kind in OWN_KINDS:
        schema: Mapping[str, Any] = OWN_KINDS[kind].json_schema()
        return schema
    if not kind:
        return of_every_kind(release)
    return json_schema(kind, release) if kind in ROOTS else None


def of_every_kind(release: str) -> dict[str, Any]:
    """A schema for documents of any kind: the fields depend on `kind`."""
    schemas = {kind: json_schema(kind, release) for kind in KINDS}
    definitions: dict[str, Any] = {}
    for schema in schemas.values():
        definitions |= schema["$defs"]
    chosen = [
        {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": {"$ref": schema["$ref"]}}
        for kind, schema in schemas.items()
    ]
    return {
        "$schema": DIALECT,
        "title": f"Documents of Kubeflow Trainer {release}",
        "type": "object",
        "properties": {"kind": {"enum": list(KINDS)}},
        "required": ["apiVersion", "kind"],
        "allOf": chosen,
        "$defs": dict(sorted(definitions.items())),
    }
