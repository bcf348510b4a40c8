"""Apply policies to compiled objects and report denials at the fields that the failing expressions read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.features.policies.evaluation import Evaluation, Lazy, paths_of
from trainc.features.policies.loading import Binding, Loaded, Policy, Validation
from trainc.features.policies.matching import (
    UndecidedError,
    is_matched,
    namespace_object,
    namespaces_of,
    parameters,
    resource_of,
)
from trainc.features.policies.syntax import Node
from trainc.features.policies.values import Budget, CostExceededError, EvaluationError
from trainc.findings import Finding, Severity
from trainc.reading.document import Document, label_of
from trainc.startup.records import dataclass

# Steps for all expressions of one policy on one object.
MOST_STEPS = 100_000
_LONGEST_MESSAGE = 5_000
_CODES: Mapping[str, tuple[str, Severity]] = {
    "Deny": ("PolicyDenied", "error"),
    "Warn": ("PolicyWarned", "warning"),
    "Audit": ("PolicyAudited", "info"),
}


@dataclass(frozen=True, slots=True)
class Judge:
    """The policies of a cluster, applied to the objects of one job at a time."""

    loaded: Loaded
    namespaces: Mapping[str, Any]

    @classmethod
    def of(cls, loaded: Loaded, documents: Sequence[Document] = ()) -> Judge:
        """Build a judge. Namespaces come from the policy folders first, then from `documents`."""
        return cls(loaded, {**namespaces_of(documents), **namespaces_of(loaded.others)})

    def __call__(self, manifests: Sequence[Mapping[str, Any]]) -> list[tuple[str, Finding]]:
        """Findings about objects as they would be created, each with the label of its object."""
        return [
            (label_of(manifest), finding)
            for manifest in manifests
            for binding in self.loaded.bindings
            for finding in self._evaluate(binding, manifest)
        ]

    def _evaluate(self, binding: Binding, manifest: Mapping[str, Any]) -> Iterator[Finding]:
        policy = binding.policy
        try:
            yield from self._judged(binding, manifest)
        except UndecidedError as error:
            yield _not_evaluated(policy, str(error))
        except CostExceededError:
            yield _not_evaluated(policy, f"it takes more than {MOST_STEPS:,} steps")
        except RecursionError:
            yield _not_evaluated(policy, "its expressions are nested too deeply")

    def _judged(self, binding: Binding, manifest: Mapping[str, Any]) -> Iterator[Finding]:
        policy, spec = binding.policy, binding.spec
        matches = (policy.spec["matchConstraints"], spec.get("matchResources") or {})
        if not all(is_matched(match, manifest, self.namespaces) for match in matches):
            return
        namespace = manifest["metadata"].get("namespace", "")
        scope = {
            "object": manifest,
            "oldObject": None,
            "request": _request(manifest),
            "namespaceObject": namespace_object(manifest, self.namespaces) if policy.uses("namespaceObject") else None,
        }
        for params in parameters(policy.spec.get("paramKind"), spec.get("paramRef"), namespace, self.loaded.others):
            evaluation = Evaluation(Budget(MOST_STEPS), paths_of(manifest))
            yield from _Case(binding, evaluation, {**scope, "params": params}).findings()


class _Case:
    """One policy with its binding and one parameter, applied to one object."""

    def __init__(self, binding: Binding, evaluation: Evaluation, scope: dict[str, Any]) -> None:
        self._binding = binding
        self._policy = binding.policy
        self._evaluation = evaluation
        self._known: dict[str, Any] = {}
        self._scope = {**scope, "variables": Lazy(self._variable)}

    def _variable(self, name: str) -> Any:
        """The value or error of a variable, which is evaluated only once."""
        if name not in self._known:
            try:
                self._known[name] = self._evaluation.value(self._policy.variables[name], self._scope)
            except EvaluationError as error:
                self._known[name] = error
        if isinstance(self._known[name], EvaluationError):
            raise self._known[name]
        return self._known[name]

    def findings(self) -> Iterator[Finding]:
        """A finding for each action of each failed validation."""
        failures = list(self._failures())
        for action in self._binding.spec["validationActions"]:
            for message, validation in failures:
                code, severity = _CODES[action]
                path = self._evaluation.last_read if validation is None else validation[1]
                text = "" if validation is None else f"`{_short(validation[0].text)}` must hold; "
                place = ("spec",) if validation is None else validation[0].path
                source = self._policy.document.locate(place)
                where = f" ({source.file}:{source.line})" if source else ""
                hint = f"{text}see ValidatingAdmissionPolicy {self._policy.name}{where}"
                yield Finding(code, severity, f"policy {self._policy.name}: {message}", hint, path)

    def _failures(self) -> Iterator[tuple[str, tuple[Validation, Any] | None]]:
        applies = self._applies()
        if isinstance(applies, str):
            yield applies, None
        if applies is not True:
            return
        for validation in self._policy.validations:
            self._evaluation.last_read = ()
            try:
                holds = self._evaluation.value(validation.node, self._scope)
                failed = "" if holds is True else self._message(validation)
            except EvaluationError as error:
                failed = f"`{_short(validation.text)}` fails: {error}" if self._policy.fails_closed else ""
            if failed:
                yield failed, (validation, self._evaluation.last_read)

    def _applies(self) -> bool | str:
        """Whether the matchConditions hold, or the reason for denial if one errors and the policy fails closed."""
        error = ""
        for name, node in self._policy.conditions:
            try:
                if self._evaluation.value(node, self._scope) is not True:
                    return False
            except EvaluationError as reason:
                error = error or f"matchCondition {name} fails: {reason}"
        return error if error and self._policy.fails_closed else not error

    def _message(self, validation: Validation) -> str:
        read = self._evaluation.last_read
        text = self._message_text(validation.message_node) if validation.message_node is not None else ""
        self._evaluation.last_read = read
        return text or validation.message or f"failed expression: {validation.text}"

    def _message_text(self, node: Node) -> str:
        """The value of a messageExpression; empty if the API server would fall back to the message."""
        try:
            text = self._evaluation.value(node, self._scope)
        except EvaluationError:
            return ""
        is_fit = isinstance(text, str) and len(text) <= _LONGEST_MESSAGE and "\n" not in text.strip()
        return text.strip() if is_fit else ""


def _not_evaluated(policy: Policy, why: str) -> Finding:
    message = f"policy {policy.name} was not evaluated: {why}"
    hint = "add the missing object to a folder listed under `policies:`; the cluster evaluates the policy in any case"
    return Finding("PolicyNotEvaluated", "warning", message, hint)


def _request(manifest: Mapping[str, Any]) -> dict[str, Any]:
    group, version, resource = resource_of(manifest)
    return {
        "operation": "CREATE",
        "name": manifest["metadata"].get("name", ""),
        "namespace": manifest["metadata"].get("namespace", ""),
        "kind": {"group": group, "version": version, "kind": manifest["kind"]},
        "resource": {"group": group, "version": version, "resource": resource},
        "subResource": "",
        "dryRun": False,
    }


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 120 else f"{one_line[:117]}..."
