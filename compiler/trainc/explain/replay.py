"""Replay a compilation step by step to record the histories of its objects.

The JobSet exists from the start, as the runtime's template; other objects appear when they are built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from trainc.emit.shaping import patched_keys
from trainc.emit.yaml_writer import TOP, with_ordered_keys
from trainc.explain.history import (
    Attribute,
    History,
    Key,
    Sources,
    before_overlays,
    by_document,
    by_label,
    by_patch,
    by_plugin,
    input_of,
    row_for,
    rows_of,
    schema_path,
    with_keys,
)
from trainc.explain.model import ExplainedField, ExplainedObject, Explanation, InputDocument, ObjectName, Origin
from trainc.findings import Path
from trainc.ir.info import Container, Info, PodSet
from trainc.ir.trainjob import Patch, PatchedJob, TrainJob, jobset_metadata
from trainc.kube import names
from trainc.kube.documents import (
    POD_SPEC,
    POD_TEMPLATE,
    FieldPath,
    Item,
    Json,
    Leaf,
    Leaves,
    Manifest,
    identity_of,
    is_item_name,
    leaves,
    path_exists,
    value_at,
)
from trainc.options import Options
from trainc.pipeline.compiler import Result, Trace
from trainc.pipeline.lowering import lower
from trainc.pipeline.patches import Role, Template, apply_patches
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins import registry
from trainc.plugins.plugin import ExtensionPoint, Plugin
from trainc.plugins.registry import Applied, enabled, plugins_for
from trainc.plugins.rows import Situation
from trainc.reading.document import Document, label_of
from trainc.startup.records import replace

# The fields that JobSet's webhook fills in; all other defaults are in the CRD.
_WEBHOOK = frozenset(
    {
        "spec.successPolicy.operator",
        "spec.startupPolicy.startupPolicyOrder",
        "spec.network.enableDNSHostnames",
        "spec.network.publishNotReadyAddresses",
        "spec.replicatedJobs[].template.spec.completionMode",
        "spec.replicatedJobs[].template.spec.template.spec.restartPolicy",
        "spec.failurePolicy.rules[].name",
        "spec.volumeClaimPolicies[].retentionPolicy.whenDeleted",
    }
)
_TOOLS = {"argocd": "Argo CD", "flux": "Flux CD", "kubectl": "kubectl"}
# The fields that mode `sealed` copies from a sealed Secret; the others are generated.
_CIPHERTEXT: tuple[FieldPath, ...] = (
    ("spec", "encryptedData"),
    ("spec", "template", "immutable"),
    ("spec", "template", "metadata", "annotations"),
    ("metadata", "annotations"),
)
# A field of the TrainJob that moves to the JobSet under `gitops`, and the deviation that says so.
_Move: TypeAlias = tuple[Path, str]


def moved_fields(job: TrainJob, info: Info) -> Mapping[FieldPath, _Move]:
    """The fields that only the TrainJob has, by their path in the JobSet; its patches win over its metadata."""
    moves: dict[FieldPath, _Move] = {}
    for field in ("labels", "annotations"):
        patched = patched_keys(job, field)
        for key in jobset_metadata(getattr(job, field)):
            if key not in patched:
                path = ("metadata", field, key)
                moves[path] = path, "metadata-moves-to-jobset"
    if job.managed_by == names.MULTIKUEUE_MANAGED_BY:
        moves["spec", "managedBy"] = ("spec", "managedBy"), "managed-by-moves-to-jobset"
    if job.active_deadline_seconds and info.trainer is not None:
        deadline = ("spec", "activeDeadlineSeconds")
        deadline_in_job = ("spec", "replicatedJobs", Item(info.trainer.name), "template", *deadline)
        moves[deadline_in_job] = deadline, "deadline-moves-to-trainer"
    return moves


def patch_leaves(patch: Patch) -> Mapping[FieldPath, Path]:
    """Map each leaf's path in the JobSet to its path in the TrainJob."""
    trainjob_paths: dict[FieldPath, Path] = {}
    metadata: Path = (*patch.path, "trainingRuntimeSpec", "template", "metadata")
    for kind, values in (("labels", patch.labels), ("annotations", patch.annotations)):
        trainjob_paths.update({("metadata", kind, key): (*metadata, kind, key) for key in values})
    for patched in patch.jobs:
        trainjob_paths["spec", "replicatedJobs", Item(patched.name), "name"] = (*patched.path, "name")
        job = ("spec", "replicatedJobs", Item(patched.name), "template")
        for path, leaf in leaves(patched.template or {}).items():
            trainjob_paths[*job, *path] = _written_at(patch, patched, leaf.index)
    return trainjob_paths


