"""Delivery methods, i.e. how a manifest reaches a cluster: what each one sends, and how it handles a refusal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

from trainc.api.admission import updates
from trainc.api.cluster import group_of
from trainc.api.explained import expressions
from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, Manifest, documents, mapping, names, objects, value_at
from trainc.api.plugins import enabled
from trainc.api.records import dataclass, replace
from trainc.api.settings import Options
from trainc.features.gitops.diff.changes import Change, compare_manifests, identities, normalize, strip_server_fields

Tool: TypeAlias = Literal["kubectl", "argocd", "flux", "any"]
# When a refused or unwanted object is deleted and recreated: never, if it is refused, or at every sync.
Force: TypeAlias = Literal["never", "if refused", "always"]


@dataclass(frozen=True, slots=True)
class DeliveryMethod:
    """A delivery method. `id` is for programs, `label` for readers.

    `prunes` says whether objects removed from git are deleted, assuming that the tool's pruning is enabled. With
    `hashes_names`, a job whose content changes gets a new name, regardless of the tool that applies it.
    """

    id: str
    label: str
    tool: Tool
    apply: Apply
    force: Force = "never"
    prunes: bool = True
    hashes_names: bool = False

    @property
    def phrase(self) -> str:
        """How jobs are delivered, for the sentence that says what outcomes are about."""
        return "a new name for each changed job (nameHash)" if self.hashes_names else f"delivered by {self.label}"


KUBECTL = DeliveryMethod("kubectl", "kubectl apply", "kubectl", "client", prunes=False)
ARGOCD = DeliveryMethod("argocd", "Argo CD, client-side", "argocd", "client")
ARGOCD_SERVER_SIDE = DeliveryMethod("argocd-server-side", "Argo CD, server-side", "argocd", "server")
ARGOCD_REPLACE = DeliveryMethod("argocd-force-replace", "Argo CD, Force+Replace", "argocd", "replace", "always")
FLUX = DeliveryMethod("flux", "Flux", "flux", "server")
FLUX_FORCE = DeliveryMethod("flux-force", "Flux, force", "flux", "server", "if refused")
NAME_HASH = DeliveryMethod("name-hash", "name hash", "any", "server", hashes_names=True)

DELIVERY_METHODS = (KUBECTL, ARGOCD, ARGOCD_SERVER_SIDE, ARGOCD_REPLACE, FLUX, FLUX_FORCE, NAME_HASH)


def chosen_method(options: Options) -> DeliveryMethod:
    """The method that the compilation options select."""
    chosen = options.sync_options
    if options.name_hash:
        return NAME_HASH
    if options.delivery == "kubectl":
        return KUBECTL
    if options.delivery == "flux":
        return FLUX_FORCE if "force=enabled" in chosen else FLUX
    if {"Force=true", "Replace=true"} <= {*chosen}:
        return ARGOCD_REPLACE
    return ARGOCD_SERVER_SIDE if "ServerSideApply=true" in chosen else ARGOCD


# An object's own Argo CD and Flux annotations, which take precedence over the configured method.
#
# Sources: argoproj/argo-cd gitops-engine pkg/sync/sync_context.go (applyObject); fluxcd/pkg ssa/manager_apply.go.

_ARGO = "argocd.argoproj.io/sync-options"
_FLUX = "kustomize.toolkit.fluxcd.io/"


def effective_method(method: DeliveryMethod, live: Manifest | None, manifest: Manifest | None) -> DeliveryMethod:
    """`method` as it applies to one object, which is `live` in the cluster and `manifest` in git."""
    if method.tool == "argocd":
        return _argocd(method, live, manifest)
    if method.tool == "flux":
        annotations = {**_metadata(live), **_metadata(manifest)}
        force = "if refused" if annotations.get(f"{_FLUX}force") == "enabled" else method.force
        return replace(method, force=force, prunes=_metadata(live).get(f"{_FLUX}prune") != "disabled")
    return method


def is_left_alone(method: DeliveryMethod, live: Manifest, manifest: Manifest) -> bool:
    """Return whether the tool never touches the object once it exists."""
    if method.tool != "flux":
        return False
    desired, annotations = _metadata(manifest), {**_metadata(live), **_metadata(manifest)}
    disabled = annotations.get(f"{_FLUX}reconcile") == "disabled" or annotations.get(f"{_FLUX}ssa") == "Ignore"
    return disabled or desired.get(f"{_FLUX}ssa") == "IfNotPresent"


def _argocd(method: DeliveryMethod, live: Manifest | None, manifest: Manifest | None) -> DeliveryMethod:
    desired, either = _argo_options(manifest), _argo_options(live) | _argo_options(manifest)
    # The Force and Replace options of this method are an annotation of the JobSet only, not of the job's other objects.
    if method.force == "always" and (live or manifest or {}).get("kind") != "JobSet":
        method = replace(method, apply="client", force="never")
    if "Replace=true" in either:
        method = replace(method, apply="replace", force="always" if "Force=true" in either else method.force)
    elif method.apply != "replace":
        if "ServerSideApply=true" in desired:
            method = replace(method, apply="server")
        elif "ServerSideApply=false" in desired:
            method = replace(method, apply="client")
        if "Force=true" in either and method.apply == "client":
            method = replace(method, force="if refused")
    return replace(method, prunes=not {"Prune=false", "Prune=confirm"} & _argo_options(live))


def _argo_options(manifest: Manifest | None) -> set[str]:
    return {option.strip() for option in str(_metadata_field(manifest, "annotations").get(_ARGO, "")).split(",")}


def _metadata(manifest: Manifest | None) -> dict[str, str]:
    """Labels and annotations merged, because Flux reads both."""
    return {**_metadata_field(manifest, "labels"), **_metadata_field(manifest, "annotations")}


def _metadata_field(manifest: Manifest | None, field: str) -> dict[str, str]:
    values = (manifest or {}).get("metadata", {}).get(field)
    return values if isinstance(values, dict) else {}


# The part of an apply request that determines the result of an update, for both ways to apply a manifest.
#
# Client-side apply sends a JSON merge patch for custom resources, which replaces whole lists: values that a webhook
# filled in inside a list are lost (kubernetes/kubectl pkg/cmd/apply/patcher.go). Server-side apply merges lists by
# their keys, and removes only what the same applier set before (structured-merge-diff).
# Both are modeled with a single applier that owns all fields.

Apply: TypeAlias = Literal["client", "server", "replace"]
_NOTHING: Mapping[str, Any] = {}


def submit(apply: Apply, live: Manifest, applied: Manifest, manifest: Manifest) -> Manifest:
    """The object that results from applying `manifest` to `live`; `applied` is the manifest applied before."""
    if apply == "replace":
        return manifest
    if apply == "client":
        return _merge_patch(live, applied, manifest)
    return _merge(live, applied, manifest)


def _merge_patch(live: Mapping[str, Any], applied: Mapping[str, Any], manifest: Mapping[str, Any]) -> Manifest:
    result = {key: value for key, value in live.items() if key in manifest or key not in applied}
    for key, value in manifest.items():
        if isinstance(value, dict) and isinstance(live.get(key), dict):
            before = applied.get(key)
            result[key] = _merge_patch(live[key], before if isinstance(before, dict) else _NOTHING, value)
        else:
            result[key] = value
    return result


def _merge(live: Mapping[str, Any], applied: Mapping[str, Any], manifest: Mapping[str, Any]) -> Manifest:
    result: Manifest = {}
    for key in dict.fromkeys((*live, *manifest)):
        value = _merge_values(key, live.get(key), applied.get(key), manifest.get(key))
        if value is not None:
            result[key] = value
    return result


def _merge_values(field: str, live: Any, applied: Any, manifest: Any) -> Any:
    """The merged value of a field: from the manifest, or from `live` if it was never applied, or what is left of it."""
    if isinstance(manifest, dict) and isinstance(live, dict):
        return _merge(live, applied if isinstance(applied, dict) else _NOTHING, manifest)
    if isinstance(manifest, list) and isinstance(live, list):
        return _merge_lists(field, live, applied if isinstance(applied, list) else [], manifest)
    if manifest is not None or applied is None:
        return live if manifest is None else manifest
    if isinstance(live, dict) and isinstance(applied, dict) and applied:
        return _merge(live, applied, _NOTHING) or None
    return None


def _merge_lists(field: str, live: Sequence[Any], applied: Sequence[Any], manifest: Sequence[Any]) -> list[Any]:
    names = [identities(field, items) for items in (live, applied, manifest)]
    if field not in documents.MERGE_KEYS or any(name is None for name in names):
        return list(manifest)
    in_cluster, before, desired = (
        dict(zip(name or (), items, strict=True)) for name, items in zip(names, (live, applied, manifest), strict=True)
    )
    merged = [_merge_values(field, in_cluster.get(name), before.get(name), item) for name, item in desired.items()]
    return merged + [item for name, item in in_cluster.items() if name not in before and name not in desired]


# What is known about the objects of gang schedulers: a PodGroup's size, its pods, and its immutable fields.

_GANGS = {plugin.gang.api_group: plugin.gang for plugin in enabled(()) if plugin.gang is not None}


def group_size(group: Manifest) -> int | None:
    """The number of pods that a PodGroup waits for; None if it is not set or the kind is unknown."""
    gang = _GANGS.get(group_of(group))
    size = None if gang is None else value_at(group, gang.size)
    return size if isinstance(size, int) else None


def is_size(path: Path) -> bool:
    """Return whether a PodGroup field is the number of pods that it waits for."""
    return path in {gang.size for gang in _GANGS.values()}


def groups_of(pod_template: Manifest) -> Iterator[str]:
    """The names of the groups that the pods of a template join."""
    return (str(name) for gang in _GANGS.values() if (name := value_at(pod_template, gang.joins)))


def has_rules(manifest: Manifest) -> bool:
    """Return whether the immutable fields of the object's kind are known."""
    gang = _GANGS.get(group_of(manifest))
    return gang is not None and manifest["kind"] in gang.changes


