"""What the API server refuses when a policy or binding is created, apart from its expressions: shape and values.

Source: kubernetes v1.36 api admissionregistration/v1 types.go; pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.documents import Document
from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, names
from trainc.features.policies.cel import is_identifier

_LONGEST_MESSAGE = 200
_MOST_CONDITIONS, _MOST_ANNOTATIONS = 64, 20


def _mapping(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
_SELECTOR = _mapping(
    matchLabels={"type": "object", "additionalProperties": _TEXT},
    matchExpressions=_list(
        _mapping(
            ["key", "operator"],
            key=_TEXT,
            operator={"enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
            values=_list(_TEXT),
        )
    ),
)
_RULES = _list(
    _mapping(
        ["apiGroups", "apiVersions", "operations", "resources"],
        **dict.fromkeys(("apiGroups", "apiVersions", "resources", "resourceNames"), _list(_TEXT)),
        operations=_list({"enum": ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]}),
        scope={"enum": ["Namespaced", "Cluster", "*"]},
    )
)
_MATCH = _mapping(
    resourceRules=_RULES,
    excludeResourceRules=_RULES,
    namespaceSelector=_SELECTOR,
    objectSelector=_SELECTOR,
    matchPolicy={"enum": ["Exact", "Equivalent"]},
)
_METADATA = _mapping(["name"], name=_TEXT, namespace=_TEXT)
_NAMED_EXPRESSIONS = _list(_mapping(["name", "expression"], name=_TEXT, expression=_TEXT))
# The fields that are in use; kubernetes api admissionregistration/v1 types.go, v1.36.
POLICY = _mapping(
    ["metadata", "spec"],
    metadata=_METADATA,
    spec=_mapping(
        ["matchConstraints"],
        failurePolicy={"enum": ["Fail", "Ignore"]},
        paramKind=_mapping(["apiVersion", "kind"], apiVersion=_TEXT, kind=_TEXT),
        matchConstraints={**_MATCH, "required": ["resourceRules"]},
        matchConditions=_NAMED_EXPRESSIONS,
        variables=_NAMED_EXPRESSIONS,
        validations=_list(
            _mapping(
                ["expression"],
                expression=_TEXT,
                message=_TEXT,
                messageExpression=_TEXT,
                reason={"enum": ["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"]},
            )
        ),
        auditAnnotations=_list(_mapping(["key", "valueExpression"], key=_TEXT, valueExpression=_TEXT)),
    ),
)
_ACTIONS = {**_list({"enum": ["Deny", "Warn", "Audit"]}), "minItems": 1}
BINDING = _mapping(
    ["metadata", "spec"],
    metadata=_METADATA,
    spec=_mapping(
        ["policyName", "validationActions"],
        policyName=_TEXT,
        validationActions=_ACTIONS,
        matchResources=_MATCH,
        paramRef=_mapping(
            name=_TEXT, namespace=_TEXT, selector=_SELECTOR, parameterNotFoundAction={"enum": ["Allow", "Deny"]}
        ),
    ),
)


def misshapen(document: Document, schema: Any) -> Iterator[Finding]:
    """What in a document is of another type than its schema says."""
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(schema).iter_errors(document.data):
        path: Path = tuple(error.absolute_path)
        what = error.message if len(error.message) <= _LONGEST_MESSAGE else f"{error.message[:_LONGEST_MESSAGE]}..."
        hint = "`kubectl explain validatingadmissionpolicy.spec` describes the fields"
        yield Finding("PolicyInvalid", "error", what, hint, path)


# Where a problem is, below `spec`, and what it is.
Problem: TypeAlias = tuple[Path, str]


def refusals(document: Document) -> Iterator[Finding]:
    """What the API server refuses of a document that has the right shape."""
    name, spec = document.data["metadata"]["name"], document.data["spec"]
    problems = [*_of_rules(spec), *_of_names(name, spec), *_of_messages(spec), *_of_binding(spec)]
    found: list[Problem] = [(("spec", *path), text) for path, text in problems]
    if not names.is_subdomain(name):
        found.append((("metadata", "name"), f"{name!r} is not a lowercase DNS name"))
    for path, text in found:
        yield Finding("PolicyInvalid", "error", text, "correct it; the API server refuses it, too", path)


def _of_rules(spec: Json) -> Iterator[Problem]:
    for key in ("matchConstraints", "matchResources"):
        for kind in ("resourceRules", "excludeResourceRules"):
            for i, rule in enumerate(spec.get(key, {}).get(kind, ())):
                yield from (((key, kind, i, part), text) for part, text in _of_rule(rule))


def _of_rule(rule: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for part in ("apiGroups", "apiVersions", "operations", "resources"):
        if not rule[part] or ("" in rule[part] and part in ("apiVersions", "resources")):
            yield part, "a rule needs values here, none of them empty"
        elif "*" in rule[part] and len(rule[part]) > 1 and part != "resources":
            yield part, "`*` cannot be combined with other values"
    listed = rule["resources"]
    whole = [one for one in listed if one and "/" not in one]
    # As upstream, which looks at the last of these only.
    if ("*/*" in listed and len(listed) > 1) or ("*" in listed and whole[-1] != "*"):
        yield "resources", "next to `*` only subresources can stand, and next to `*/*` nothing"
    if len(set(rule.get("resourceNames", ()))) < len(rule.get("resourceNames", ())):
        yield "resourceNames", "a name is there twice"


def _of_names(policy: str, spec: Json) -> Iterator[Problem]:
    for i, one in enumerate(spec.get("variables", ())):
        if not is_identifier(one["name"]):
            yield ("variables", i, "name"), f"{one['name']!r} cannot be the name of a variable"
    conditions = [one["name"] for one in spec.get("matchConditions", ())]
    yield from _of_list("matchConditions", "name", conditions, _MOST_CONDITIONS, "")
    keys = [one["key"] for one in spec.get("auditAnnotations", ())]
    yield from _of_list("auditAnnotations", "key", keys, _MOST_ANNOTATIONS, f"{policy}/")


def _of_list(part: str, key: str, listed: Sequence[str], most: int, prefix: str) -> Iterator[Problem]:
    if len(listed) > most:
        yield (part,), f"there are more than {most}"
    seen: set[str] = set()
    for i, name in enumerate(listed):
        if name in seen:
            yield (part, i, key), f"{name} is there twice"
        if not names.is_label_key(f"{prefix}{name}"):
            yield (part, i, key), f"{name!r} is not a valid name here"
        seen.add(name)


def _of_messages(spec: Json) -> Iterator[Problem]:
    for i, one in enumerate(spec.get("validations", ())):
        for part in ("message", "messageExpression"):
            if one.get(part) and not one[part].strip():
                yield ("validations", i, part), "it is empty"
        if set("\n\r") & set(one.get("message", "").strip()):
            yield ("validations", i, "message"), "a message has one line"


def _of_binding(spec: Json) -> Iterator[Problem]:
    actions = spec.get("validationActions", ())
    if len(set(actions)) < len(actions):
        yield ("validationActions",), "an action is there twice"
    if {"Deny", "Warn"} <= set(actions):
        yield ("validationActions",), "Deny and Warn cannot be combined"
    reference = spec.get("paramRef")
    if reference is not None:
        if bool(reference.get("name")) == ("selector" in reference):
            yield ("paramRef",), "it needs either a name or a selector"
        if "parameterNotFoundAction" not in reference:
            yield ("paramRef",), "it needs parameterNotFoundAction: Allow or Deny"
