"""Decide which objects a policy and its binding apply to: resource rules, selectors and parameters.

Every object is treated as a CREATE request. Source: kubernetes apiserver v1.36,
pkg/admission/plugin/policy/matching/matching.go and pkg/admission/plugin/policy/generic/policy_matcher.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainc.kube.selectors import matches_selector
from trainc.reading.document import Document

NAME_LABEL = "kubernetes.io/metadata.name"


class UndecidedError(Exception):
    """The documents do not determine whether a policy applies, or its parameters; the message says what is missing."""


def resource_of(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    """The API group, version and plural resource name of an object's kind."""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    kind = str(manifest["kind"]).lower()
    return group, version, f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def is_matched(match: Mapping[str, Any], manifest: Mapping[str, Any], namespaces: Mapping[str, Any]) -> bool:
    """Whether matchConstraints or matchResources match an object. Raises UndecidedError if a Namespace is missing."""
    rules, excluded = match.get("resourceRules"), match.get("excludeResourceRules") or ()
    if any(_in_rule(rule, manifest) for rule in excluded):
        return False
    if rules and not any(_in_rule(rule, manifest) for rule in rules):
        return False
    metadata = manifest["metadata"]
    selector = match.get("objectSelector")
    if selector and not matches_selector(selector, metadata.get("labels") or {}):
        return False
    wanted = match.get("namespaceSelector")
    return not wanted or _in_namespace(wanted, metadata.get("namespace", ""), namespaces)


def _in_rule(rule: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    group, version, resource = resource_of(manifest)
    names = rule.get("resourceNames")
    return (
        _has(rule["apiGroups"], group)
        and _has(rule["apiVersions"], version)
        and _has(rule["operations"], "CREATE")
        and (_has(rule["resources"], resource) or "*/*" in rule["resources"])
        and rule.get("scope", "*") in ("*", "Namespaced")
        and (not names or manifest["metadata"].get("name") in names)
    )


def _has(words: Sequence[str], word: str) -> bool:
    return "*" in words or word in words


def _in_namespace(selector: Mapping[str, Any], name: str, namespaces: Mapping[str, Any]) -> bool:
    keys = {*selector.get("matchLabels", ()), *(one["key"] for one in selector.get("matchExpressions", ()))}
    if not name:
        raise UndecidedError("the object has no namespace, and the policy selects namespaces; set --namespace")
    if name not in namespaces and keys - {NAME_LABEL}:
        raise UndecidedError(_missing_namespace(name))
    return matches_selector(selector, {**_labels(namespaces.get(name, {})), NAME_LABEL: name})


def namespace_object(manifest: Mapping[str, Any], namespaces: Mapping[str, Any]) -> Any:
    """The value of `namespaceObject` for an object. Raises UndecidedError if the documents lack that Namespace."""
    name = manifest["metadata"].get("namespace", "")
    if name not in namespaces:
        raise UndecidedError(_missing_namespace(name))
    return namespaces[name]


def _missing_namespace(name: str) -> str:
    return f"Namespace {name or 'of the object'} is not in the policies folders, and the policy depends on it"


def namespaces_of(documents: Iterable[Document]) -> dict[str, Any]:
    """The Namespaces among the documents, by name."""
    found = (document.data for document in documents if document.data.get("kind") == "Namespace")
    return {str(one["metadata"].get("name")): one for one in found if isinstance(one.get("metadata"), dict)}


def _labels(data: Mapping[str, Any]) -> dict[str, str]:
    metadata = data.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return {str(key): str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}


def parameters(
    kind: Mapping[str, str] | None, reference: Mapping[str, Any] | None, namespace: str, others: Sequence[Document]
) -> list[Any]:
    """The values of `params`, one for each evaluation. Raises UndecidedError if the documents lack the object."""
    if kind is None or reference is None:
        return [None]
    where = reference.get("namespace", namespace)
    found = [
        document.data
        for document in others
        if (document.data.get("apiVersion"), document.data.get("kind")) == (kind["apiVersion"], kind["kind"])
        and isinstance(document.data.get("metadata"), dict)
        and document.data["metadata"].get("namespace", where) == where
        and _is_meant(document.data, reference)
    ]
    if not found:
        what = f"{kind['kind']} {reference.get('name', '')}".rstrip()
        raise UndecidedError(f"its parameter, {what} in namespace {where or '(none)'}, is not in the policies folders")
    return found


def _is_meant(data: Mapping[str, Any], reference: Mapping[str, Any]) -> bool:
    if "name" in reference:
        return bool(data["metadata"].get("name") == reference["name"])
    return "selector" in reference and (
        not reference["selector"] or matches_selector(reference["selector"], _labels(data))
    )
