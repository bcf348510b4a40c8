"""Load policies and bindings from documents: refuse what the API server refuses, compile their expressions.

Source: kubernetes v1.36 api admissionregistration/v1 types.go; pkg/apis/admissionregistration/validation/validation.go;
apiserver pkg/admission/plugin/cel/compile.go and composition.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

from trainc.api.documents import Document, opening
from trainc.api.findings import Diagnostic, Finding, Path, did_you_mean, first_of
from trainc.api.kube import Json, identity_of, mapping, names, objects, selectors, value_at
from trainc.api.records import dataclass, field, replace
from trainc.features.cluster.policies import cel
from trainc.features.cluster.policies.cel import is_identifier
from trainc.features.cluster.policies.matching import NAME_LABEL, OURS, NoParameterError, by_name, is_about, parameters
from trainc.features.cluster.policies.pod_security import misspelt

_LONGEST_MESSAGE = 200
# For how many labels and names that nothing here has one that may be meant is looked for.
_MOST_CORRECTED = 20
_MOST_CONDITIONS, _MOST_ANNOTATIONS = 64, 20


# Schemas of what the API server takes of both kinds (kubernetes api admissionregistration/v1 types.go, v1.36), the types
# that expressions see, and the API groups of policies that other programs evaluate, with their commands for files.
_DATA: Mapping[str, Any] = opening.read_data(__file__, "api.json")


def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": _DATA["$defs"]})


def misshapen(document: Document) -> Iterator[Finding]:
    """What in a policy or binding is of another type than its schema says, or has another name."""
    for error in _validator(document.data["kind"]).iter_errors(document.data):
        path: Path = tuple(error.absolute_path)
        what = error.message if len(error.message) <= _LONGEST_MESSAGE else f"{error.message[:_LONGEST_MESSAGE]}..."
        hint = "`kubectl explain validatingadmissionpolicy.spec` describes the fields"
        if error.validator == "additionalProperties":
            fields: Any = error.schema["properties"]
            for name in error.instance:
                if name not in fields:
                    near = did_you_mean(name, fields) or hint
                    yield Finding("PolicyInvalid", "error", f"there is no field {name} here", near, (*path, name))
            continue
        if error.validator == "enum":
            values: list[str] = error.schema["enum"]
            what, hint = f"there is no {error.instance!r} here", f"write {', '.join(values[:-1])} or {values[-1]}"
            hint = did_you_mean(str(error.instance), values) or hint
        yield Finding("PolicyInvalid", "error", what, hint, path)


# Where a problem is, below `spec`, and what it is.
Problem: TypeAlias = tuple[Path, str]


def refusals(document: Document) -> Iterator[Finding]:
    """What the API server refuses of a document that has the right shape."""
    name, spec = document.data["metadata"]["name"], document.data["spec"]
    problems = [*_of_rules(spec), *_of_selectors(spec), *_of_names(name, spec)]
    problems += [*_of_messages(spec), *_of_binding(spec)]
    problems = [(("spec", *path), text) for path, text in problems]
    if not names.is_subdomain(name):
        problems.append((("metadata", "name"), f"{name!r} is not a lowercase DNS name"))
    for path, text in problems:
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
    without_subresource = [resource for resource in listed if resource and "/" not in resource]
    # As upstream, which looks at the last of these only.
    if ("*/*" in listed and len(listed) > 1) or ("*" in listed and without_subresource[-1] != "*"):
        yield "resources", "next to `*` only subresources can stand, and next to `*/*` nothing"
    if len(set(rule.get("resourceNames", ()))) < len(rule.get("resourceNames", ())):
        yield "resourceNames", "a name is there twice"


def _of_selectors(spec: Json) -> Iterator[Problem]:
    for part in ("matchConstraints", "matchResources", "paramRef"):
        for key in ("namespaceSelector", "objectSelector", "selector"):
            for i, requirement in enumerate(spec.get(part, {}).get(key, {}).get("matchExpressions", ())):
                try:
                    selectors.matches_selector({"matchExpressions": [requirement]}, {})
                except selectors.MalformedSelector as error:
                    yield (part, key, "matchExpressions", i), f"the selector is malformed: {error}"


def _of_names(policy: str, spec: Json) -> Iterator[Problem]:
    for i, variable in enumerate(spec.get("variables", ())):
        if not is_identifier(variable["name"]):
            yield ("variables", i, "name"), f"{variable['name']!r} cannot be the name of a variable"
    conditions = [condition["name"] for condition in spec.get("matchConditions", ())]
    yield from _of_list("matchConditions", "name", conditions, _MOST_CONDITIONS, "")
    keys = [annotation["key"] for annotation in spec.get("auditAnnotations", ())]
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
    for i, validation in enumerate(spec.get("validations", ())):
        for part in ("message", "messageExpression"):
            if validation.get(part) and not validation[part].strip():
                yield ("validations", i, part), "it is empty"
        if set("\n\r") & set(validation.get("message", "").strip()):
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


_GROUP = "admissionregistration.k8s.io"
_VERSIONS = tuple(f"{_GROUP}/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_BOOL, _STRING, _NULL, _DYN = map(cel.Type, ("bool", "string", "null_type", "dyn"))
_DEEPEST_TYPE = 20
# Resources of other kinds that are called almost like ours.
_ALIKE = ("cronjobs", "nodes")
_REGEX_FUNCTIONS = ("matches", "find", "findAll")


_VARIABLES = "kubernetes.variables"
_FIELDS: Mapping[str, Mapping[str, cel.Type]] = {
    kind: {name: cel.parse_type(text) for name, text in fields.items()} for kind, fields in _DATA["types"].items()
}


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of a policy, and the variables it reads. Without a `node`, it is not evaluated, and `why` says why."""

    text: str
    path: Path
    node: cel.Node | None
    why: str = ""
    variables: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Validation:
    """A validation, and its message on failure."""

    expression: Expression
    message: str
    message_expression: Expression | None


