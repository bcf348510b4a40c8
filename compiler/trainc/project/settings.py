"""The settings that trainc.yaml and overlays have in common: compile options, made from options.SETTINGS, and rules."""

from __future__ import annotations

from typing import Any

from trainc.findings import Finding
from trainc.findings.policy import RULES_SCHEMA
from trainc.kube.documents import Json
from trainc.options import Setting, SettingSource, settings_in
from trainc.schema.document_kinds import WORD, WORDS, Schema, about

RULES = about("The severity of diagnostics, by code: error, warning, info or ignore.", dict(RULES_SCHEMA))


def options_schema(source: SettingSource) -> Schema:
    """Return the schema of each compile option that can be set in a source, by its key."""
    return {setting.key: _schema(setting) for setting in settings_in(source)}


def _schema(setting: Setting) -> Schema:
    schema = WORD
    if setting.kind != "text":
        schema = {"type": "boolean"} if setting.kind == "truth" else WORDS
    elif setting.choices:
        # Where there is a check, other spellings are allowed, such as v2.3 for the release 2.3.
        schema = {"type": "string", "examples" if setting.check else "enum": list(setting.choices)}
    return about(f"{setting.about[0].upper()}{setting.about[1:]}.", schema)


def read_options(data: Json, source: SettingSource, code: str) -> tuple[dict[str, Any], list[Finding]]:
    """Return the compile options in a document that its schema accepts, by their names in Options, and all problems."""
    options: dict[str, Any] = {}
    findings: list[Finding] = []
    for setting in settings_in(source):
        if setting.key in data:
            try:
                options[setting.name] = setting.normalize(data[setting.key])
            except ValueError as error:
                message, _, hint = str(error).partition("; ")
                more = ", or upgrade trainc to a version that has it" if setting.choices else ""
                findings.append(Finding(code, "error", message, f"{hint}{more}", (setting.key,)))
    return options, findings
