"""The JSON Schema of trainc.yaml for editors and for docs/reference.md: what `read_configuration` accepts."""

from __future__ import annotations

from typing import Any, get_args

from trainc.api.releases import RELEASES
from trainc.cli.configuration import KEYS
from trainc.options import Delivery, SecretsMode, Semantics
from trainc.overlays.editor_schema import RULES

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
# What may differ from one environment to the next.
_OF_AN_ENVIRONMENT = ("overlay", "output", "runtimes", "release", "delivery", "secrets", "nameHash", "cluster")


def configuration_schema(dialect: str) -> Schema:
    """A schema in the dialect of JSON Schema that the URI names; no release changes it."""
    return {"$schema": dialect, "title": "Settings of trainc", **_object({key: _property(key) for key in KEYS})}


def _property(key: str) -> Schema:
    if key == "environments":
        own = {name: _property(name) for name in KEYS if name in _OF_AN_ENVIRONMENT}
        return {
            "description": "Environments by name, each with the keys that differ there.",
            "type": "object",
            "additionalProperties": _object(own),
        }
    description, schema = _PROPERTIES[key]
    return {"description": description, **schema}


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _one_of(alias: Any) -> Schema:
    return {"enum": list(get_args(alias))}


# The description of each key, and what its value may be.
_PROPERTIES: dict[str, tuple[str, Schema]] = {
    "sources": ("Files and folders with TrainJobs: what is compiled when no PATH is given.", _TEXTS),
    "runtimes": ("Folders with runtimes; they come before the built-in ones.", _TEXTS),
    "overlay": ("The overlay to apply, or several in order.", {"type": ["string", "array"], "items": _TEXT}),
    "output": ("The folder for the manifests, one file per TrainJob.", _TEXT),
    "release": (f"The Trainer release, in quotes: {', '.join(RELEASES)}.", _TEXT),
    "semantics": ("What to compile: what belongs in git, or exactly what the controller creates.", _one_of(Semantics)),
    "delivery": ("The tool that applies the manifests.", _one_of(Delivery)),
    "syncOptions": ("What that tool should do with each job; see `trainc help sync-options`.", _TEXTS),
    "nameHash": ("Whether names end in a hash of the job's content.", {"type": "boolean"}),
    "secrets": ("Where the keys that pods mount come from.", _one_of(SecretsMode)),
    "keygenImage": ("The image that makes key pairs under `secrets: presync-job`.", _TEXT),
    "cluster": ("The folder with a snapshot of queues and nodes, for `trainc fits`.", _TEXT),
    "policies": ("Folders with the cluster's ValidatingAdmissionPolicies and their bindings.", _TEXTS),
    "plugins": ("Plugins of other distributions to use, by name.", _TEXTS),
    "exclude": ("Globs of files and folders that are not read.", _TEXTS),
    "rules": ("What becomes of diagnostics, by code: error, warning, info or ignore.", RULES),
}
