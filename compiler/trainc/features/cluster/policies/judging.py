"""Apply policies to compiled objects, and to the Jobs and Pods that come of them; report denials at what was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from trainc.api.documents import Document, label_of
from trainc.api.findings import Finding, Hint, Path, Severity, did_you_mean, format_path
from trainc.api.kube import documents
from trainc.api.records import dataclass, field, pattern, replace
from trainc.features.cluster.policies import cel, matching
from trainc.features.cluster.policies.cel.syntax import parse
from trainc.features.cluster.policies.children import Subject, as_stored, children
from trainc.features.cluster.policies.loading import MISSING, Binding, Expression, Policy, PolicySet, Validation
from trainc.features.cluster.policies.pod_security import LABEL, Violation, standards, together, violations

# Steps for all expressions of one policy on one object, and of all policies on the objects of one job.
# The API server counts in other units and stops one expression at as many (kubernetes apiserver pkg/apis/cel/config.go,
# PerCallLimit).
MOST_STEPS = 1_000_000
_STEPS_PER_JOB = 5_000_000
_LONGEST_MESSAGE = 5 * 1024
_CODES: Mapping[str, tuple[str, Severity]] = {
    "Deny": ("PolicyDenied", "error"),
    "Warn": ("PolicyWarned", "warning"),
    "Audit": ("PolicyAudited", "info"),
}
_POD_SECURITY = "https://kubernetes.io/docs/concepts/security/pod-security-standards/"
# A function of a single parameter.
_CONVERTED = pattern(r"(?<![\w.])(\w+)\(params\.(\w+(?:\.\w+)*)\)")
_OWN_KEYS = frozenset(("labels", "annotations"))
_FOR_THE_USER = cel.Unknown("it depends on who creates the object")
_AUTHORIZER = cel.Unknown("it asks the cluster's authorizer")


@dataclass(frozen=True, slots=True)
class Judge:
    """The policies of a cluster, applied to the objects of one job at a time."""

    policies: PolicySet
    namespaces: Mapping[str, Any]
    minor: int
    # Whether anything is asked about the Jobs and Pods that a JobSet becomes.
    looks_inside: bool
    # Whether a namespace has a level of Pod Security, so that each job has to be in one whose level is known.
    secured: bool = False
    # The parameters of each binding, by binding and namespace.
    params: dict[tuple[int, str], Sequence[Any]] = field(default_factory=dict, compare=False, repr=False)
    # Where the namespaces are.
    homes: Mapping[str, Document] = field(default_factory=dict, compare=False, repr=False)
    # Which documents parameters are, by the identities of their objects.
    parameters: Mapping[int, Document] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, policies: PolicySet, minor: int, cluster: Sequence[Document] = ()) -> Judge:
        """Build a judge. Namespaces come from the policy folders, and from the snapshot of the cluster, never from jobs.

        A snapshot may lack a Namespace; among the policies, one that is missing is unknown, which is not allowed.
        """
        of_policies = matching.namespaces_of(policies.other_documents)
        namespaces = {**matching.namespaces_of(cluster), **of_policies}
        about = [binding.policy.spec["matchConstraints"] for binding in policies.bindings]
        secured = _are_secured(of_policies)
        looks_inside = _are_secured(namespaces) or any(
            matching.is_about(constraints, matching.CHILDREN) for constraints in about
        )
        homes = {name: d for d in (*cluster, *policies.other_documents) for name in matching.namespaces_of([d])}
        parameters = {id(document.data): document for document in policies.other_documents}
        return cls(policies, namespaces, minor, looks_inside, secured, homes=homes, parameters=parameters)

    @property
    def is_idle(self) -> bool:
        """Return whether there is nothing to evaluate."""
        return not self.policies.bindings and not self.looks_inside

    def __call__(self, manifests: Sequence[Mapping[str, Any]]) -> list[tuple[str, Finding]]:
        """Findings about objects as they would be created, each with the label of its object.

        Where the judgement of an object fails, that is a finding about it: unknown is not allowed.
        """
        findings: list[tuple[str, Finding]] = []
        steps = cel.Budget(_STEPS_PER_JOB)
        for manifest in manifests:
            label, guard = label_of(manifest), Finding.Guard("whether policies allow it", "their evaluation")
            with guard:
                findings += self._about(manifest, label, steps)
            findings += ((label, failure) for failure in guard.failures)
        return findings

    def _about(self, manifest: Mapping[str, Any], label: str, steps: cel.Budget) -> Iterator[tuple[str, Finding]]:
        reported: set[tuple[Path | None, Finding]] = set()
        inside = children(manifest, label) if manifest["kind"] == "JobSet" and self.looks_inside else ()
        for subject in (Subject(as_stored(manifest), label, label, {}), *inside):
            policy_findings = chain.from_iterable(
                self._policy_findings(b, subject, steps) for b in self.policies.bindings
            )
            is_part = subject.data["kind"] in ("Pod", "Job")
            for finding in (*policy_findings, *(self._pod_security(subject) if is_part else ())):
                # The first and the last Pod of a replicated job mostly fail for the same reason.
                key = (subject.sources.get("spec"), finding)
                if key not in reported:
                    reported.add(key)
                    yield subject.label, finding

    def _policy_findings(self, binding: Binding, subject: Subject, steps: cel.Budget) -> Iterator[Finding]:
        policy, spec, data = binding.policy, binding.spec, subject.data
        denies = "Deny" in spec["validationActions"]
        try:
            matches = (policy.spec["matchConstraints"], spec.get("matchResources") or {})
            if not all(matching.is_matched(match, data, self.namespaces) for match in matches):
                return
            namespace = data["metadata"].get("namespace", "")
            key = (id(binding), namespace)
            if key not in self.params:
                self.params[key] = matching.parameters(
                    policy.spec.get("paramKind"), spec.get("paramRef"), namespace, self.policies.named
                )
            scope = {
                "object": data,
                "oldObject": None,
                "request": _request(data),
                "namespaceObject": matching.namespace_object(data, self.namespaces),
                "authorizer": _AUTHORIZER,
                "authorizer.requestResource": _AUTHORIZER,
            }
            for params in self.params[key]:
                allowed = min(MOST_STEPS, steps.steps)
                evaluation = cel.Evaluation(cel.Budget(allowed), data)
                try:
                    home = self.parameters.get(id(params))
                    yield from _Case(binding, subject, evaluation, {**scope, "params": params}, home).findings()
                finally:
                    steps.steps -= allowed - max(evaluation.budget.steps, 0)
        except matching.UndecidedError as error:
            if binding.is_misdirected and isinstance(error, matching.NoParameterError):  # That is said at the binding.
                return
            hint = self._where_namespaces_are() if error.decides else MISSING
            message = f"policy {policy.name} was not evaluated: {error}"
            finding = _not_evaluated(message, hint, denies and error.decides)
            yield replace(finding, path=("metadata", "namespace") if error.decides else (), built_by=subject.built_by)
        except cel.CostExceededError:
            why = (
                f"it takes more than {MOST_STEPS:,} steps"
                if steps.steps
                else "all policies together take too many steps"
            )
            yield _not_evaluated(
                f"policy {policy.name} was not evaluated: {why}", _SMALLER if denies else _IN_THE_CLUSTER, denies
            )

    def _pod_security(self, subject: Subject) -> Iterator[Finding]:
        """The Pod Security Standards of the namespace: errors for Pods, and the same warnings as the API server's."""
        data = subject.data
        name = data["metadata"].get("namespace", "")
        namespace = self.namespaces.get(name)
        if namespace is None:
            if self.secured and data["kind"] == "Pod":
                why = f"Namespace {name} is not in the policies folders" if name else "the object has no namespace"
                yield self._unsecured(subject, f"its level of Pod Security is unknown: {why}")
            return
        required = standards(matching.labels_of(namespace))
        is_pod = data["kind"] == "Pod"
        pod = data if is_pod else data["spec"]["template"]
        where: Path = () if is_pod else ("spec", "template")

        def finding(action: str, message: str, violated: Sequence[Violation]) -> Finding:
            path = (*where, *violated[0].path)
            mode = "enforce" if action == "Deny" else action.lower()
            rule = self.homes[name].locate(("metadata", "labels", f"{LABEL}/{mode}")) if name in self.homes else None
            hint = f"{together(violated)}; see {_POD_SECURITY}"
            hint = rule.refusing(hint) if rule else hint
            message = f"{message}: {', '.join(map(str, violated))}"
            source = subject.source(path)
            return Finding(*_CODES[action], message, hint, path, source_path=source, built_by=subject.built_by)

        denied = violations(required["enforce"], pod, self.minor) if is_pod else []
        if pod["spec"].get("hostNetwork"):  # Which makes all ports those of the host.
            denied = [violation for violation in denied if violation.path[-1] != "ports"] or denied
        of_parts: dict[Path, list[Violation]] = {}
        for violation in denied:
            of_parts.setdefault(violation.part, []).append(violation)
        for of_part in of_parts.values():
            yield finding("Deny", f'violates PodSecurity "{required["enforce"]}"', of_part)
        for mode, action in () if denied else (("warn", "Warn"), ("audit", "Audit")):
            if violated := violations(required[mode], pod, self.minor):
                yield finding(action, f'would violate PodSecurity "{required[mode]}"', violated)

    def _unsecured(self, subject: Subject, message: str) -> Finding:
        finding = _not_evaluated(message, self._where_namespaces_are(), refused=True)
        return replace(finding, path=("metadata", "namespace"), built_by=subject.built_by)

    def _where_namespaces_are(self) -> str:
        """The hint, with the place where the Namespaces are of which one is missing; that there are none is one cause."""
        source = next((home.locate(()) for home in self.homes.values()), None)
        return source.refusing(_NAMESPACE) if source else Hint(_NAMESPACE, trait="no Namespaces")