@dataclass(slots=True)
class Policy:
    """The parts of a ValidatingAdmissionPolicy that decide about an object."""

    document: Document
    name: str
    spec: Any
    conditions: list[tuple[str, Expression]] = field(default_factory=list)
    variables: dict[str, Expression] = field(default_factory=dict)
    validations: list[Validation] = field(default_factory=list)
    annotations: list[tuple[str, Expression]] = field(default_factory=list)

    def needed_by(self, name: str) -> list[str]:
        """A variable and those before it that it may read, in their order."""
        names = [*takewhile(lambda variable: variable != name, self.variables), name]
        needed = {name}
        for variable in reversed(names):
            if variable in needed:
                needed |= self.variables[variable].variables
        return [variable for variable in names if variable in needed]

    @property
    def fails_closed(self) -> bool:
        """Return whether an evaluation error denies the object."""
        return bool(self.spec.get("failurePolicy", "Fail") == "Fail")


@dataclass(frozen=True, slots=True)
class Binding:
    """A ValidatingAdmissionPolicyBinding and its policy."""

    document: Document
    name: str
    spec: Any
    policy: Policy
    # Its parameter is not there, and that is said of its name.
    is_misdirected: bool = False


@dataclass(frozen=True, slots=True)
class PolicySet:
    """The contents of the policy folders: bindings sorted by name, all documents that are none, and all objects by name."""

    bindings: tuple[Binding, ...]
    other_documents: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]
    named: Mapping[str, Sequence[Any]]


