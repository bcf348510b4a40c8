"""Rules for updates: the fields of a valid JobSet that must not change.

The CRD makes five fields immutable with CEL, which compares stored documents, and only if both have the field. The
webhook makes the replicated jobs immutable, and compares Go values.

Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go (ValidateUpdate) and the CRD's transition rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.admission.admit import creation_refusals, place_findings, require_jobset
from trainc.admission.creation import bake_defaults, jobset_version
from trainc.findings import Diagnostic, Finding, Path, sort_diagnostics
from trainc.ir.release import release_facts
from trainc.kube.documents import POD_SPEC, POD_TEMPLATE, Json, items, mapping, value_at
from trainc.kube.jobset import text
from trainc.kube.quantity import parse_quantity
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.schema import check
from trainc.startup.records import dataclass, field

_JOBS: Path = ("spec", "replicatedJobs")
_FROZEN = ("network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies")
_FROZEN_SINCE_CLAIMS = "volumeClaimPolicies"
# Fields that Kueue changes while a JobSet is suspended, below spec.replicatedJobs[].template.spec.template.
_FREE_WHILE_SUSPENDED = (
    ("metadata", "annotations"),
    ("metadata", "labels"),
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "schedulingGates"),
)
# What the webhook refuses, and not the API server itself.
_BY_WEBHOOK = (("spec", "replicatedJobs"), ("spec", "managedBy"))
_NEW_NAME = "keep the old value, or create the JobSet under another name, or delete it first: this field is immutable"


@dataclass(frozen=True, slots=True)
class Submitted:
    """A JobSet in the two forms that are compared.

    `document` is what the API server stores: unknown fields are pruned, and CRD defaults filled in. `typed` is the same
    after decoding into Go's types: zero values are dropped, and quantities are canonical.
    """

    document: Mapping[str, Any]
    typed: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobSetRules:
    """The rules of the JobSet minor version that belongs to a Trainer release. No method modifies its arguments."""

    release: str
    _refusals: dict[int, tuple[Json, list[Finding]]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def _jobset(self) -> str:
        return release_facts(self.release).jobset

    def created(self, jobset: Json) -> Submitted:
        """Return the JobSet as stored on creation, with all defaults filled in."""
        return self.put(bake_defaults(jobset, self._jobset))[0]

    def creation_refusals(self, jobset: Json) -> Sequence[Finding]:
        """Return why creating the JobSet would be refused; empty if it would be accepted."""
        if id(jobset) not in self._refusals:
            baked = bake_defaults(jobset, self._jobset)
            _, findings = check(baked, "JobSet", self.release, prune=True)
            self._refusals[id(jobset)] = jobset, _errors([*findings, *creation_refusals(baked, self._jobset)])
        return self._refusals[id(jobset)][1]

    def put(self, jobset: Json) -> tuple[Submitted, list[Finding]]:
        """Return the JobSet as stored by an update, without the CREATE webhook's defaults, and why the schema refuses it."""
        becomes, findings = as_submitted(jobset, self.release)
        return becomes, _errors(findings)

    def update_refusals(self, stored: Submitted, becomes: Submitted) -> Sequence[Finding]:
        """Return why `becomes` may not replace `stored`; empty if it may. The findings' paths use list indexes."""
        return update_refusals(stored, becomes, self._jobset)

    def answers_forbidden(self, refusals: Sequence[Finding]) -> bool:
        """Return whether an update refused for these reasons is answered with 403 rather than 422.

        The API server checks schema and CEL rules first and calls the webhook only for objects that pass.
        """
        return not jobset_version(self._jobset).answers_invalid and all(
            refusal.path[:2] in _BY_WEBHOOK for refusal in refusals
        )

    def leaves_out_defaults(self, jobset: Json) -> bool:
        """Return whether the CREATE webhook would fill in any default."""
        return bake_defaults(jobset, self._jobset) != jobset


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == "error"]