def is_frozen(manifest: Manifest, path: Path) -> bool:
    """Return whether the API server refuses an update of this field."""
    gang = _GANGS.get(group_of(manifest))
    if gang is None or path[0] == "metadata":
        return False
    return not any(expressions.field_matches(expression, path) for expression in gang.changes.get(manifest["kind"], ()))


# Volume claims of a JobSet that prevent creating its successor of the same name.
#
# JobSet's webhook refuses a new JobSet while a claim of the same name exists, unless its policy says Retain and its
# spec equals that of the claim in the cluster, to which the cluster has added the volume's mode, class and name.
# Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go (validateVolumeClaimPolicies) v0.11.1 and v0.12.0.

_BY_CLUSTER = frozenset(("volumeMode", "storageClassName", "volumeName"))


def lasting_claims(before: Manifest, after: Manifest) -> list[str]:
    """The names of templates whose claims outlive `before` and block the creation of `after`, of the same name."""
    retained = {name: spec for name, spec, policy in _templates(before) if policy == "Retain"}
    return [
        name
        for name, spec, policy in _templates(after)
        if name in retained and not (policy == "Retain" and spec == retained[name] and spec.keys() >= _BY_CLUSTER)
    ]


def claims_that_go(jobset: Manifest) -> list[str]:
    """The names of templates whose claims the cluster deletes with the JobSet."""
    return [name for name, _, policy in _templates(jobset) if policy == "Delete"]


