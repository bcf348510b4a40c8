"""The parameters of an Application that trainc compiles, and how to read them from Argo CD's environment.

Argo CD passes `plugin.parameters` as JSON in ARGOCD_APP_PARAMETERS and individually as PARAM_<NAME>; `plugin.env` is
passed as ARGOCD_ENV_<NAME>. The first of these that sets a parameter wins. No other variables are read.
Source: argoproj/argo-cd docs/operator-manual/config-management-plugins.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from trainc.api.documents import opening
from trainc.api.findings import CompileError, Diagnostic, did_you_mean
from trainc.api.records import dataclass, field
from trainc.api.settings import settings_in

Kind: TypeAlias = Literal["text", "truth", "list", "paths"]
Value: TypeAlias = str | bool | list[str]
Environment: TypeAlias = Mapping[str, str]

_JSON = "ARGOCD_APP_PARAMETERS"
_PARAMETER = "PARAM_"
_VARIABLE = "ARGOCD_ENV_"
_VALUES = {"string", "array", "map"}
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, its description for users, and the `trainc build` argument that it sets.

    `normalize` checks and spells a value as the compile option behind it does.
    """

    name: str
    title: str
    tooltip: str
    argument: str
    kind: Kind = "text"
    normalize: Callable[[str], object] | None = None

    @property
    def announcement(self) -> dict[str, Any]:
        """The announcement in the format of Argo CD's UI."""
        return {
            "name": self.name,
            "title": self.title,
            "tooltip": self.tooltip,
            "required": False,
            **({"itemType": "boolean"} if self.kind == "truth" else {}),
            "collectionType": "array" if self.kind in ("list", "paths") else "string",
        }


DESTINATION = "destination-namespace"
PARAMETERS: tuple[Parameter, ...] = (
    *(
        Parameter(one.parameter, one.name.replace("_", " ").capitalize(), one.about, one.name, one.kind, one.normalize)
        for one in settings_in("Argo CD")
    ),
    Parameter(DESTINATION, "Use the destination's namespace", "set namespace to it", DESTINATION, "truth"),
    Parameter("environment", "Environment", "one of those in trainc.yaml", "env", "list"),
    Parameter("overlay", "Overlays", "folders with an overlay.yaml, from the Application's path", "overlay", "paths"),
    Parameter("runtimes", "Runtimes", "folders of runtimes, from the Application's path", "runtimes", "paths"),
    Parameter("allow-empty", "Allow empty", "do not fail if there are no TrainJobs", "allow_empty", "truth"),
)
_BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


@dataclass(slots=True)
class ParsedParameters:
    """The `trainc build` arguments that an Application sets, and the problems with its parameters."""

    arguments: dict[str, Value] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def read_parameters(environment: Environment) -> ParsedParameters:
    """Read an Application's parameters and variables. Raises CompileError with all their problems."""
    parsed = ParsedParameters()
    for origin in (_from_json, _from_parameters, _from_variables):
        for parameter, raw in origin(environment, parsed.diagnostics):
            if parameter.argument in parsed.arguments or raw in ("", []):
                continue
            value = _value(parameter, raw, environment)
            if isinstance(value, Diagnostic):
                parsed.diagnostics.append(value)
            else:
                parsed.arguments[parameter.argument] = value
    if parsed.arguments.pop(DESTINATION, False):
        namespace = environment.get("ARGOCD_APP_NAMESPACE", "")
        if "namespace" in parsed.arguments:
            parsed.diagnostics.append(_wrong(DESTINATION, "contradicts namespace", "set only one of them"))
        elif not namespace:
            hint = "set spec.destination.namespace of the Application"
            parsed.diagnostics.append(_wrong(DESTINATION, "is true, but the destination has no namespace", hint))
        else:
            parsed.arguments["namespace"] = namespace
    if any(d.severity == "error" for d in parsed.diagnostics):
        raise CompileError(parsed.diagnostics)
    return parsed


