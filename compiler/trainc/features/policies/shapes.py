"""JSON Schemas of the policy and binding fields in use; anything else is refused with its path.

Source: kubernetes api admissionregistration/v1 types.go, v1.36.
"""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_SELECTOR = {
    "type": "object",
    "properties": {
        "matchLabels": {"type": "object", "additionalProperties": _TEXT},
        "matchExpressions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["key", "operator"],
                "properties": {
                    "key": _TEXT,
                    "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                    "values": _TEXTS,
                },
            },
        },
    },
}
_RULES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "apiGroups": _TEXTS,
            "apiVersions": _TEXTS,
            "operations": {
                "type": "array",
                "items": {"enum": ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]},
            },
            "resources": _TEXTS,
            "resourceNames": _TEXTS,
            "scope": {"enum": ["Namespaced", "Cluster", "*"]},
        },
        "required": ["apiGroups", "apiVersions", "operations", "resources"],
    },
}
_MATCH = {
    "type": "object",
    "properties": {
        "resourceRules": _RULES,
        "excludeResourceRules": _RULES,
        "namespaceSelector": _SELECTOR,
        "objectSelector": _SELECTOR,
        "matchPolicy": {"enum": ["Exact", "Equivalent"]},
    },
}
_METADATA = {"type": "object", "required": ["name"], "properties": {"name": _TEXT, "namespace": _TEXT}}


def _named_expressions() -> dict[str, Any]:
    item = {"type": "object", "required": ["name", "expression"], "properties": {"name": _TEXT, "expression": _TEXT}}
    return {"type": "array", "items": item}


POLICY: dict[str, Any] = {
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "metadata": _METADATA,
        "spec": {
            "type": "object",
            "required": ["matchConstraints"],
            "properties": {
                "failurePolicy": {"enum": ["Fail", "Ignore"]},
                "paramKind": {
                    "type": "object",
                    "required": ["apiVersion", "kind"],
                    "properties": {"apiVersion": _TEXT, "kind": _TEXT},
                },
                "matchConstraints": {**_MATCH, "required": ["resourceRules"]},
                "matchConditions": _named_expressions(),
                "variables": _named_expressions(),
                "validations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["expression"],
                        "properties": {
                            "expression": _TEXT,
                            "message": _TEXT,
                            "messageExpression": _TEXT,
                            "reason": {"enum": ["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"]},
                        },
                    },
                },
                "auditAnnotations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["key", "valueExpression"],
                        "properties": {"key": _TEXT, "valueExpression": _TEXT},
                    },
                },
            },
        },
    },
}
BINDING: dict[str, Any] = {
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": {
        "metadata": _METADATA,
        "spec": {
            "type": "object",
            "required": ["policyName", "validationActions"],
            "properties": {
                "policyName": _TEXT,
                "validationActions": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"enum": ["Deny", "Warn", "Audit"]},
                },
                "matchResources": _MATCH,
                "paramRef": {
                    "type": "object",
                    "properties": {
                        "name": _TEXT,
                        "namespace": _TEXT,
                        "selector": _SELECTOR,
                        "parameterNotFoundAction": {"enum": ["Allow", "Deny"]},
                    },
                },
            },
        },
    },
}
