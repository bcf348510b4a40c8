"""Decide which objects a policy and its binding apply to: resource rules, selectors and parameters.

Every object is treated as a CREATE request. Source: kubernetes apiserver v1.36, pkg/admission/plugin/policy/matching/
matching.go, pkg/admission/plugin/policy/generic/policy_dispatcher.go, pkg/admission/plugin/webhook/predicates/rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from trainc.api.documents import Document, opening
from trainc.api.kube import mapping, selectors
from trainc.features.cluster.policies.cel import Unknown

NAME_LABEL = "kubernetes.io/metadata.name"
_SET_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp")


class UndecidedError(Exception):
    """The documents do not determine whether a policy applies, or its parameters; the message says what is missing.

    `decides` is whether that is for a job's author to choose, by its namespace.
    """

    decides = False


class NoParameterError(UndecidedError):
    """The object that a binding names as its parameter is not there."""


class _NamespaceUndecidedError(UndecidedError):
    decides = True


def resource_of(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    """The API group, version and plural resource name of an object's kind."""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    kind = str(manifest["kind"]).lower()
    return group, version, f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def is_matched(match: Mapping[str, Any], manifest: Mapping[str, Any], namespaces: Mapping[str, Any]) -> bool:
    """Return whether matchConstraints or matchResources match. Raises UndecidedError if a Namespace is missing."""
    rules, excluded = match.get("resourceRules"), match.get("excludeResourceRules") or ()
    if any(_in_rule(rule, manifest) for rule in excluded):
        return False
    if rules and not any(_in_rule(rule, manifest) for rule in rules):
        return False
    metadata = manifest["metadata"]
    of_object, of_namespace = match.get("objectSelector"), match.get("namespaceSelector")
    if of_object and not selectors.matches_selector(of_object, metadata.get("labels") or {}):
        return False
    return not of_namespace or _in_namespace(of_namespace, metadata.get("namespace", ""), namespaces)


# (API group, resource) of what a JobSet becomes, and of that and what trainc writes.
CHILDREN = (("batch", "jobs"), ("", "pods"))
OURS = (*CHILDREN, *(tuple(resource.split("/")) for resource in opening.read_data(__file__, "api.json")["ours"]))


def is_about(constraints: Mapping[str, Any], kinds: Sequence[tuple[str, ...]] = OURS) -> bool:
    """Return whether a policy may match one of these kinds."""
    return any(
        _allows(rule["operations"], "CREATE") and _allows(rule["apiGroups"], group) and _has_resource(rule, resource)
        for rule in constraints["resourceRules"]
        for group, resource in kinds
    )


def _in_rule(rule: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    group, version, resource = resource_of(manifest)
    names = rule.get("resourceNames")
    return (
        _allows(rule["apiGroups"], group)
        and _allows(rule["apiVersions"], version)
        and _allows(rule["operations"], "CREATE")
        and _has_resource(rule, resource)
        and rule.get("scope", "*") in ("*", "Namespaced")
        and (not names or request_name(manifest) in names)
    )


def _allows(values: Sequence[str], value: str) -> bool:
    return "*" in values or value in values


def _has_resource(rule: Mapping[str, Any], resource: str) -> bool:
    """Return whether a rule names a resource; in `jobsets/*` and `*/*`, the star includes no subresource at all."""
    parts = (text.partition("/") for text in rule["resources"])
    return any(name in ("*", resource) and subresource in ("", "*") for name, _, subresource in parts)


def request_name(manifest: Mapping[str, Any]) -> str:
    """The name in a request, which is empty while the API server makes one up."""
    metadata = manifest["metadata"]
    return "" if metadata.get("generateName") else str(metadata.get("name", ""))


def _in_namespace(selector: Mapping[str, Any], name: str, namespaces: Mapping[str, Any]) -> bool:
    keys = {*selector.get("matchLabels", ()), *(e["key"] for e in selector.get("matchExpressions", ()))}
    if not name:
        raise _NamespaceUndecidedError(
            "the object has no namespace, and the policy selects namespaces; set --namespace"
        )
    if name not in namespaces and keys - {NAME_LABEL}:
        raise _NamespaceUndecidedError(_missing_namespace(name))
    return selectors.matches_selector(selector, {**labels_of(namespaces.get(name, {})), NAME_LABEL: name})


def namespace_object(manifest: Mapping[str, Any], namespaces: Mapping[str, Any]) -> Any:
    """The value of `namespaceObject` for an object; Unknown if the documents lack that Namespace."""
    name = manifest["metadata"].get("namespace", "")
    if name not in namespaces:
        return Unknown(_missing_namespace(name))
    data = namespaces[name]
    metadata = data["metadata"]
    server = {key: Unknown(f"{key} of Namespace {name} is not in the policies folders") for key in _SET_BY_SERVER}
    labels = {**labels_of(data), NAME_LABEL: name}
    return {
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
        **{key: data[key] for key in ("spec", "status") if isinstance(data.get(key), dict)},
        "metadata": {**server, **metadata, "labels": labels},
    }


def _missing_namespace(name: str) -> str:
    return f"Namespace {name or 'of the object'} is not in the policies folders, and the policy depends on it"


def namespaces_of(documents: Iterable[Document]) -> dict[str, Any]:
    """The Namespaces among the documents, by name."""
    namespaces = (document.data for document in documents if document.data.get("kind") == "Namespace")
    return {str(n["metadata"].get("name")): n for n in namespaces if isinstance(n.get("metadata"), dict)}


def labels_of(data: Mapping[str, Any]) -> dict[str, str]:
    """The labels of an object, whatever its shape."""
    return {str(key): str(value) for key, value in mapping(mapping(data.get("metadata")).get("labels")).items()}


def by_name(documents: Iterable[Document]) -> dict[str, list[Any]]:
    """The objects that may be parameters, by name."""
    named: dict[str, list[Any]] = {}
    for document in documents:
        if isinstance(document.data.get("metadata"), dict):
            named.setdefault(str(document.data["metadata"].get("name")), []).append(document.data)
    return named


def parameters(
    kind: Mapping[str, str] | None,
    reference: Mapping[str, Any] | None,
    namespace: str,
    named: Mapping[str, Sequence[Any]],
) -> list[Any]:
    """The values of `params`, one for each evaluation. Raises UndecidedError if no object is the one that is meant."""
    if kind is None or reference is None:
        return [None]
    where = reference.get("namespace", namespace)
    objects = [
        data
        for data in (
            named.get(str(reference["name"]), ()) if "name" in reference else chain.from_iterable(named.values())
        )
        if (data.get("apiVersion"), data.get("kind")) == (kind["apiVersion"], kind["kind"])
        and data["metadata"].get("namespace", where) == where
        and _is_meant(data, reference)
    ]
    if not objects:
        label = f"{kind['kind']} {reference.get('name', '')}".rstrip()
        raise NoParameterError(
            f"its parameter, {label} in namespace {where or '(none)'}, is not in the policies folders"
        )
    return objects


def _is_meant(data: Mapping[str, Any], reference: Mapping[str, Any]) -> bool:
    if "name" in reference:
        return bool(data["metadata"].get("name") == reference["name"])
    selector = reference.get("selector")
    return "selector" in reference and (not selector or selectors.matches_selector(selector, labels_of(data)))
