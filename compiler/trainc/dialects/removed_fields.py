"""Fields that the selected release lacks but that `gitops` honors, because their meaning is clear.

Such a field is removed before the release's schema check, validated with the schema of a release that has it (or by
extensions.py, if no release ever did), and put back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.api.documents import Json, value_at, with_value, without_path
from trainc.api.releases import Span
from trainc.api.schema import check
from trainc.diagnostics import Finding, Path, has_errors
from trainc.dialects.extensions import EXTENSIONS
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class RemovedField:
    """A field that only `releases` have, in the struct `owner`.

    `path` starts with `spec`. `applies` restricts the entry to some values. `contradicts` is a field that those releases
    reject in combination with this one.
    """

    path: Path
    releases: Span
    owner: str
    code: str = "DeprecatedField"
    applies: Callable[[Any], bool] = lambda value: value is not None
    contradicts: Path = ()
    hint: str = ""


_POLICY: Path = ("spec", "mlPolicy")
_TORCH: Path = (*_POLICY, "torch")
_OWNER = "trainer.TrainJobSpec"

REMOVED_FIELDS: Mapping[str, tuple[RemovedField, ...]] = {
    "TrainJob": (
        RemovedField(("spec", "podSpecOverrides"), Span("2.0", "2.0"), _OWNER),
        RemovedField(("spec", "podTemplateOverrides"), Span("2.1", "2.1"), _OWNER),
        RemovedField(("spec", "labels"), Span("2.0", "2.1"), _OWNER),
        RemovedField(("spec", "annotations"), Span("2.0", "2.1"), _OWNER),
        RemovedField(
            ("spec", "trainer", "numProcPerNode"),
            Span("2.0", "2.1"),
            "trainer.Trainer",
            applies=lambda value: isinstance(value, str),
            hint="write a number, or remove it to have it counted from the resources of the node",
        ),
    ),
    "runtime": (
        RemovedField(
            (*_TORCH, "numProcPerNode"), Span("2.0", "2.1"), "trainer.TorchMLPolicySource", "TorchNumProcPerNodeRemoved"
        ),
        RemovedField(
            (*_TORCH, "elasticPolicy"),
            Span("2.0", "2.1"),
            "trainer.TorchMLPolicySource",
            contradicts=(*_POLICY, "numNodes"),
        ),
    ),
}


def check_with_removed_fields(
    document: Json, kind: str, release: str, *, older_dialect: bool = False
) -> tuple[dict[str, Any], list[Finding]]:
    """Like `schema.check`, but honors fields of other releases, with a warning for each.

    Documents of older dialects get no warnings, because these fields are part of their APIs, and `contradicts` does not
    apply to them.
    """
    group = "TrainJob" if kind == "TrainJob" else "runtime"
    findings: list[Finding] = []
    taken: list[tuple[Path, Any]] = []
    rest = document
    spec = document.get("spec")
    written = spec if isinstance(spec, dict) else {}
    for removed in REMOVED_FIELDS[group]:
        if removed.path[1] not in written:
            continue  # Skip the lookup, since almost no document has these fields.
        value = value_at(document, removed.path)
        own_rules = older_dialect and removed.contradicts
        if not removed.applies(value) or (release in removed.releases and not own_rules):
            continue
        checked, found = _check_in_its_release(value, removed, document, kind, older_dialect)
        findings += found if older_dialect else [_notice(removed, release), *found]
        rest = without_path(rest, removed.path)
        taken.append((removed.path, checked))
    for extension in EXTENSIONS if group == "runtime" else ():
        extended = extension(rest, release, older_dialect)
        rest = extended.rest
        taken += extended.taken
        findings += extended.findings
    data, found = check(rest, kind, release)
    if has_errors(found):
        return data, findings + found
    for path, value in taken:
        data = data if value is None else with_value(data, path, value)
    return data, findings + found


def _check_in_its_release(
    value: Any, removed: RemovedField, document: Json, kind: str, older_dialect: bool
) -> tuple[Any, list[Finding]]:
    """Validate the value with a release that has the field; return its stored form and the findings."""
    minimal: Json = {"runtimeRef": {"name": "runtime"}} if kind == "TrainJob" else {"template": {"spec": {}}}
    stub: dict[str, Any] = {"apiVersion": document.get("apiVersion"), "kind": kind, "metadata": {"name": "stub"}}
    stub = with_value({**stub, "spec": minimal}, removed.path, value)
    contradiction = value_at(document, removed.contradicts) if removed.contradicts and not older_dialect else None
    if contradiction is not None:
        stub = with_value(stub, removed.contradicts, contradiction)
    stored, findings = check(stub, kind, removed.releases.last)
    return (None if has_errors(findings) else value_at(stored, removed.path)), findings


def _notice(removed: RemovedField, release: str) -> Finding:
    from trainc.api.schema.known_fields import release_hint

    field = str(removed.path[-1])
    has = removed.releases.last
    message = f"Trainer {release} has no field {field} here; it is compiled as in Trainer {has}"
    hint = (removed.hint or release_hint(removed.owner, field, release)) + "; `trainc migrate` rewrites the file"
    return Finding(removed.code, "warning", message, hint=hint, path=removed.path)