def _are_secured(namespaces: Mapping[str, Any]) -> bool:
    labels = map(matching.labels_of, namespaces.values())
    return any(s.level != "privileged" for by_mode in map(standards, labels) for s in by_mode.values())


class _Case:
    """One policy with its binding and one parameter, applied to one object."""

    def __init__(
        self,
        binding: Binding,
        subject: Subject,
        evaluation: cel.Evaluation,
        scope: dict[str, Any],
        parameter: Document | None,
    ) -> None:
        self._binding = binding
        self._parameter = parameter
        self._policy: Policy = binding.policy
        self._subject = subject
        self._evaluation = evaluation
        self._values: dict[str, Any] = {}
        self._is_inside = False
        self._scope = {**scope, "variables": cel.Lazy(self._variable)}

    def _variable(self, name: str) -> Any:
        """The value or error of a variable, which is evaluated only once."""
        if name not in self._values:
            # One after the other, so that a long chain of variables is no deep recursion.
            if self._is_inside:
                raise cel.UnknownError(f"variable {name} is read in a way that trainc does not follow")
            self._is_inside = True
            for needed in self._policy.needed_by(name):
                if needed not in self._values:
                    self._values[needed] = cel.UnknownError(f"variable {needed} refers to itself")
                    self._values[needed] = self._value_or_error(needed)
            self._is_inside = False
        value = self._values[name]
        if isinstance(value, cel.EvaluationError | cel.UnknownError):
            raise value
        return value

    def _value_or_error(self, name: str) -> Any:
        try:
            return self._value(self._policy.variables[name])
        except cel.EvaluationError as error:
            return cel.EvaluationError(f'composited variable "{name}" fails to evaluate: {error}')
        except cel.UnknownError as error:
            return error

    def _value(self, expression: Expression, scope: dict[str, Any] | None = None) -> Any:
        if expression.node is None:
            raise cel.UnknownError(expression.why)
        return self._evaluation.value(expression.node, self._scope if scope is None else scope)

    def findings(self) -> Iterator[Finding]:
        """A finding for each action of each failed validation, and for each one that could not be evaluated."""
        applies = self._applies()
        if applies is False:
            return
        if isinstance(applies, cel.EvaluationError):
            yield from self._denials(str(applies), None)
            return
        unknown = applies if isinstance(applies, cel.UnknownError) else None
        for validation in self._policy.validations:
            self._evaluation.reads.clear()
            try:
                failed = self._failure(validation)
            except cel.UnknownError as error:
                yield self._unevaluated(validation.expression, str(error))
                continue
            if failed and unknown is not None:
                why = f"{unknown}; if its matchConditions hold, it denies: {failed}"
                yield self._unevaluated(validation.expression, why)
            elif failed:
                yield from self._denials(failed, validation.expression)
        yield from self._annotations()

    def _failure(self, validation: Validation) -> str:
        """Why a validation fails; empty if it holds, or if its error is ignored."""
        try:
            if self._value(validation.expression) is True:
                return ""
        except cel.EvaluationError as error:
            return self._error(validation.expression, error) if self._policy.fails_closed else ""
        return self._message(validation)

    def _error(self, expression: Expression, error: cel.EvaluationError) -> str:
        return f"expression '{_short(expression.text)}' resulted in error: {error}"

    def _applies(self) -> bool | cel.EvaluationError | cel.UnknownError:
        """Return whether the matchConditions hold. One that is false decides; else what is unknown, and then errors."""
        undecided: cel.EvaluationError | cel.UnknownError | None = None
        # As the API server does: match conditions are evaluated without the namespace.
        scope = {**self._scope, "namespaceObject": {}}
        for _, expression in self._policy.conditions:
            try:
                if self._value(expression, scope) is not True:
                    return False
            except cel.UnknownError as error:
                undecided = error
            except cel.EvaluationError as error:
                if undecided is None:
                    undecided = cel.EvaluationError(self._error(expression, error))
        if isinstance(undecided, cel.EvaluationError) and not self._policy.fails_closed:
            return False
        return True if undecided is None else undecided

    def _annotations(self) -> Iterator[Finding]:
        """An audit annotation that fails denies the object, whatever the actions of the binding are."""
        for _, expression in self._policy.annotations:
            try:
                self._value(expression)
            except cel.UnknownError:
                pass  # Only whether it fails would count.
            except cel.EvaluationError as error:
                if self._policy.fails_closed:
                    yield self._finding("Deny", self._error(expression, error), expression, ())

    def _denials(self, message: str, expression: Expression | None) -> Iterator[Finding]:
        path = self._evaluation.last_read
        numbers = tuple(dict.fromkeys(map(self._subject.source, self._evaluation.other_numbers(path))))
        actions = self._binding.spec["validationActions"]
        for action in actions:
            if action != "Audit" or "Deny" not in actions:  # What is denied is said once.
                yield replace(self._finding(action, message, expression, path), numbers=numbers)

    def _must_hold(self, expression: Expression, path: Path) -> str:
        """The start of a hint: the expression, and the field that it asks for if the object does not have that."""
        is_unset = path and not documents.path_exists(self._subject.data, path)
        return f"{format_path(path)} is not set, and " * bool(is_unset) + f"`{_short(expression.text)}` must hold; "

    def _finding(self, action: str, message: str, expression: Expression | None, path: Path) -> Finding:
        code, severity = _CODES[action]
        text = "" if expression is None else self._must_hold(expression, path)
        is_faulty, misspelt = False, None
        if "no such key: " in message:
            key = message.rpartition("no such key: ")[2]
            read = expression is not None and f"params.data.{key}" in expression.text
            where = "params" if read else "object"
            paths = [at for at, _ in documents.walk(self._scope[where])]
            near = did_you_mean(key, {str(step) for at in paths for step in at})
            # No job can help that a policy misspells a field; a label may be missing for the job's own fault.
            fields = {str(step) for at in paths if _OWN_KEYS.isdisjoint(at) for step in at}
            # Where others have it, the one without is to blame.
            near, is_faulty = ("", False) if key in fields else (near, bool(did_you_mean(key, fields)))
            has = f"the {'parameter' if read else 'object'} has no {key}" + near.replace(
                "did you mean ", ", only "
            ).replace(" or ", " and ").rstrip("?")
            text = f"{has}: correct the expression, or ask with has() first; "
            path = (() if read else _item_without(key, paths)) or path
            text = (
                f"set {key} where it is missing, or have the policy ask with has() first; " if key in fields else text
            )
            named = [at for at in paths if near and at and str(at[-1]) in near.removesuffix("?").split()]
            if read and named and self._parameter and (misspelt := self._parameter.locate(named[0])):
                text = f"the parameter has no {key}: write {key} for {named[0][-1]}; "
        if "no such overload" in message and "string" in message and expression and "params.data." in expression.text:
            text = "the values of a ConfigMap are texts: convert them, as in int(params.data.KEY); "
        # An error in a variable is that of its own line.
        failed = [e for name, e in self._policy.variables.items() if f'variable "{name}" fails to evaluate' in message]
        place = failed[0] if failed else expression
        source = self._policy.document.locate(("spec",) if place is None else place.path)
        where = f" ({source.file}:{source.line})" if source else ""
        source = misspelt or source
        home = self._parameter
        for call in _CONVERTED.finditer(place.text if home and place else ""):
            try:
                self._evaluation.value(parse(call[0]), self._scope)
            except (cel.UnknownError, cel.CostExceededError):
                break
            except cel.EvaluationError as error:
                parameter = tuple(call[2].split("."))
                if home and str(error) in message and documents.path_exists(home.data, parameter):
                    value = documents.value_at(home.data, parameter)
                    text = f"the parameter {call[2]} is {value!r}, which {call[1]}() cannot read: correct it; "
                    source, is_faulty = home.locate(parameter), True
        hint = f"{text}see ValidatingAdmissionPolicy {self._policy.name}{where}"
        if source and (is_faulty or "resulted in error: no such " in message):
            hint = source.refusing(hint, "faulty rule" if is_faulty else "failing rule")
        elif source:
            hint = source.refusing(hint)
        return self._place(Finding(code, severity, f"policy {self._policy.name}: {message}", hint, path))

    def _place(self, finding: Finding) -> Finding:
        if self._subject.label == self._subject.built_by:
            return finding
        source = self._subject.source(finding.path)
        return replace(finding, source_path=source, built_by=self._subject.built_by)

    def _unevaluated(self, expression: Expression, why: str) -> Finding:
        message = f"policy {self._policy.name}: `{_short(expression.text)}` was not evaluated: {why}"
        return self._place(_not_evaluated(message, _IN_THE_CLUSTER))

    def _message(self, validation: Validation) -> str:
        """The value of the messageExpression; the message where the API server falls back to that."""
        text: Any = ""
        reads_before = len(self._evaluation.reads)
        if validation.message_expression is not None:
            with suppress(cel.EvaluationError, cel.UnknownError):
                text = self._value(validation.message_expression)
        del self._evaluation.reads[reads_before:]
        text = text.strip() if isinstance(text, str) else ""
        text = text if len(text.encode()) <= _LONGEST_MESSAGE and "\n" not in text else ""
        return text or validation.message or f"failed expression: {validation.expression.text}"