def _written_at(patch: Patch, patched: PatchedJob, index: Path) -> Path:
    """Only runtimePatches contain a whole JobTemplateSpec; overrides start at the pod template or its spec."""
    if patch.manager is not None:
        return (*patched.path, "template", *index)
    if index[:3] == ("spec", "template", "spec"):
        return (*patched.pod_path, *index[3:])
    return (*patch.path, *index[2:])


# To find leaves that a step writes with an unchanged value, change the value before the step and see if it is restored.
# Comparing the object before and after a step shows only what changed. A step that rewrites the current value changes
# nothing, yet it decides: with numNodes 1 in both the runtime and the TrainJob, the TrainJob's value is effective.


_CONTAINER_FIELDS = ("image", "command", "args", "env", "resources", "volumeMounts", "ports")
_POD_METADATA: Path = (*POD_TEMPLATE, "metadata")


def different_value(leaf: Leaf) -> Any:
    """A different, still valid value of the leaf's type; None if there is none."""
    if isinstance(leaf.value, bool):
        return not leaf.value
    if isinstance(leaf.value, int):
        return leaf.value + 1
    if isinstance(leaf.value, str):
        if "resources" in leaf.path:
            return "2" if leaf.value == "1" else "1"
        return leaf.value + "~"
    return None


def find_overwritten(
    before: Leaves, after: Leaves, untouched: Callable[[Leaf, Any], Any], stepped: Callable[[Leaf, Any], Any]
) -> Iterator[FieldPath]:
    """The leaves that a step writes regardless of their previous value, of those that it left unchanged.

    `untouched(leaf, value)` and `stepped(leaf, value)` return the JobSet with `value` at the leaf, without and with the
    step applied. If the value is not visible without the step, a later step overrides it, and the leaf is skipped.
    """
    for path, leaf in after.items():
        if path not in before or before[path].value != leaf.value or not _can_be_written(path):
            continue
        value = different_value(leaf)
        is_visible = value is not None and value_at(untouched(leaf, value), leaf.index) == value
        if is_visible and value_at(stepped(leaf, value), leaf.index) != value:
            yield path


def _can_be_written(path: FieldPath) -> bool:
    """Return whether lowering, passes and building can write a leaf."""
    if path[:2] != ("spec", "replicatedJobs") or len(path) < 4:
        return False
    inside = path[3:]
    if inside == ("replicas",) or inside in (("template", "spec", "parallelism"), ("template", "spec", "completions")):
        return True
    if inside[:4] == _POD_METADATA:
        return not str(path[-1]).startswith("trainer.kubeflow.org/")
    if inside[:4] != POD_SPEC or len(inside) < 7 or is_item_name(path):
        return False
    return inside[4] == "volumes" or (inside[4] in ("containers", "initContainers") and inside[6] in _CONTAINER_FIELDS)


def replace_value(tree: Any, index: Path, value: Any) -> Any:
    """A copy of `tree` with another value at a path of indexes; unchanged parts are shared."""
    if not index:
        return value
    if isinstance(tree, Mapping):
        return {**tree, index[0]: replace_value(tree[index[0]], index[1:], value)}
    return [replace_value(item, index[1:], value) if i == index[0] else item for i, item in enumerate(tree)]


def with_value(info: Info, leaf: Leaf, value: Any) -> Info:
    """An Info whose JobSet has `value` at a leaf, in whichever part of the Info holds that leaf."""
    _, _, position, *path_in_job = leaf.index
    if path_exists(info.template, leaf.index[1:]):
        info = replace(info, template=replace_value(info.template, leaf.index[1:], value))
    pod_sets = [_pod_set(p, tuple(path_in_job), value) if i == position else p for i, p in enumerate(info.pod_sets)]
    return replace(info, pod_sets=tuple(pod_sets))


