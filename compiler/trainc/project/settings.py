"""The schema of trainc.yaml, and of the compile options in trainc.yaml and overlays, made from options.SETTINGS."""

from __future__ import annotations

from typing import Any

from trainc.findings import Finding
from trainc.findings.policy import RULES_SCHEMA
from trainc.kube.documents import Json
from trainc.options import Place, Setting, settings_in
from trainc.schema.document_kinds import WORD, WORDS, DocumentKind, Schema, about, struct

ENVIRONMENTS = "environments"
RULES = about("The severity of diagnostics, by code: error, warning, info or ignore.", dict(RULES_SCHEMA))
# What trainc.yaml and each of its environments hold beside compile options. Paths are relative to the file.
INPUT: Schema = {
    "sources": about("Files and folders with TrainJobs: what is compiled when no PATH is given.", WORDS),
    "runtimes": about("Folders with runtimes; they come before the built-in ones.", WORDS),
    "overlay": about(
        "The overlay to apply, or several in order.", {"type": ["string", "array"], "items": WORD, "minLength": 1}
    ),
    "policies": about("Folders with the cluster's ValidatingAdmissionPolicies and their bindings.", WORDS),
    "output": about("The folder for the manifests, one file per TrainJob.", WORD),
    "rebuild": about(
        "What a build compiles again: jobs whose TrainJob has changed, or all.",
        {"type": "string", "enum": ["changed-jobs", "all"]},
    ),
    "adopted": about("Globs of rendered files that may be new although trainc did not compile them.", WORDS),
    "cluster": about("The folder with a snapshot of queues and nodes, for `trainc fits`.", WORD),
    "exclude": about("Globs, as in .gitignore, of files and folders that are not read.", WORDS),
    "rules": RULES,
}


def options_schema(place: Place) -> Schema:
    """Return the schema of each compile option that can be set in a place, by its key."""
    return {setting.key: _schema(setting) for setting in settings_in(place)}


def _schema(setting: Setting) -> Schema:
    schema = WORD
    if setting.kind != "text":
        schema = {"type": "boolean"} if setting.kind == "truth" else WORDS
    elif setting.words:
        # Where there is a check, other spellings are allowed, such as v2.3 for the release 2.3.
        schema = {"type": "string", "examples" if setting.check else "enum": list(setting.words)}
    return about(f"{setting.about[0].upper()}{setting.about[1:]}.", schema)


_KEYS = {**INPUT, **options_schema("trainc.yaml")}
_ENVIRONMENTS = about(
    "Environments by name, each with the keys that differ from the top level.",
    {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": struct(_KEYS),
        "errorMessage": "write `NAME: {overlay: DIR, output: DIR}`, one per line",
    },
)
TRAINC_YAML = DocumentKind(
    "trainc.yaml", "trainc.yaml", "InvalidConfiguration", struct({**_KEYS, ENVIRONMENTS: _ENVIRONMENTS})
)


def read_options(data: Json, place: Place, code: str) -> tuple[dict[str, Any], list[Finding]]:
    """Return the compile options in a document that its schema accepts, by their names in Options, and all problems."""
    options: dict[str, Any] = {}
    findings: list[Finding] = []
    for setting in settings_in(place):
        if setting.key in data:
            try:
                options[setting.name] = setting.checked(data[setting.key])
            except ValueError as error:
                message, _, hint = str(error).partition("; ")
                more = ", or upgrade trainc to a version that has it" if setting.words else ""
                findings.append(Finding(code, "error", message, f"{hint}{more}", (setting.key,)))
    return options, findings