_NAMESPACE = "use a namespace that is there, or add its Namespace to a folder listed under `policies:`"
_SMALLER = "shorten the lists and texts of the job that the policy goes through; an API server has such a limit, too"
_IN_THE_CLUSTER = "the cluster evaluates it in any case; the policy's other validations are evaluated here"


def _not_evaluated(message: str, hint: str, refused: bool = False) -> Finding:
    """What is unknown is an error where a gate needs the answer: the author of a job could bring it about."""
    return Finding("PolicyNotEvaluated", "error" if refused else "warning", message, hint)


def _request(manifest: Mapping[str, Any]) -> dict[str, Any]:
    group, version, resource = matching.resource_of(manifest)
    kind = {"group": group, "version": version, "kind": manifest["kind"]}
    resources = {"group": group, "version": version, "resource": resource}
    identity = {"name": matching.request_name(manifest), "namespace": manifest["metadata"].get("namespace", "")}
    return {
        "uid": "",
        "operation": "CREATE",
        **{key: value for key, value in identity.items() if value},
        "kind": kind,
        "requestKind": kind,
        "resource": resources,
        "requestResource": resources,
        "userInfo": _FOR_THE_USER,
        "options": _FOR_THE_USER,
        "dryRun": False,
    }


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 120 else f"{one_line[:117]}..."


def _item_without(key: str, paths: Sequence[Path]) -> Path:
    """The first item of a list that does not have a key which others there have."""
    holders = {at[:-1] for at in paths if at and at[-1] == key}
    lists = {at[:-1] for at in holders}
    items = (at for at in paths if at and isinstance(at[-1], int) and at[:-1] in lists)
    return next((at for at in items if at not in holders), ())
