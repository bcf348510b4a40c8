"""Load policies and bindings from documents: check their shape, parse their expressions, report what is unsupported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.features.policies.functions import FUNCTIONS, METHODS
from trainc.features.policies.shapes import BINDING, POLICY
from trainc.features.policies.syntax import InvalidExpressionError, Node, parse, uses
from trainc.findings import Diagnostic, Finding, Path
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field

_LONGEST_MESSAGE = 200
_GROUP = "admissionregistration.k8s.io"
_CREATED_LATER = {"jobs", "pods", "workloads", "trainjobs"}
_VARIABLES = {"object", "oldObject", "request", "params", "namespaceObject", "variables"}
# Variables and functions that only an API server can provide.
_NEEDS_A_CLUSTER = {"authorizer": "it asks the cluster's authorizer"}
_UNKNOWN_FIELDS = {
    "request.userInfo",
    "request.uid",
    "request.options",
    "request.requestKind",
    "request.requestResource",
}


@dataclass(frozen=True, slots=True)
class Validation:
    """A validation: its text, its parsed node, and its message on failure."""

    path: Path
    text: str
    node: Node
    message: str
    message_node: Node | None


@dataclass(slots=True)
class Policy:
    """The parts of a ValidatingAdmissionPolicy that decide about an object."""

    document: Document
    name: str
    spec: Any
    conditions: list[tuple[str, Node]] = field(default_factory=list)
    variables: dict[str, Node] = field(default_factory=dict)
    validations: list[Validation] = field(default_factory=list)

    @property
    def fails_closed(self) -> bool:
        """Whether an evaluation error denies the object."""
        return bool(self.spec.get("failurePolicy", "Fail") == "Fail")

    def uses(self, name: str) -> bool:
        """Whether an expression of the policy uses the external variable `name`."""
        nodes = [*self.variables.values(), *(node for _, node in self.conditions)]
        nodes += [node for one in self.validations for node in (one.node, one.message_node) if node is not None]
        return any(("name", name) in uses(node) for node in nodes)


@dataclass(frozen=True, slots=True)
class Binding:
    """A ValidatingAdmissionPolicyBinding and its policy."""

    document: Document
    name: str
    spec: Any
    policy: Policy


@dataclass(frozen=True, slots=True)
class Loaded:
    """The contents of the policy folders: bindings sorted by name, and all other documents by kind."""

    bindings: tuple[Binding, ...]
    others: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]


def load(documents: Sequence[Document]) -> Loaded:
    """Load policies with their bindings. Raises ModuleNotFoundError if there are any without the extra `policy`."""
    policies: dict[str, Policy | None] = {}
    bindings: list[Binding] = []
    diagnostics: list[Diagnostic] = []
    others = [document for document in documents if _kind(document) is None]
    for document in documents:
        if _kind(document) == "ValidatingAdmissionPolicy":
            policy, findings = _policy(document)
            policies[str(_name(document))] = policy
            diagnostics += [document.place(finding) for finding in findings]
    for document in documents:
        if _kind(document) == "ValidatingAdmissionPolicyBinding":
            bound, findings = _binding(document, policies)
            bindings += [bound] if bound is not None else []
            diagnostics += [document.place(finding) for finding in findings]
    for binding in bindings:
        diagnostics += [binding.policy.document.place(finding) for finding in _about_later_objects(binding.policy)]
    named = {_policy_name(document) for document in documents if _kind(document) == "ValidatingAdmissionPolicyBinding"}
    diagnostics += [
        policy.document.place(_not_bound()) for name, policy in policies.items() if policy and name not in named
    ]
    return Loaded(tuple(sorted(bindings, key=lambda one: one.name)), tuple(others), tuple(diagnostics))


def _kind(document: Document) -> str | None:
    api, kind = document.data.get("apiVersion"), document.data.get("kind")
    known = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    return str(kind) if str(api).partition("/")[0] == _GROUP and kind in known else None


def _name(document: Document) -> Any:
    metadata = document.data.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None


def _policy_name(document: Document) -> Any:
    spec = document.data.get("spec")
    name = spec.get("policyName") if isinstance(spec, dict) else None
    return name if isinstance(name, str) else None


def _misshapen(document: Document, schema: Any) -> Iterator[Finding]:
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(schema).iter_errors(document.data):
        path: Path = tuple(error.absolute_path)
        what = error.message if len(error.message) <= _LONGEST_MESSAGE else f"{error.message[:_LONGEST_MESSAGE]}..."
        hint = "`kubectl explain validatingadmissionpolicy.spec` describes the fields"
        yield Finding("PolicyInvalid", "error", what, hint, path)


def _policy(document: Document) -> tuple[Policy | None, list[Finding]]:
    findings = list(_misshapen(document, POLICY))
    if findings:
        return None, findings
    spec = document.data["spec"]
    policy = Policy(document, str(_name(document)), spec)
    for i, one in enumerate(spec.get("matchConditions", ())):
        node = checked_expression(one["expression"], ("spec", "matchConditions", i, "expression"), set(), findings)
        policy.conditions.append((one["name"], node))
    for i, one in enumerate(spec.get("variables", ())):
        node = checked_expression(
            one["expression"], ("spec", "variables", i, "expression"), set(policy.variables), findings
        )
        policy.variables[one["name"]] = node
    for i, one in enumerate(spec.get("validations", ())):
        path: Path = ("spec", "validations", i)
        node = checked_expression(one["expression"], (*path, "expression"), set(policy.variables), findings)
        text = one.get("messageExpression")
        message_node = (
            checked_expression(text, (*path, "messageExpression"), set(policy.variables), findings) if text else None
        )
        policy.validations.append(
            Validation(
                (*path, "expression"), one["expression"].strip(), node, one.get("message", "").strip(), message_node
            )
        )
    return (None if findings else policy), findings


def checked_expression(text: str, path: Path, variables: set[str], findings: list[Finding]) -> Node:
    """Parse an expression; errors and unsupported features are appended to `findings`.

    If there are no findings, evaluation will not meet an unknown name. `variables` are those defined before it.
    """
    try:
        node = parse(text)
        used = sorted(set(uses(node)))
    except (InvalidExpressionError, RecursionError) as error:
        why = str(error) if isinstance(error, InvalidExpressionError) else "nested too deeply"
        message = f"not a CEL expression: {why}"
        hint = "correct the expression; the API server rejects it, too"
        findings.append(Finding("PolicyInvalid", "error", message, hint, path))
        return ()
    for kind, word in used:
        findings += _wrong_name(kind, word, path, variables)
    return node


def _wrong_name(kind: str, word: str, path: Path, variables: set[str]) -> Iterator[Finding]:
    name = word.partition(".")[2]
    if kind == "field" and word.startswith("variables.") and name not in variables:
        hint = "define it under spec.variables, before it is used"
        yield Finding("PolicyInvalid", "error", f"undeclared reference to {word}", hint, path)
    elif kind == "field" and word in _UNKNOWN_FIELDS:
        yield _unsupported(f"{word} is known only to the API server", path)
    elif kind == "name" and word in _NEEDS_A_CLUSTER:
        yield _unsupported(f"{word} cannot be evaluated offline: {_NEEDS_A_CLUSTER[word]}", path)
    elif kind == "name" and word not in _VARIABLES:
        hint = f"known names: {', '.join(sorted(_VARIABLES))}"
        yield Finding("PolicyInvalid", "error", f"undeclared reference to {word}", hint, path)
    elif (kind == "function" and word not in FUNCTIONS and word != "has") or (kind == "method" and word not in METHODS):
        yield _unsupported(f"trainc does not evaluate {word}()", path)


def _unsupported(why: str, path: Path) -> Finding:
    hint = "the policy is skipped here; the cluster still enforces it"
    return Finding("PolicyNotEvaluated", "warning", why, hint, path)


def _binding(document: Document, policies: dict[str, Policy | None]) -> tuple[Binding | None, list[Finding]]:
    findings = list(_misshapen(document, BINDING))
    if findings:
        return None, findings
    spec = document.data["spec"]
    name = spec["policyName"]
    if {"Deny", "Warn"} <= set(spec["validationActions"]):
        message, hint = "Deny and Warn cannot be combined", "remove one of them"
        return None, [Finding("PolicyInvalid", "error", message, hint, ("spec", "validationActions"))]
    if name not in policies:
        message = f"no policy {name!r} in the policies folders; the binding has no effect here"
        hint = "add the policy's manifest to a folder listed under `policies:` in trainc.yaml"
        return None, [Finding("PolicyNotEvaluated", "warning", message, hint, ("spec", "policyName"))]
    policy = policies[name]
    return (Binding(document, str(_name(document)), spec, policy) if policy else None), []


def _about_later_objects(policy: Policy) -> Iterator[Finding]:
    """A finding for a policy on objects that controllers create from trainc's output."""
    for i, rule in enumerate(policy.spec["matchConstraints"]["resourceRules"]):
        later = sorted(_CREATED_LATER & set(rule["resources"]))
        if later and {"CREATE", "*"} & set(rule["operations"]):
            message = f"policy {policy.name} also matches {', '.join(later)}, which exist only in the cluster, so it is not evaluated for them"
            path: Path = ("spec", "matchConstraints", "resourceRules", i, "resources")
            yield Finding(
                "PolicyNotEvaluated",
                "info",
                message,
                "have it match jobsets, too, to find violations before the merge",
                path,
            )


def _not_bound() -> Finding:
    message = "no binding names this policy, so it has no effect"
    hint = "add its ValidatingAdmissionPolicyBinding to a folder listed under `policies:` in trainc.yaml"
    return Finding("PolicyNotEvaluated", "info", message, hint, ("metadata", "name"))