def refusals(old: dict[str, Any], new: dict[str, Any], options: Options = Options()) -> list[Diagnostic]:
    """Return the reasons why the API server would refuse to replace the stored JobSet `old` with `new`, if any.

    `new` is the body of a PUT: the CRD's defaults are applied to it, but not those of JobSet's CREATE webhook.
    Raises CompileError if one of them is not a JobSet.
    """
    release = options.release or NEWEST_RELEASE
    require_jobset(old)
    require_jobset(new)
    before, _ = as_submitted(old, release)
    after, findings = as_submitted(new, release)
    errors = [*_errors(findings), *update_refusals(before, after, release_facts(release).jobset)]
    return sort_diagnostics(place_findings(new, errors))


def as_submitted(jobset: Json, release: str) -> tuple[Submitted, list[Finding]]:
    """Return the body of a PUT in the two forms that are compared, and the findings of the CRD's schema."""
    typed, findings = check(jobset, "JobSet", release, prune=True)
    unknown = [f.path for f in findings if f.code == "UnknownField"]
    return Submitted(_fill_defaults(_without(jobset, unknown), typed), typed), findings


def _fill_defaults(document: Any, typed: Any) -> Any:
    """Return `document` with the defaults of its typed form; zero values remain as written."""
    if isinstance(document, dict) and isinstance(typed, dict):
        nested = {k: _fill_defaults(v, typed.get(k)) for k, v in document.items() if isinstance(v, (dict, list))}
        return {**typed, **document, **nested}
    if isinstance(document, list) and isinstance(typed, list) and len(document) == len(typed):
        return [_fill_defaults(left, right) for left, right in zip(document, typed, strict=True)]
    return document


def _without(value: Any, paths: Sequence[Path]) -> Any:
    """Return `value` without the fields at `paths`. Unchanged parts are shared with the input."""
    if not paths:
        return value
    inside: dict[str | int, list[Path]] = {}
    for first, *inner in paths:
        inside.setdefault(first, []).append(tuple(inner))
    entries = enumerate(value) if isinstance(value, list) else value.items()
    members = {k: _without(v, inside.get(k, [])) for k, v in entries if () not in inside.get(k, [])}
    return list(members.values()) if isinstance(value, list) else members


def update_refusals(old: Submitted, new: Submitted, version: str) -> list[Finding]:
    """Return the reasons why this JobSet minor would refuse to replace `old` with `new`; empty if it would accept it.

    The CREATE webhook's defaults are not applied to `new`, because that webhook does not run on updates, and neither do
    its other rules. What the CRD's schema and CEL rules refuse in `new` itself is reported by the schema stage.
    """
    facts = jobset_version(version)
    before, after, baked = map(_spec, (old.document, new.document, bake_defaults(new.document, version)))
    findings = list(_check_identity(old.document, new.document))
    for frozen in (f for f in _FROZEN if facts.has_volume_claims or f != _FROZEN_SINCE_CLAIMS):
        was, becomes = before.get(frozen), after.get(frozen)
        if was is not None and becomes is not None and was != becomes:
            findings.append(_immutable(("spec", frozen), was, becomes, was == baked.get(frozen)))
    findings += _replicated_jobs(old.typed, new.typed, bake_defaults(new.typed, version))
    if before.get("managedBy") != after.get("managedBy"):
        findings.append(_immutable(("spec", "managedBy"), before.get("managedBy"), after.get("managedBy")))
    return findings


def _spec(jobset: Mapping[str, Any]) -> Json:
    return mapping(jobset.get("spec"))


def _check_identity(old: Json, new: Json) -> Iterator[Finding]:
    before, after = mapping(old.get("metadata")), mapping(new.get("metadata"))
    for key in ("name", "namespace"):
        if before.get(key) and after.get(key) and before[key] != after[key]:
            message = f"{key} changed from {text(before[key])!r} to {text(after[key])!r}: that is a different object"
            hint = "compare JobSets with the same name and namespace"
            yield Finding("ObjectRenamed", "error", message, hint, ("metadata", key))