def load(documents: Sequence[Document], kubernetes_minor: int) -> PolicySet:
    """Load the policies about what trainc writes, and their bindings.

    Raises ModuleNotFoundError if one of them uses regular expressions and the extra `policy` is not installed.
    """
    policies: dict[str, Policy | None] = {}
    first: dict[str, Json] = {}
    diagnostics: list[Diagnostic] = []
    for document in documents:
        if _kind(document) != "ValidatingAdmissionPolicy":
            continue
        name, spec = str(_name(document)), mapping(document.data.get("spec"))
        policy, findings = None, list(_no_resources(spec))
        if _may_concern_output(spec):
            wrong = list(misshapen(document))
            if not wrong:
                policy, wrong = _policy(document, kubernetes_minor)
                wrong = [*refusals(document), *wrong]
                policy = None if wrong else policy
            findings += wrong
            if first.setdefault(name, spec) != spec:
                findings.append(_SAME_NAME)
            policies[name] = policy
        policies.setdefault(name, None)
        diagnostics += [document.diagnose(finding) for finding in findings]
    bindings: list[Binding] = []
    for document in documents:
        if _kind(document) == "ValidatingAdmissionPolicyBinding":
            bound, findings = _binding(document, policies)
            bindings += [bound] if bound is not None else []
            diagnostics += [document.diagnose(finding) for finding in findings]
    named = by_name(documents)
    diagnostics += _mark_misdirected(bindings, named)
    bound_names = {
        str(mapping(document.data.get("spec")).get("policyName")) for document in documents if _kind(document)
    }
    for name, policy in policies.items():
        if policy is not None:
            findings = [*_about_trainjobs(policy), *([] if name in bound_names else [_NOT_BOUND])]
            diagnostics += [policy.document.diagnose(finding) for finding in findings]
    other_documents = tuple(document for document in documents if _kind(document) is None)
    diagnostics += _others(other_documents)
    bindings.sort(key=lambda binding: binding.name)
    return PolicySet(tuple(bindings), other_documents, tuple(diagnostics), named)


def _may_concern_output(spec: Json) -> bool:
    """Return whether a policy may be about what trainc writes, also if what it is about is misshapen."""
    constraints = mapping(spec.get("matchConstraints"))
    return not _validator("constraints").is_valid(constraints) or is_about(constraints)


def _no_resources(spec: Json) -> Iterator[Finding]:
    """A finding for each name in the rules of a policy that is like one of a resource that trainc writes, and is none."""
    for i, rule in enumerate(objects(mapping(spec.get("matchConstraints")).get("resourceRules"))):
        lists = (rule.get(key) for key in ("apiGroups", "resources"))
        groups, named = ([*map(str, texts)] if isinstance(texts, list) else [] for texts in lists)
        ours = {resource for group, resource in OURS if group in groups}
        where: Path = ("spec", "matchConstraints", "resourceRules", i)
        for j, group in enumerate(groups):
            known = {group for group, _ in OURS}
            if near := did_you_mean(group, known - {group}, 0.8) if group not in known else "":
                message = f"there is no API group {group}, so the rule matches none of its resources"
                yield Finding("PolicyNotEvaluated", "warning", message, near, (*where, "apiGroups", j))
        of_jobsets, _, version = names.JOBSET_API.partition("/")
        versions = list(map(str, texts)) if isinstance(texts := rule.get("apiVersions"), list) else []
        if of_jobsets in groups and {"*", version}.isdisjoint(versions):
            for j, text in enumerate(versions):
                message = f"{of_jobsets} has no version {text}, so the rule does not match its resources"
                if near := did_you_mean(text, [version], 0.8):
                    yield Finding("PolicyNotEvaluated", "warning", message, near, (*where, "apiVersions", j))
        for j, text in enumerate(name.partition("/")[0] for name in named):
            near = did_you_mean(text.lower(), ours, 0.8)
            if near and text not in ours and text not in _ALIKE:
                message = f"no resource of {', '.join(groups)} is called {text}, so the rule does not match it"
                yield Finding("PolicyNotEvaluated", "warning", message, near, (*where, "resources", j))