def _from_json(environment: Environment, findings: list[Diagnostic]) -> Iterator[tuple[Parameter, Any]]:
    try:
        entries = json.loads(environment.get(_JSON) or "[]")
    except ValueError:
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        findings.append(_wrong(_JSON, "is not a JSON list of parameters", "set parameters under spec.source.plugin"))
        return
    names: set[str] = set()
    for entry in entries:
        name = str(entry.get("name"))
        if name not in _BY_NAME:
            hint = did_you_mean(name, _BY_NAME) or f"the parameters are {', '.join(_BY_NAME)}"
            findings.append(_wrong(name, "is not a parameter of trainc", hint))
            continue
        values = {key: value for key, value in entry.items() if key != "name" and value not in (None, "", [], {})}
        if unknown := sorted(values.keys() - _VALUES):
            findings.append(_wrong(name, f"has the unknown field {unknown[0]}", "set `string` or `array`"))
        elif len(values) > 1:
            findings.append(_wrong(name, f"has several values: {', '.join(values)}", "set only one of them"))
        elif values and name in names:
            findings.append(_wrong(name, "is set twice", "keep one of the two"))
        elif values:
            names.add(name)
            yield _BY_NAME[name], *values.values()


def _from_parameters(environment: Environment, findings: list[Diagnostic]) -> Iterator[tuple[Parameter, Any]]:
    for parameter in PARAMETERS:
        name = _PARAMETER + _upper_name(parameter.name)
        items: list[str] = []
        while f"{name}_{len(items)}" in environment:
            items.append(environment[f"{name}_{len(items)}"])
        yield parameter, items or environment.get(name, "")


def _from_variables(environment: Environment, findings: list[Diagnostic]) -> Iterator[tuple[Parameter, Any]]:
    by_name = {_upper_name(parameter.name): parameter for parameter in PARAMETERS}
    names = sorted(name.removeprefix(_VARIABLE) for name in environment if name.startswith(_VARIABLE))
    for name in names:
        if name in by_name:
            yield by_name[name], environment[_VARIABLE + name]
        else:
            hint = did_you_mean(name, by_name) or f"after {_VARIABLE}, trainc knows {', '.join(by_name)}"
            findings.append(_wrong(_VARIABLE + name, "is not a setting of trainc", hint, "warning"))


def _value(parameter: Parameter, raw: Any, environment: Environment) -> Value | Diagnostic:
    """The value of a parameter, or the problem with it."""
    texts = [raw] if isinstance(raw, str) else raw
    if not isinstance(texts, list) or not all(isinstance(text, str) and _is_text(text) for text in texts):
        return _wrong(parameter.name, "is not a string or a list of strings", "set `string` or `array`")
    if parameter.kind in ("list", "paths"):
        items = [item.strip() for text in texts for item in text.split(",") if item.strip()]
        outside = [item for item in items if parameter.kind == "paths" and leads_outside(item, environment)]
        hint = "use a path inside the repository"
        return _wrong(parameter.name, f"points outside the repository: {outside[0]}", hint) if outside else items
    if len(texts) != 1:
        return _wrong(parameter.name, f"has {len(texts)} values, but takes only one", "set `string`")
    (text,) = texts
    problem = f"has the invalid value {text!r}"
    if parameter.kind == "truth":
        return _TRUTHS.get(text.lower(), _wrong(parameter.name, problem, "write true or false"))
    assert parameter.normalize is not None  # The parameters without one are lists and booleans.
    try:
        return str(parameter.normalize(text))
    except ValueError as error:
        return _wrong(parameter.name, problem, str(error))


def _is_text(text: str) -> bool:
    """Return whether text is valid Unicode: JSON may contain lone surrogates, and variables may contain arbitrary bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _upper_name(name: str) -> str:
    return name.upper().replace("-", "_")


def _wrong(name: str, problem: str, hint: str, severity: Literal["error", "warning"] = "error") -> Diagnostic:
    return Diagnostic(
        "InvalidParameter", severity, f"{name} {problem}", hint=hint, object="Application", path="spec.source.plugin"
    )


# Whether a path that an Application names stays inside its repository.


def leads_outside(path: str, environment: Mapping[str, str]) -> bool:
    """Return whether `path`, relative to the Application's folder, leaves the repository, also through links.

    Only as far as the folder's depth in the repository is known.
    """
    if os.path.isabs(path):
        return True
    inside = environment.get("ARGOCD_APP_SOURCE_PATH")
    if inside is None:
        return False
    depth = len([step for step in inside.split("/") if step not in ("", os.curdir)])
    top = os.path.realpath(os.path.join(os.curdir, *[os.pardir] * depth))
    return os.path.normpath(path).split("/").count(os.pardir) > depth or not opening.is_inside(path, top)
