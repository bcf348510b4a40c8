"""The JSON Schema of overlays for editors: what `read_overlay` accepts, with descriptions of the fields."""

from __future__ import annotations

from typing import Any, get_args

from trainc.findings.policy import RULES_SCHEMA
from trainc.kube.kueue import MINORS
from trainc.kube.releases import KUBERNETES, RELEASES
from trainc.options import Delivery, Gang, SecretsMode, Semantics
from trainc.project.overlays.overlay import API, KIND
from trainc.project.overlays.patterns import TARGET_FIELDS

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_PAIRS: Schema = {"type": "object", "additionalProperties": _TEXT}


def _object(properties: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _about(description: str, schema: Schema) -> Schema:
    return {"description": description, **schema}


def overlay_schema(dialect: str) -> Schema:
    """Return the schema; `dialect` is the URI of the JSON Schema dialect. It is the same for all releases."""
    patch = _object(
        {
            "path": _TEXT,
            "patch": {"type": ["string", "object", "array"]},
            "target": _object(dict.fromkeys(TARGET_FIELDS, _TEXT)),
        },
        oneOf=[{"required": ["path"]}, {"required": ["patch"]}],
    )
    image = _object(dict.fromkeys(("name", "newName", "newTag", "digest"), _TEXT), required=["name"])
    properties = {
        "apiVersion": {"const": API},
        "kind": {"const": KIND},
        "metadata": {"type": "object"},
        "resources": _about("Files and folders to compile, relative to the overlay; a folder may be a base.", _TEXTS),
        "patches": _about("Strategic merge patches or JSON Patch operations, inline or in a file.", _list_of(patch)),
        "namespace": _about("The namespace of all TrainJobs and TrainingRuntimes; replaces their own.", _TEXT),
        "namePrefix": _about("Prefix for the names of TrainJobs.", _TEXT),
        "nameSuffix": _about("Suffix for the names of TrainJobs.", _TEXT),
        "labels": _about("Labels for TrainJobs and their JobSets.", _list_of(_object({"pairs": _PAIRS}))),
        "commonAnnotations": _about("Annotations for TrainJobs and their JobSets.", _PAIRS),
        "images": _about("New names, tags and digests for images.", _list_of(image)),
        "values": _about("Variables for templates.", {"type": "object"}),
        "runtimes": _about("Folders with more runtimes.", _TEXTS),
        "release": _about(f"The Trainer release: {', '.join(RELEASES)}; v2.3 and 2.3.1 mean 2.3.", _TEXT),
        "semantics": _about("Output semantics: gitops or controller.", {"enum": list(get_args(Semantics))}),
        "secrets": _about("Where the SSH keys that MPI pods mount come from.", {"enum": list(get_args(SecretsMode))}),
        "keygenImage": _about("The image that generates keys with secrets: presync-job.", _TEXT),
        "delivery": _about("The tool that applies the output.", {"enum": list(get_args(Delivery))}),
        "syncOptions": _about("Sync options for the delivery tool, per job.", _TEXTS),
        "rules": _about("The severity of diagnostics, by code: error, warning, info or ignore.", dict(RULES_SCHEMA)),
        "nameHash": _about("Whether names end in a hash of the content.", {"type": "boolean"}),
        "gang": _about("Who schedules a gang: the runtime's scheduler, or Kubernetes.", {"enum": list(get_args(Gang))}),
        "kueue": _about(f"The Kueue version of the cluster: {' or '.join(MINORS)}, or one with a patch.", _TEXT),
        "kubernetes": _about(f"The Kubernetes minor of the cluster: {', '.join(KUBERNETES)}.", _TEXT),
    }
    return {"$schema": dialect, "title": "trainc overlay", **_object(properties, required=["apiVersion", "kind"])}