def of_no_namespace(bindings: Sequence[Binding], documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """A finding for each label by which a binding selects namespaces, and that none here has, though others of its key."""
    spaces = [mapping(d.data.get("metadata")) for d in documents if d.data.get("kind") == "Namespace"]
    values: dict[str, set[str]] = {}
    for key, value in ((key, value) for space in spaces for key, value in mapping(space.get("labels")).items()):
        values.setdefault(str(key), set()).add(str(value))
    where: Path = ("spec", "matchResources", "namespaceSelector", "matchLabels")
    selected = ((b, mapping(value_at(b.document.data, where)).items()) for b in bindings if spaces)
    wanted = ((b, str(key), str(value)) for b, labels in selected for key, value in labels if key != NAME_LABEL)
    unmet = [(b, key, value) for b, key, value in wanted if value not in values.get(key, ())]
    for number, (binding, key, value) in enumerate(unmet):
        message = f"policy {binding.policy.name} meets no job here: no Namespace here has the label {key}: {value}"
        known = sorted(values.get(key, ()))
        near = "" if known or number >= _MOST_CORRECTED else did_you_mean(key, values)
        if known and number < _MOST_CORRECTED:
            parts = (f"did you mean {k}?" for k in known if value.startswith(k) or k.startswith(value))
            near = next(parts, "") or did_you_mean(value, known)
        hint = near or f"the namespaces here have {first_of(known)}" * bool(known) or "label them, or add theirs"
        finding = Finding("PolicyNotEvaluated", "warning" if near else "info", message, hint, (*where, key))
        yield binding.document.diagnose(finding)


def _kind(document: Document) -> str | None:
    api, kind = document.data.get("apiVersion"), document.data.get("kind")
    return str(kind) if api in _VERSIONS and kind in _KINDS else None


def _name(document: Document) -> Any:
    return mapping(document.data.get("metadata")).get("name")


class _Variables(dict[str, cel.Type]):
    """The types of a policy's variables, and which of them have been looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> cel.Type:
        self.read.add(name)
        return super().__getitem__(name)


class _Compiler:
    """Compiles the expressions of one policy, in their order: variables can use those before them."""

    def __init__(self, spec: Any, minor: int) -> None:
        self.findings: list[Finding] = []
        self._minor = minor
        self._types = _Variables()
        self._names = {
            "object": _DYN,
            "oldObject": _DYN,
            "request": cel.Type("kubernetes.AdmissionRequest"),
            "namespaceObject": cel.Type("kubernetes.Namespace"),
            "variables": cel.Type(_VARIABLES),
            **({"params": _DYN} if spec.get("paramKind") else {}),
        }

    def __call__(self, text: str, path: Path, *kinds: cel.Type, authorizer: bool = True) -> Expression:
        """Compile an expression that must have one of the types; an error is added to `findings`."""
        return self._compile(text, path, kinds, authorizer)[0]

    def variable(self, name: str, text: str, path: Path) -> Expression:
        """Compile an expression whose value later ones use by its name."""
        expression, kind = self._compile(text, path, (), True)
        self._types[name] = _as_variable(kind)
        return expression

    def _compile(
        self, text: str, path: Path, kinds: Sequence[cel.Type], authorizer: bool
    ) -> tuple[Expression, cel.Type]:
        variables = dict(self._names)
        if authorizer:
            variables["authorizer"] = cel.Type(cel.kubernetes.AUTHORIZER)
            variables["authorizer.requestResource"] = cel.Type(cel.kubernetes.RESOURCE_CHECK)
        environment = cel.Environment(variables, {**_FIELDS, _VARIABLES: self._types}, self._minor)
        self._types.read.clear()
        try:
            node, kind = environment.compile(text, kinds)
        except cel.UnsupportedError as error:
            return Expression(text.strip(), path, None, str(error)), _DYN
        except cel.InvalidExpressionError as error:
            hint = error.hint or "correct the expression; the API server refuses the policy, too"
            self.findings.append(Finding("PolicyInvalid", "error", f"not a valid expression: {error}", hint, path))
            return Expression(text, path, None), _DYN
        return Expression(text.strip(), path, node, variables=frozenset(self._types.read)), kind


def _as_variable(kind: cel.Type, depth: int = 0) -> cel.Type:
    """The type that a variable has where it is used: that of its value, as far as the API server keeps it."""
    if kind.name in ("list", "map") and depth < _DEEPEST_TYPE:
        return cel.Type(kind.name, tuple(_as_variable(part, depth + 1) for part in kind.of))
    return _DYN if kind.of or "kubernetes" in kind.name or "net." in kind.name or kind.name == "type" else kind


def _policy(document: Document, minor: int) -> tuple[Policy | None, list[Finding]]:
    spec = document.data["spec"]
    policy = Policy(document, str(_name(document)), spec)
    compile_, conditions = _Compiler(spec, minor), _Compiler(spec, minor)
    for i, condition in enumerate(spec.get("matchConditions", ())):
        path: Path = ("spec", "matchConditions", i, "expression")
        policy.conditions.append((condition["name"], conditions(condition["expression"], path, _BOOL)))
    for i, variable in enumerate(spec.get("variables", ())):
        path = ("spec", "variables", i, "expression")
        policy.variables[variable["name"]] = compile_.variable(variable["name"], variable["expression"], path)
    for i, validation in enumerate(spec.get("validations", ())):
        path = ("spec", "validations", i)
        expression = compile_(validation["expression"], (*path, "expression"), _BOOL)
        text, message_expression = validation.get("messageExpression"), None
        if text:
            message_expression = compile_(text, (*path, "messageExpression"), _STRING, authorizer=False)
        policy.validations.append(Validation(expression, validation.get("message", "").strip(), message_expression))
    for i, annotation in enumerate(spec.get("auditAnnotations", ())):
        path = ("spec", "auditAnnotations", i, "valueExpression")
        policy.annotations.append((annotation["key"], compile_(annotation["valueExpression"], path, _STRING, _NULL)))
    if not policy.validations and not policy.annotations:
        message = "a policy needs validations or auditAnnotations"
        hint = "write `validations: [{expression: ...}]`; the API server refuses the policy, too"
        compile_.findings.append(Finding("PolicyInvalid", "error", message, hint, ("spec",)))
    findings = [*conditions.findings, *compile_.findings]
    if not findings:
        _check_regexes(policy)
    return (None if findings else policy), findings


def _check_regexes(policy: Policy) -> None:
    """Raise ModuleNotFoundError for a policy with regular expressions, if there is nothing that evaluates them."""
    texts = [
        item["expression"]
        for kind in ("matchConditions", "variables", "validations")
        for item in policy.spec.get(kind, ())
    ]
    if any(f"{word}(" in text for text in texts for word in _REGEX_FUNCTIONS):
        try:
            cel.strings.compile_regex("")
        except cel.UnknownError:
            raise ModuleNotFoundError(name="re2") from None


def _binding(document: Document, policies: dict[str, Policy | None]) -> tuple[Binding | None, list[Finding]]:
    findings = list(misshapen(document)) or list(refusals(document))
    if findings:
        return None, findings
    spec = document.data["spec"]
    name = spec["policyName"]
    if name not in policies:
        message = f"no policy {name!r} in the policies folders; the binding has no effect here"
        hint = "add the policy's manifest to a folder listed under `policies:` in trainc.yaml"
        hint = did_you_mean(name, policies) or hint
        return None, [Finding("PolicyNotEvaluated", "warning", message, hint, ("spec", "policyName"))]
    policy = policies[name]
    return (Binding(document, str(_name(document)), spec, policy) if policy else None), []


def _about_trainjobs(policy: Policy) -> Iterator[Finding]:
    """A finding for a policy on TrainJobs, which are not applied if their JobSets are."""
    for i, rule in enumerate(policy.spec["matchConstraints"]["resourceRules"]):
        if "trainjobs" in rule["resources"] and {"CREATE", "*"} & set(rule["operations"]):
            where = "which are not in the cluster if trainc's JobSets are"
            message = f"policy {policy.name} also matches trainjobs, {where}"
            path: Path = ("spec", "matchConstraints", "resourceRules", i, "resources")
            yield Finding("PolicyNotEvaluated", "info", message, "have it match jobsets, too", path)


MISSING = "add the missing object to a folder listed under `policies:`; the cluster evaluates the policy in any case"
_SAME_NAME = Finding(
    "PolicyInvalid",
    "error",
    "another policy in the policies folders has this name",
    "rename one of them; the cluster has only the one that is applied last",
    ("metadata", "name"),
)
_NOT_BOUND = Finding(
    "PolicyNotEvaluated",
    "info",
    "no binding names this policy, so it has no effect",
    "add its ValidatingAdmissionPolicyBinding to a folder listed under `policies:` in trainc.yaml",
    ("metadata", "name"),
)


def _mark_misdirected(bindings: list[Binding], named: Mapping[str, Sequence[Any]]) -> Iterator[Diagnostic]:
    """Mark bindings whose parameter is not there though one has almost its name, of the first that lack theirs, and say so."""
    left = _MOST_CORRECTED
    for place, binding in enumerate(bindings):
        kind, reference = binding.policy.spec.get("paramKind"), mapping(binding.spec.get("paramRef"))
        space, name = reference.get("namespace"), str(reference.get("name", ""))
        if not (kind and space):
            continue
        try:
            parameters(kind, reference, "", named)
        except NoParameterError as error:
            left -= 1
            there = named.values() if left >= 0 else ()
            alike = (identity_of(data) for same in there for data in same if data.get("kind") == kind["kind"])
            near = did_you_mean(name, [other for of, other in alike if of in ("", space)], 0.9)
            message = f"policy {binding.policy.name} cannot be evaluated: {error}"
            finding = Finding("PolicyInvalid", "error", message, near, ("spec", "paramRef", "name"))
            if not near:
                denied = reference.get("parameterNotFoundAction") == "Deny"
                message += "; without it in the cluster, the binding denies every job" * denied
                finding = replace(finding, code="PolicyNotEvaluated", severity="warning", message=message, hint=MISSING)
            yield binding.document.diagnose(finding)
            bindings[place] = replace(binding, is_misdirected=True)


def _not_texts(document: Document) -> Iterator[Finding]:
    """A finding for each value of a ConfigMap that is no text: the API server refuses the object."""
    for key, value in mapping(document.data.get("data")).items() if document.data.get("kind") == "ConfigMap" else ():
        if isinstance(value, bool | int | float):
            text = json.dumps(json.dumps(value))
            message = f"the values of a ConfigMap are strings, and the API server refuses {value}"
            yield Finding("PolicyInvalid", "error", message, f"write {text}", ("data", key))


def _others(documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """A finding for each policy that another program evaluates, and for each whose kind or version is another one."""
    for document in documents:
        yield from map(document.diagnose, _not_texts(document))
        if document.data.get("kind") == "Namespace":
            yield from map(document.diagnose, misspelt(document.data))
        group = str(document.data.get("apiVersion")).partition("/")[0]
        kind = str(document.data.get("kind"))
        if group in _DATA["engines"] and kind != "PolicyReport":
            engine, command = _DATA["engines"][group]
            message = f"trainc does not evaluate {kind}; {engine} does"
            hint = f"run {command} on the rendered files, too"
            yield document.diagnose(Finding("PolicyNotEvaluated", "warning", message, hint, ("kind",)))
        elif kind in _KINDS:
            version = document.data.get("apiVersion")
            message = f"{kind} has no apiVersion" + ("" if version is None else f" {version!r}")
            hint = f"write apiVersion: {_VERSIONS[0]}"
            yield document.diagnose(Finding("PolicyInvalid", "error", message, hint, ("apiVersion",)))
        elif group == _GROUP and not kind.endswith("WebhookConfiguration"):
            # What the operators of a cluster bring along has webhooks for objects of their own.
            hint = did_you_mean(kind, _KINDS, 0.9) or "the cluster applies it in any case"
            message = f"trainc does not evaluate {kind}"
            yield document.diagnose(Finding("PolicyNotEvaluated", "warning", message, hint, ("kind",)))