def _templates(jobset: Manifest) -> Iterator[tuple[str, Json, str]]:
    """The name and spec of each claim template, and whether its claims are retained or deleted."""
    for policy in objects(mapping(jobset.get("spec")).get("volumeClaimPolicies")):
        when_deleted = str(mapping(policy.get("retentionPolicy")).get("whenDeleted", "Delete"))
        for template in objects(policy.get("templates")):
            yield str(mapping(template.get("metadata")).get("name")), mapping(template.get("spec")), when_deleted


# The outcomes of delivering a change to a cluster.

Outcome: TypeAlias = Literal[
    "nothing", "in-place", "created", "unknown", "needs-suspend", "refused", "immutable", "invalid", "deleted", "re-created", "lost"
]  # fmt: skip
# Ordered from harmless to harmful, with their labels and meanings for readers.
_OUTCOMES: dict[Outcome, tuple[str, str]] = {
    "nothing": ("nothing", "the object stays as it is"),
    "in-place": ("in-place", "the object is updated; running pods keep running and do not pick up changes to their template"),
    "created": ("created", "the object is new"),
    "unknown": ("unknown", "trainc does not know how the cluster treats this kind"),
    "needs-suspend": ("needs suspend", "the update is refused unless the JobSet is suspended first"),
    "refused": ("refused", "the API server refuses the unchanged file, which would undo what Kueue has set in the pods"),
    "immutable": ("refused as immutable", "the API server refuses the update, and the job keeps running as it is"),
    "invalid": ("refused as invalid", "the API server refuses the object itself"),
    "deleted": ("deleted", "the object and its pods are deleted"),
    "re-created": ("re-created", "the object is deleted and created again, or created under a new name: training restarts"),
    "lost": ("deleted, then refused", "the object is deleted, and the new one is then refused: training stops"),
}  # fmt: skip
LABELS = {outcome: label for outcome, (label, _) in _OUTCOMES.items()}
MEANINGS = {outcome: meaning for outcome, (_, meaning) in _OUTCOMES.items()}
REFUSED: tuple[Outcome, ...] = ("needs-suspend", "refused", "immutable", "invalid")
_RANK = {outcome: rank for rank, outcome in enumerate(LABELS)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The most harmful of `outcomes`, or "nothing" if there are none."""
    return max(outcomes, key=_RANK.__getitem__, default="nothing")


_ABOUT_UPDATES = ("FieldImmutable", "WebhookDefaultMissing", "ObjectRenamed")
# Kinds that accompany a job and have no immutable fields.
_FREEZABLE_KINDS = ("ConfigMap", "Secret")
_MUTABLE_KINDS = (*_FREEZABLE_KINDS, "PodGroup", "ExternalSecret", "SSHKey", "SealedSecret", "ServiceAccount", "Role")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for an object, for each of its changes in order, and the refusals behind it."""

    outcome: Outcome
    per_change: tuple[Outcome, ...] = ()
    refusals: tuple[Finding, ...] = ()


def verdict_on(
    before: Manifest | None, after: Manifest | None, changes: Sequence[Change], rules: updates.JobSetRules
) -> dict[str, Verdict]:
    """A verdict for each method, by method id. The manifests are normalized; None means that git has no such object."""
    if before is not None and after is None:
        prunes = {method.id: effective_method(method, before, None).prunes for method in DELIVERY_METHODS}
        return {method: Verdict("deleted" if is_pruned else "nothing") for method, is_pruned in prunes.items()}
    assert after is not None
    if before is None or before["metadata"].get("name") != after["metadata"].get("name"):
        accepted: Outcome = "created" if before is None else "re-created"
        verdict = _all("invalid" if _refused_new(after, rules) else accepted, changes)
        return dict.fromkeys((method.id for method in DELIVERY_METHODS), verdict)
    update = JobSetUpdate(before, after, rules) if before["kind"] == "JobSet" else None
    verdicts = {}
    for method in DELIVERY_METHODS:
        effective = effective_method(method, before, after)
        if is_left_alone(effective, before, after):
            verdicts[method.id] = _all("nothing", changes)
        elif update is not None:
            verdicts[method.id] = _judge_jobset(effective, changes, update)
        else:
            verdicts[method.id] = _judge_other(effective, before, changes)
    return verdicts


def sync_outcome(
    method: DeliveryMethod, live: Manifest, applied: Manifest, manifest: Manifest, rules: updates.JobSetRules
) -> Outcome:
    """What happens to the object `live` of a cluster when `manifest` is applied; `applied` is what was applied before."""
    effective = effective_method(method, live, manifest)
    live, applied, manifest = strip_server_fields(live), strip_server_fields(applied), strip_server_fields(manifest)
    if is_left_alone(effective, live, manifest):
        return "nothing"
    if manifest["kind"] == "JobSet":
        return _judge_jobset(effective, (), JobSetUpdate(applied, manifest, rules, rules.put(live)[0])).outcome
    sent = submit(effective.apply, live, applied, manifest)
    changes, _ = compare_manifests(normalize(live), normalize(sent))
    return _judge_other(effective, live, changes).outcome


def _all(outcome: Outcome, changes: Sequence[Change]) -> Verdict:
    return Verdict(outcome, (outcome,) * len(changes))


def _refused_new(manifest: Manifest, rules: updates.JobSetRules) -> bool:
    return manifest["kind"] == "JobSet" and bool(rules.creation_refusals(manifest))


def _judge_jobset(method: DeliveryMethod, changes: Sequence[Change], update: JobSetUpdate) -> Verdict:
    if method.force == "always":
        return _all("re-created" if update.comes_back else "lost", changes)
    attempt = update.by(method.apply)
    refused, lasting = (_ByPath((r.path, r.code) for r in all_) for all_ in (attempt.refusals, attempt.while_suspended))
    effective = _ByPath((other.path, "") for other in attempt.effective)
    alone = tuple(_of_change(change, refused, lasting, effective) for change in changes)
    if not attempt.refusals:
        return Verdict("in-place" if attempt.effective else "nothing", alone)
    # kubectl checks only the status code, Flux also the message, and every refused update says "immutable".
    if method.force == "if refused" and not (method.apply == "client" and update.is_forbidden(attempt.refusals)):
        forced: Outcome = "re-created" if update.comes_back else "lost"
        per_change = tuple(outcome if outcome in {"nothing", "in-place"} else forced for outcome in alone)
        return Verdict(forced, per_change, attempt.refusals)
    codes = {refusal.code for refusal in attempt.refusals}
    return Verdict(_outcome_of(codes, attempt.while_suspended), alone, attempt.refusals)


def _outcome_of(refusals: Collection[str], while_suspended: Collection[object]) -> Outcome:
    if any(code not in _ABOUT_UPDATES for code in refusals):
        return "invalid"
    return "immutable" if while_suspended else "needs-suspend"


def _of_change(change: Change, refused: _ByPath, lasting: _ByPath, effective: _ByPath) -> Outcome:
    here, then = ({*index.around(change.old), *index.around(change.new)} for index in (refused, lasting))
    if here or then:
        return _outcome_of(here, then)
    return "in-place" if next(effective.around(change.path), None) is not None else "nothing"


class _ByPath:
    """The codes about paths, to be found by one that is equal, contains it, or is a part of it, without a look at the rest."""

    def __init__(self, items: Iterable[tuple[Path, str]]) -> None:
        self._at: dict[Path, set[str]] = {}
        self._below: dict[Path, set[str]] = {}
        for path, code in items:
            self._at.setdefault(path, set()).add(code)
            for end in range(len(path)):
                self._below.setdefault(path[:end], set()).add(code)

    def around(self, path: Path) -> Iterator[str]:
        """Yield what is about this path, its parts, and what it is a part of."""
        yield from self._below.get(path, ())
        for end in range(len(path), -1, -1):
            yield from self._at.get(path[:end], ())


def _judge_other(method: DeliveryMethod, before: Manifest, changes: Sequence[Change]) -> Verdict:
    if method.force == "always":
        return _all("re-created", changes)
    if not changes:
        return Verdict("nothing")
    if has_rules(before):
        frozen = [is_frozen(before, change.path) for change in changes]
    elif before["kind"] not in _MUTABLE_KINDS:
        return _all("unknown", changes)
    elif before["kind"] not in _FREEZABLE_KINDS or before.get("immutable") is not True:
        return _all("in-place", changes)
    else:
        frozen = [change.path[0] != "metadata" for change in changes]
    refused: Outcome = "re-created" if method.force == "if refused" else "immutable"
    per_change: tuple[Outcome, ...] = tuple(refused if is_frozen else "in-place" for is_frozen in frozen)
    return Verdict(refused if refused in per_change else "in-place", per_change)


# A simulated update of one JobSet: what is stored, what would be stored, and what is refused.


@dataclass(frozen=True, slots=True)
class Attempt:
    """One update: its refusals, those left if git suspends the JobSet first, and its effect on the stored object.

    `effective` takes defaults into account, so it excludes fields that only spell out their default.
    """

    sent: Manifest
    refusals: tuple[Finding, ...]
    while_suspended: tuple[Finding, ...]
    effective: tuple[Change, ...]


class JobSetUpdate:
    """The update of the applied `before` to `after`, by any apply method. Evaluated lazily.

    `live` is what is stored, if it is known; otherwise it is `before` as the API server stores it.
    """

    def __init__(
        self, before: Manifest, after: Manifest, rules: updates.JobSetRules, live: updates.Submitted | None = None
    ) -> None:
        self._before, self._after, self._rules, self._known = before, after, rules, live
        self._attempts: dict[Apply, Attempt] = {}

    @cached_property
    def comes_back(self) -> bool:
        """Return whether the new manifest is accepted once the old object has been deleted."""
        return not (self._rules.creation_refusals(self._after) or lasting_claims(self._before, self._after))

    def by(self, apply: Apply) -> Attempt:
        """The update by one apply method; methods that send the same request share a result."""
        if apply in self._attempts:
            return self._attempts[apply]
        sent = submit(apply, dict(self._live.document), self._before, self._after)
        same = next((attempt for attempt in self._attempts.values() if attempt.sent == sent), None)
        return self._attempts.setdefault(apply, same or self._attempt(sent))

    def _attempt(self, sent: Manifest) -> Attempt:
        becomes, refusals = self._rules.put(sent)
        refused = self._refusals(self._live, becomes, refusals)
        # The schema does not ask whether a JobSet is suspended.
        refused_while_suspended = self._refusals(_suspend(self._live), _suspend(becomes), refusals) if refused else ()
        effective, _ = compare_manifests(self._normal_live, normalize(dict(becomes.document)))
        return Attempt(sent, refused, refused_while_suspended, effective)

    def is_forbidden(self, refusals: Sequence[Finding]) -> bool:
        """Return whether the API server answers 403 to an update refused for these reasons."""
        return self._rules.answers_forbidden(refusals)

    @cached_property
    def _live(self) -> updates.Submitted:
        return self._known or self._rules.created(self._before)

    @cached_property
    def _normal_live(self) -> Manifest:
        return normalize(dict(self._live.document))

    def _refusals(
        self, stored: updates.Submitted, becomes: updates.Submitted, findings: Sequence[Finding]
    ) -> tuple[Finding, ...]:
        by_kueue = kueue_refusals(stored.document, becomes.document)
        return (*findings, *self._rules.update_refusals(stored, becomes), *by_kueue)


def _suspend(jobset: updates.Submitted) -> updates.Submitted:
    document, typed = (
        {**side, "spec": {**side.get("spec", {}), "suspend": True}} for side in (jobset.document, jobset.typed)
    )
    return updates.Submitted(document, typed)


# The update rules of Kueue's own webhook for queued JobSets, in addition to those of JobSet's webhook.
#
# Source: kubernetes-sigs/kueue pkg/controller/jobframework/validation.go (ValidateJobOnUpdate).

_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"


def kueue_refusals(stored: Mapping[str, Any], jobset: Mapping[str, Any]) -> Iterator[Finding]:
    """Why Kueue would refuse to replace `stored` with `jobset`; empty if neither names a queue."""
    before, after = _labels(stored), _labels(jobset)
    if names.QUEUE_LABEL not in {*before, *after}:
        return
    was_suspended, is_suspended = _is_suspended(stored), _is_suspended(jobset)
    if not is_suspended and before.get(names.QUEUE_LABEL) != after.get(names.QUEUE_LABEL):
        yield _immutable(names.QUEUE_LABEL, "Kueue moves a job to another queue only while the job is suspended")
    if not (was_suspended and is_suspended) and before.get(names.MAX_SECONDS_LABEL) != after.get(
        names.MAX_SECONDS_LABEL
    ):
        yield _immutable(names.MAX_SECONDS_LABEL, "Kueue accepts a new time limit only while the job is suspended")
    if _PRIORITY_LABEL in after and _PRIORITY_LABEL not in before and not is_suspended:
        yield _immutable(_PRIORITY_LABEL, "Kueue accepts a first priority class only while the job is suspended")
    if _PRIORITY_LABEL in before and _PRIORITY_LABEL not in after:
        yield _immutable(_PRIORITY_LABEL, "Kueue does not allow the priority class to be removed")


def _immutable(label: str, message: str) -> Finding:
    return Finding("FieldImmutable", "error", message, hint="", path=("metadata", "labels", label))


def _labels(jobset: Mapping[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = jobset["metadata"].get("labels") or {}
    return labels


def _is_suspended(jobset: Mapping[str, Any]) -> bool:
    return jobset.get("spec", {}).get("suspend") is True