def _pod_set(pod_set: PodSet, index: Path, value: Any) -> PodSet:
    if index in (("template", "spec", "parallelism"), ("template", "spec", "completions")):
        return pod_set.with_count(value)
    if index[:4] == _POD_METADATA:
        key, field = str(index[5]), str(index[4])
        existing = getattr(pod_set, field)
        changes: Any = {field: {**existing, key: value}} if key in existing else {}
        return replace(pod_set, **changes)
    if index[:4] != POD_SPEC:
        return pod_set
    inside = index[4:]
    if inside[0] == "volumes":
        return replace(pod_set, volumes=tuple(replace_value(list(pod_set.volumes), inside[1:], value)))
    field = "init_containers" if inside[0] == "initContainers" else "containers"
    containers = list(getattr(pod_set, field))
    for i, container in enumerate(containers):
        if i == inside[1] and path_exists(container.fields, inside[2:]):
            containers[i] = Container(replace_value(container.fields, inside[2:], value))
    changes = {field: tuple(containers)}
    return replace(pod_set, **changes)


_JOBSET = "JobSet"
_TEMPLATE = ("spec", "template")


class Replay:
    """Call `frontend`, then `passed` for each pass, `built`, and `shaped` for each later stage.

    `documents` are the TrainJob, its runtime, and those that are neither.
    """

    def __init__(self, job: TrainJob, info: Info, documents: Sequence[InputDocument], options: Options) -> None:
        self._job, self._info, self._options = job, info, options
        self._trainjob, self._runtime, *self._others = documents
        self._jobset = History()
        self._histories: dict[Key, History] = {}
        self._moves: Mapping[FieldPath, _Move] = {}
        self._jobset_plugin = next(a for a in plugins_for(job, info) if a.plugin.name == _JOBSET)

    def frontend(self) -> None:
        """Record the template, its defaults, each patch, inferred labels, and what lowering and building write."""
        template = self._runtime.data["spec"].get("template") or {}
        labels, annotations = (dict((template.get("metadata") or {}).get(f, {})) for f in ("labels", "annotations"))
        spec = template.get("spec") or {}
        self._template(leaves(_mirror(spec, labels, annotations)))
        labels, annotations = {**labels, **self._job.spec_labels}, {**annotations, **self._job.spec_annotations}
        spec_paths = [("metadata", "labels", key) for key in self._job.spec_labels]
        spec_paths += [("metadata", "annotations", key) for key in self._job.spec_annotations]
        self._jobset.step(
            leaves(_mirror(spec, labels, annotations)),
            lambda leaf: by_document(self._trainjob, leaf, ("spec", *leaf.index[1:]), "trainjob"),
            spec_paths,
        )
        for count, patch in enumerate(self._job.patches, start=1):
            patched = apply_patches(spec, self._job.patches[:count], self._info.release)
            labels, annotations = {**labels, **patch.labels}, {**annotations, **patch.annotations}
            after, paths = leaves(_mirror(patched, labels, annotations)), patch_leaves(patch)
            # The name of an existing item only addresses that item; it sets nothing.
            patched_paths = [path for path in paths if path in after and not is_item_name(path)]
            self._jobset.step(after, partial(by_patch, self._trainjob, patch, paths), patched_paths)
        self._jobset.step(leaves(_mirror(self._info.template, labels, annotations)), by_label)
        self._lowered()

    def _template(self, template_leaves: Leaves) -> None:
        """Record the runtime's template: first the values that overlays replaced, then the result."""
        earlier: dict[FieldPath, Origin] = {}
        if self._runtime.before is not None:
            for path, leaf in template_leaves.items():
                origin = before_overlays(self._runtime, leaf, (*_TEMPLATE, *leaf.index))
                if origin is not None:
                    earlier[path] = origin
            self._jobset.step({path: template_leaves[path] for path in earlier}, lambda leaf: earlier[leaf.path])
        self._jobset.step(
            template_leaves, lambda leaf: by_document(self._runtime, leaf, (*_TEMPLATE, *leaf.index)), earlier
        )

    def on_pass(self, applied: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
        """Record a pass, rerunning it on probes to find the leaves it rewrote with the same value."""
        run = getattr(applied.passes, point)
        jobset = leaves(self._project(after))
        overwritten = find_overwritten(
            self._jobset.leaves,
            jobset,
            lambda leaf, value: self._project(with_value(before, leaf, value)),
            lambda leaf, value: self._project(run(self._job, applied.policy, with_value(before, leaf, value))),
        )
        self._jobset.step(jobset, self._by(applied.plugin, point, after), overwritten, whole_items=True)

    def built(self, info: Info) -> None:
        """Record the objects other than the JobSet."""
        for applied in plugins_for(self._job, info):
            for manifest in registry.build(self._job, info, (applied,)):
                key = (manifest["apiVersion"], manifest["kind"], 0)
                while key in self._histories:
                    key = (*key[:2], key[2] + 1)
                if applied.plugin.name == _JOBSET:
                    self._histories[key] = self._jobset
                    continue
                attribute = self._by(applied.plugin, "build", info, manifest["metadata"]["name"])
                self._histories[key] = History()
                self._histories[key].step(leaves(manifest), attribute)
        if info.gitops:
            self._moves = moved_fields(self._job, info)
            # Fields of the TrainJob whose value is already in the place they move to.
            data, jobset_leaves = self._trainjob.data, self._jobset.leaves
            unmoved = [
                path
                for path, (original, _) in self._moves.items()
                if path in jobset_leaves and jobset_leaves[path].value == value_at(data, original)
            ]
            self._jobset.step(jobset_leaves, self._by_stage("shaping", self._moves), unmoved)

    def on_shaped(self, stage: str, manifests: Sequence[Manifest]) -> None:
        """Record what a stage after building added or changed."""
        for key, manifest in with_keys(manifests):
            history = self._histories.setdefault(key, History())
            moves = self._moves if history is self._jobset else {}
            secrets = stage == "secrets"
            attribute = self._by_secrets_mode(manifest) if secrets else self._by_stage(stage, moves)
            history.step(leaves(manifest), attribute)

    def explained(self, manifests: Sequence[Manifest]) -> Iterator[tuple[Manifest, tuple[ExplainedField, ...]]]:
        """Each object of the output with its explained fields."""
        for key, manifest in with_keys(manifests):
            order = leaves(with_ordered_keys(manifest, TOP))
            fields = {explained.path: explained for explained in self._histories[key].fields()}
            yield manifest, tuple(fields[path] for path in order)

    def _by_stage(self, stage: str, moves: Mapping[FieldPath, _Move]) -> Attribute:
        def attribute(leaf: Leaf) -> Origin:
            value = leaf.value
            if leaf.path in moves:
                path, deviation = moves[leaf.path]
                inputs = (input_of(self._trainjob, path),)
                return Origin("trainjob", self._trainjob.label, value, deviation=deviation, inputs=inputs)
            if stage == "admission":
                rule = f"default of JobSet {schema_path(leaf.path)}"
                if schema_path(leaf.path) in _WEBHOOK:
                    return Origin("admission", "JobSet webhook", value, rule=rule, deviation="admission-defaults")
                return Origin("admission", "JobSet CRD", value, rule=rule)
            if stage == "delivery":
                tool = self._options.delivery
                return Origin("delivery", _TOOLS[tool], value, rule=f"--delivery {tool}")
            return Origin("deviation", stage, value, deviation=stage)

        return attribute

    def _by_secrets_mode(self, manifest: Manifest) -> Attribute:
        sources, flag = self._sources, f"--secrets {self._options.secrets}"
        situation = Situation(self._job, self._info, sources.is_set)
        rows = [row for plugin in enabled(self._options.plugins) for row in rows_of(plugin, "secrets")]
        # The document from which a SealedSecret was copied.
        sealed_documents = [d for d in self._others if d.raw.get("kind") == "SealedSecret" == manifest["kind"]]
        sealed = next((d for d in sealed_documents if identity_of(d.raw) == identity_of(manifest)), None)

        def attribute(leaf: Leaf) -> Origin:
            if sealed is not None and any(leaf.path[: len(field)] == field for field in _CIPHERTEXT):
                # The scope of the template is that of the document itself.
                carried_from = leaf.index[2:] if leaf.index[:3] == ("spec", "template", "metadata") else leaf.index
                return Origin("delivery", "Secrets", leaf.value, rule=flag, inputs=(input_of(sealed, carried_from),))
            s = replace(situation, path=leaf.path, value=leaf.value)
            row = row_for(rows, s)
            inputs = sources.inputs(row.refs(s)) if row is not None else ()
            rule = "; ".join((flag, *(origin_input.rule for origin_input in inputs if origin_input.rule)))
            return Origin("delivery", "Secrets", leaf.value, rule=rule, inputs=tuple(i for i in inputs if not i.rule))

        return attribute

    def _lowered(self) -> None:
        def lowered_with(leaf: Leaf, value: Any) -> Manifest:
            template = Template(replace_value(self._info.template, leaf.index[1:], value), roles)
            info = lower(self._job, self._runtime.data, template, self._info.release, self._options)
            return self._project(info)

        roles = {pod_set.name: Role(pod_set.role, pod_set.main) for pod_set in self._info.pod_sets}
        jobset = leaves(self._project(self._info))
        overwritten = find_overwritten(
            self._jobset.leaves,
            jobset,
            lambda leaf, value: replace_value({"spec": self._info.template}, leaf.index, value),
            lowered_with,
        )
        attribute = self._by(self._jobset_plugin.plugin, "build", self._info)
        self._jobset.step(jobset, attribute, overwritten, whole_items=True)

    def _by(self, plugin: Plugin, point: str, info: Info, name: str = "") -> Attribute:
        situation, sources = Situation(self._job, info, self._sources.is_set, object=name), self._sources
        return partial(by_plugin, plugin, point, situation, sources)

    @property
    def _sources(self) -> Sources:
        return Sources(self._trainjob, self._runtime, self._jobset.origin, self._jobset.template_origin)

    def _project(self, info: Info) -> Manifest:
        (jobset,) = registry.build(self._job, info, (self._jobset_plugin,))
        return jobset


def _mirror(spec: Json, labels: Json, annotations: Json) -> Manifest:
    """A template in the shape of the JobSet that it becomes."""
    metadata = {field: values for field, values in (("labels", labels), ("annotations", annotations)) if values}
    return {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}


class Recorder(Trace):
    """Records a compilation; attribution happens afterwards. `result` is None unless the job was lowered."""

    def __init__(self) -> None:
        self.result: Result | None = None
        self.job: TrainJob | None = None
        self.passes: list[tuple[Applied, ExtensionPoint, Info, Info]] = []
        self.stages: list[tuple[str, Sequence[Manifest]]] = []

    def on_lowered(self, result: Result) -> None:
        """Keep the documents and the lowered job."""
        assert result.lowered is not None
        self.result, self.job = result, result.lowered.job

    def on_renamed(self, job: TrainJob) -> None:
        """Keep the job with its new name."""
        self.job = job

    def on_pass(self, plugin: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
        """Keep the pass."""
        self.passes.append((plugin, point, before, after))

    def on_shaped(self, stage: str, manifests: Sequence[Manifest]) -> None:
        """Keep the objects."""
        self.stages.append((stage, manifests))


def explanation(recorder: Recorder) -> Explanation:
    """Explain every field of the objects built for the job that `recorder` observed to completion."""
    result, trainjob = recorder.result, recorder.job
    assert result is not None
    assert trainjob is not None
    assert result.lowered is not None
    assert result.runtime is not None
    job, runtime, info, session = result.job, result.runtime, result.lowered.info, result.lowered.session
    others = (_as_read(label_of(document.data), document) for document in session.index.other_documents)
    documents = [_input_document(job), _input_document(runtime), *others]
    replay = Replay(trainjob, info, documents, session.options)
    replay.frontend()
    for step in recorder.passes:
        replay.on_pass(*step)
    replay.built(recorder.passes[-1][3] if recorder.passes else info)
    for stage, manifests in recorder.stages[1:]:
        replay.on_shaped(stage, manifests)
    explained = replay.explained(recorder.stages[-1][1])
    objects = tuple(ExplainedObject(ObjectName.of(manifest), fields) for manifest, fields in explained)
    source = job.document.locate(())
    return Explanation(job.label, runtime.label, source, info.release.minor, info.semantics, objects)


def _input_document(checked: ValidDocument) -> InputDocument:
    label, document = checked.label, checked.document
    before = None if document.before is None else _as_read(label, document.before)
    return InputDocument(
        label, document.file, document.data, checked.data, checked.original_path, document.locate, before
    )


def _as_read(label: str, document: Document) -> InputDocument:
    return InputDocument(label, document.file, document.data, document.data, lambda path: path, document.locate)