def _replicated_jobs(old: Json, new: Json, baked: Json) -> Iterator[Finding]:
    before, after = items(_spec(old).get("replicatedJobs")), items(_spec(new).get("replicatedJobs"))
    was, becomes = ([text(mapping(job).get("name")) for job in jobs] for jobs in (before, after))
    if was != becomes:
        message = f"the replicated jobs changed from {', '.join(was) or '(none)'} to {', '.join(becomes) or '(none)'}"
        yield Finding("FieldImmutable", "error", message, _NEW_NAME, _JOBS)
        return
    suspended = _spec(old).get("suspend") is True or _spec(new).get("suspend") is True
    filled = items(_spec(baked).get("replicatedJobs"))
    for i, (left, right) in enumerate(zip(before, after, strict=True)):
        changed = list(differences(left, right))
        left_out = set(changed).difference(differences(left, filled[i])) if changed else ()
        for path in changed:
            if not (suspended and _is_free(path)):
                values = value_at(left, path), value_at(right, path)
                yield _immutable((*_JOBS, i, *path), *values, path in left_out, _is_free(path))


def _is_free(path: Path) -> bool:
    """Return whether a path inside a replicated job may change while the JobSet is suspended."""
    return path[:3] == POD_TEMPLATE and path[3:5] in _FREE_WHILE_SUSPENDED


def _immutable(path: Path, old: Any, new: Any, left_out: bool = False, free: bool = False) -> Finding:
    if left_out:
        message = f"JobSet's webhook set {_short(old)} on creation, and the update would remove it"
        return Finding("WebhookDefaultMissing", "error", message, "write the defaults into the manifest", path)
    hint = "suspend the JobSet first: this field can change while it is suspended" if free else _NEW_NAME
    return Finding("FieldImmutable", "error", f"changed from {_short(old)} to {_short(new)}", hint, path)


def _short(value: Any) -> str:
    encoded = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return encoded if len(encoded) <= 60 else f"{encoded[:57]}..."


# The differences between two objects under Go's `equality.Semantic`, with which JobSet's webhook compares them.
#
# Absent and empty maps and lists are equal, and so are quantities of the same amount. A pointer to a zero value is not
# absent; the schema stage has already dropped zero values of fields that are not pointers.
# Source: kubernetes/apimachinery pkg/api/equality/semantic.go.


_QUANTITY_MAPS = ("limits", "requests", "overhead")
_QUANTITIES = ("sizeLimit", "divisor")
# Fields whose absence equals an empty object, because they are structs and not pointers. All other empty objects are
# pointers, and differ from absent ones.
_STRUCTS = ("metadata", "resources", "spec", "template", "status")
_MAPS = ("annotations", "labels", "matchLabels", "nodeSelector", "volumeAttributes", *_QUANTITY_MAPS)
_POD_RESOURCES = (*POD_SPEC, "resources")  # A pointer, unlike a container's.
_WHEN_ABSENT: dict[str, Any] = {**{key: {} for key in (*_STRUCTS, *_MAPS)}, "divisor": "0"}


def differences(old: Any, new: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the innermost paths whose values differ. A list whose length differs counts as one value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            left, right = old.get(key), new.get(key)
            absent = _WHEN_ABSENT.get(key) if (*path, key) != _POD_RESOURCES else None
            left, right = absent if left is None else left, absent if right is None else right
            # Python's 1 and True are equal; what the schema has typed cannot hide them further down.
            if left.__class__ is not right.__class__ or left != right:
                yield from differences(left, right, (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (left, right) in enumerate(zip(old, new, strict=True)):
            if left.__class__ is not right.__class__ or left != right:
                yield from differences(left, right, (*path, i))
    elif not _equal(old, new, path):
        yield path


def _equal(old: Any, new: Any, path: Path) -> bool:
    if type(old) is not type(new):
        return old in ([], None) and new in ([], None)
    is_quantity = path[-1] in _QUANTITIES or (len(path) > 1 and path[-2] in _QUANTITY_MAPS)
    if old == new or not isinstance(old, str) or not is_quantity:
        return bool(old == new)
    try:
        return parse_quantity(old).nanos == parse_quantity(new).nanos
    except ValueError:
        return False
