"""The settings that trainc.yaml and overlays have in common: compile options, made from options.SETTINGS, and rules."""

from __future__ import annotations

from typing import Any

from trainc.findings import Finding
from trainc.findings.policy import RULES_SCHEMA
from trainc.kube.documents import Json
from trainc.options import Place, Setting, settings_in
from trainc.schema.document_kinds import WORD, WORDS, Schema, about

RULES = about("The severity of diagnostics, by code: error, warning, info or ignore.", dict(RULES_SCHEMA))


def options_schema(owner: Place) -> Schema:
    """Return the schema of each compile option that can be set in a place, by its key."""
    return {setting.key: _schema(setting) for setting in settings_in(owner)}


def _schema(setting: Setting) -> Schema:
    schema = WORD
    if setting.kind != "text":
        schema = {"type": "boolean"} if setting.kind == "truth" else WORDS
    elif setting.words:
        # Where there is a check, other spellings are allowed, such as v2.3 for the release 2.3.
        schema = {"type": "string", "examples" if setting.check else "enum": list(setting.words)}
    return about(f"{setting.about[0].upper()}{setting.about[1:]}.", schema)


def read_options(data: Json, owner: Place, code: str) -> tuple[dict[str, Any], list[Finding]]:
    """Return the compile options in a document that its schema accepts, by their names in Options, and all problems."""
    options: dict[str, Any] = {}
    findings: list[Finding] = []
    for setting in settings_in(owner):
        if setting.key in data:
            try:
                options[setting.name] = setting.checked(data[setting.key])
            except ValueError as error:
                message, _, hint = str(error).partition("; ")
                more = ", or upgrade trainc to a version that has it" if setting.words else ""
                findings.append(Finding(code, "error", message, f"{hint}{more}", (setting.key,)))
    return options, findings
