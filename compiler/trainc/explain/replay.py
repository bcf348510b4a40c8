"""Compile a job again with values that know what they were made from, and keep what each step did to its objects.

The JobSet exists from the start, as the runtime's template; other objects appear when they are built. Admission and
delivery work on plain values: what they change has no other reason than themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from trainc.admission.creation import bake_defaults
from trainc.emit.config_maps import content
from trainc.emit.secrets import provide
from trainc.emit.shaping import SHAPES
from trainc.emit.yaml_writer import TOP, with_ordered_keys
from trainc.explain.history import (
    Attribute,
    History,
    Key,
    before_overlays,
    by_copy,
    by_document,
    inputs_of,
    schema_path,
    with_keys,
)
from trainc.explain.model import (
    ExplainedField,
    ExplainedObject,
    Explanation,
    InputDocument,
    Kind,
    ObjectName,
    Origin,
    Recorded,
)
from trainc.findings import Path
from trainc.ir.info import Info
from trainc.ir.provenance import derived_from, made_of, mark, plain
from trainc.ir.trainjob import Patch, TrainJob
from trainc.kube.documents import FieldPath, Json, Leaf, Leaves, Manifest, is_item_name, leaf_count, leaves
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.pipeline.compiler import Lowered, Result, Trace
from trainc.pipeline.lowering import lower_job, prepare, without_unserved_initializers
from trainc.pipeline.patches import apply_in_steps
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins import registry
from trainc.plugins.plugin import ExtensionPoint
from trainc.plugins.registry import Applied
from trainc.reading.document import Document, Surroundings, label_of
from trainc.startup.records import replace

_TOOLS = {"argocd": "Argo CD", "flux": "Flux CD", "kubectl": "kubectl"}
_POINTS: Mapping[str, str] = {
    "enforce_ml_policy": "EnforceMLPolicy",
    "enforce_pod_group_policy": "EnforcePodGroupPolicy",
    "pre_build_sync": "PreBuildSync",
    "build": "Build",
}
_JOBSET = "JobSet"
# From Trainer 2.2 on, a job has no more patches than half of this.
_MOST_STEPS = 32
_TEMPLATE = ("spec", "template")


class Replay:
    """The steps of one job, in order: `frontend`, `passes`, `built`, and `shaped` for each later stage.

    `documents` are the TrainJob, its runtime, and those that are neither.
    """

    def __init__(self, lowered: Lowered, documents: Sequence[InputDocument], recorded: Recorded) -> None:
        self._job, self._info, self._plugins = lowered.job, lowered.info, lowered.plugins
        self._options: Options = lowered.session.options
        self._trainjob, self._runtime, *self._others = documents
        self._documents = {document.label: document for document in documents}
        self._recorded, self._leaves = recorded, partial(leaves, chosen=recorded.has)
        self._jobset = History(recorded)
        self._histories: dict[Key, History] = {}
        self._builder = next(applied for applied in self._plugins if applied.plugin.name == _JOBSET)

    def frontend(self, runtime: Json) -> None:
        """Record the template, its defaults, each patch, inferred labels, and what lowering and building write."""
        job, template = self._job, runtime["spec"].get("template") or {}
        labels, annotations = (dict((template.get("metadata") or {}).get(f, {})) for f in ("labels", "annotations"))
        spec = template.get("spec") or {}
        self._template(self._leaves(_mirror(spec, labels, annotations)))
        labels, annotations = {**labels, **job.spec_labels}, {**annotations, **job.spec_annotations}
        self._jobset.step(
            self._leaves(_mirror(spec, labels, annotations)),
            lambda leaf: by_copy(self._trainjob, leaf, ("spec", *leaf.index[1:]), "trainjob"),
        )
        # Each step looks at the whole template.
        size = -(-len(job.patches) // _MOST_STEPS)
        steps = [job.patches[i : i + size] for i in range(0, len(job.patches), size or 1)]
        for step, patched in zip(steps, apply_in_steps(spec, steps, self._info.release), strict=True):
            for patch in step:
                labels, annotations = {**labels, **patch.labels}, {**annotations, **patch.annotations}
            # The name of an existing item only addresses that item; it sets nothing.
            after = self._leaves(_mirror(patched, labels, annotations))
            self._jobset.step(after, partial(self._by_patch, {patch.path: patch for patch in step}), is_item_name)
        self._jobset.step(self._leaves(_mirror(self._info.template, labels, annotations)), _by_label)
        self._jobset.step(self._leaves(self._project(self._info)), self._by(self._builder, "build", _JOBSET))

    def _template(self, template_leaves: Leaves) -> None:
        """Record the runtime's template: first the values that overlays replaced, then the result."""
        if self._runtime.before is not None:
            earlier: dict[Any, Origin] = {}
            for path, leaf in template_leaves.items():
                origin = before_overlays(self._runtime, leaf, (*_TEMPLATE, *leaf.index))
                if origin is not None:
                    earlier[path] = origin
            overlaid = {path: replace(template_leaves[path], value=origin.value) for path, origin in earlier.items()}
            self._jobset.step(overlaid, lambda leaf: earlier[leaf.path])
        self._jobset.step(template_leaves, lambda leaf: by_copy(self._runtime, leaf, (*_TEMPLATE, *leaf.index)))

    def passes(self) -> Info:
        """Run the passes and record each one."""

        def observe(applied: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
            self._jobset.step(self._leaves(self._project(after)), self._by(applied, point, _JOBSET))

        return registry.enforce(self._job, self._info, self._plugins, observe)

    def built(self, info: Info) -> None:
        """Record the objects other than the JobSet, and what becomes of the JobSet under `gitops`."""
        for applied in self._plugins:
            for manifest in registry.build(self._job, info, (applied,)):
                key = (manifest["apiVersion"], manifest["kind"], 0)
                while key in self._histories:
                    key = (*key[:2], key[2] + 1)
                self._histories[key] = history = self._jobset if applied is self._builder else History(self._recorded)
                history.step(self._leaves(manifest), self._by(applied, "build", manifest["kind"]))
        jobset = self._project(info)
        for stage, shape in SHAPES.items() if info.gitops else ():
            jobset, _ = shape(self._job, info, jobset)
            self._jobset.step(self._leaves(jobset), partial(self._by_shape, stage))

    def shaped(self, stage: str, before: Sequence[Manifest], manifests: Sequence[Manifest]) -> None:
        """Record what a stage after building added or changed."""
        was = dict(with_keys(before))
        secrets = self._secrets() if stage == "secrets" else {}
        for key, manifest in with_keys(manifests):
            history = self._histories.setdefault(key, History(self._recorded))
            if stage == "admission" and key[1] == _JOBSET:
                webhook = bake_defaults(was[key], self._info.release.jobset)
                history.set_by(self._leaves(webhook), partial(_by_admission, "JobSet webhook", "admission-defaults"))
                history.set_by(self._leaves(manifest), partial(_by_admission, "JobSet CRD", ""))
            elif key in secrets:
                history.step(self._leaves(secrets[key]), self._by_secrets_mode())
            elif stage == "files" and manifest is not was.get(key):
                history.step(self._leaves(manifest), partial(self._by_own_file, manifest))
            elif stage == "delivery":
                history.set_by(self._leaves(manifest), self._by_delivery)

    def explained(self, manifests: Sequence[Manifest]) -> Iterator[ExplainedObject]:
        """Each object of the output with its explained fields."""
        for key, manifest in with_keys(manifests):
            fields = {explained.path: explained for explained in self._histories[key].fields()}
            yield _explained(manifest, fields, self._recorded)

    def _project(self, info: Info) -> Manifest:
        (jobset,) = registry.build(self._job, info, (self._builder,))
        return jobset

    def _by_patch(self, patches: Mapping[Path, Patch], leaf: Leaf) -> Origin:
        """The origin of a leaf set by one of some patches. One that is only a side effect points to the last as a whole."""
        made = made_of(leaf.value)
        in_patch = made is not None and made.fields[0][0] == self._trainjob.label
        path: Path = made.fields[0][1] if made is not None and in_patch else [*patches][-1]
        patch = patches.get(path[:3]) or patches[[*patches][-1]]
        name = patch.manager or f"{patch.path[1]}[{patch.path[2]}]"
        copied = by_copy(self._trainjob, replace(leaf, value=plain(leaf.value)), path)
        return Origin("patch", plain(name), copied.value, inputs=copied.inputs)

    def _by(self, applied: Applied, point: str, kind: str) -> Attribute:
        """What attributes leaves to a plugin: to what it made them of, else to the policy that makes it act."""
        acts = made_of(applied.policy)

        def attribute(leaf: Leaf) -> Origin:
            value, made = plain(leaf.value), made_of(leaf.value)
            fields, rule, deviation = inputs_of(made, self._documents)
            if applied is self._builder and (made is None or len(made.fields) == 1):
                if not (fields or rule or deviation):
                    rule = f"the same in every {kind}"
                elif not fields and rule.startswith("default of"):
                    return Origin("default", self._trainjob.label, value, rule=rule)
                elif fields:
                    of: Kind = "trainjob" if fields[0].object == self._trainjob.label else "runtime"
                    return Origin(of, fields[0].object, value, "", rule, deviation, fields)
            elif not (fields or rule):
                fields, rule, _ = inputs_of(acts, self._documents)
            return Origin("plugin", applied.plugin.name, value, _POINTS[point], rule, deviation, fields)

        return attribute

    def _by_shape(self, deviation: str, leaf: Leaf) -> Origin:
        fields, _, _ = inputs_of(made_of(leaf.value), self._documents)
        if not fields:
            return Origin("deviation", deviation, plain(leaf.value), deviation=deviation)
        return Origin("trainjob", self._trainjob.label, plain(leaf.value), deviation=deviation, inputs=fields)

    def _by_own_file(self, manifest: Manifest, leaf: Leaf) -> Origin:
        """The origin of a text in a ConfigMap that is the job's own: the one of the input. Its name is made of all of it."""
        same = (document for document in self._others if content(document.data) == content(manifest))
        document = next(same, None) if content(manifest) else None
        if document is not None and leaf.index[:1] != ("metadata",):
            return by_copy(document, leaf, leaf.index, "trainjob")
        rule = "the name of a ConfigMap of the job, with a hash of its content"
        return Origin("deviation", "own ConfigMaps", plain(leaf.value), rule=rule, deviation="own-config-maps")

    def _by_delivery(self, leaf: Leaf) -> Origin:
        tool = self._options.delivery
        return Origin("delivery", _TOOLS[tool], leaf.value, rule=f"--delivery {tool}")

    def _secrets(self) -> dict[Key, Manifest]:
        """The objects that provide Secrets, built of marked values."""
        secrets = registry.provided_secrets(self._job, self._info, self._plugins)
        others = Surroundings(
            Document.of(mark(document.raw, document.label, self._recorded.marks)) for document in self._others
        )
        image = derived_from(self._options.keygen_image, (), "--keygen-image")
        provision = provide(self._job, secrets, others, replace(self._options, keygen_image=image))
        return dict(with_keys(provision.manifests))

    def _by_secrets_mode(self) -> Attribute:
        flag = f"--secrets {self._options.secrets}"
        acts = next(made_of(applied.policy) for applied in self._plugins if applied.passes.secrets is not None)
        mounted, _, _ = inputs_of(acts, self._documents)

        def attribute(leaf: Leaf) -> Origin:
            fields, rule, _ = inputs_of(made_of(leaf.value), self._documents)
            rules = "; ".join(filter(None, (flag, rule)))
            return Origin("delivery", "Secrets", plain(leaf.value), rule=rules, inputs=fields or mounted)

        return attribute


def _by_label(leaf: Leaf) -> Origin:
    """The origin of an ancestor label that the runtime lacks but that follows from the names of its jobs."""
    rule = "inferred from the names of the job and its container"
    return Origin("deviation", "ancestor labels", leaf.value, rule=rule, deviation="ancestor-label-injection")


def _by_admission(who: str, deviation: str, leaf: Leaf) -> Origin:
    return Origin("admission", who, leaf.value, rule=f"default of JobSet {schema_path(leaf.path)}", deviation=deviation)


def _mirror(spec: Json, labels: Json, annotations: Json) -> Manifest:
    """A template in the shape of the JobSet that it becomes."""
    metadata = {field: values for field, values in (("labels", labels), ("annotations", annotations)) if values}
    return {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}


class Recorder(Trace):
    """Records a compilation; attribution happens afterwards. `result` is None unless the job was lowered."""

    def __init__(self) -> None:
        self.result: Result | None = None
        self.job: TrainJob | None = None
        self.stages: list[tuple[str, Sequence[Manifest]]] = []

    def on_lowered(self, result: Result) -> None:
        """Keep the documents and the lowered job."""
        assert result.lowered is not None
        self.result, self.job = result, result.lowered.job

    def on_renamed(self, job: TrainJob) -> None:
        """Keep the job with its new name."""
        self.job = job

    def on_shaped(self, stage: str, manifests: Sequence[Manifest]) -> None:
        """Keep the objects."""
        self.stages.append((stage, manifests))

    def explanation(self, is_named: Callable[[str], bool] | None = None) -> Explanation:
        """Explain the fields of the objects built for the job that it observed to completion.

        Of very many, those are certain to be there that `is_named` tells by the names of their steps.
        """
        result, trainjob = self.result, self.job
        assert result is not None
        assert trainjob is not None
        assert result.lowered is not None
        assert result.runtime is not None
        job, runtime, lowered = result.job, result.runtime, result.lowered
        session = lowered.session
        # Of nothing else is a value of a job's objects made.
        around = (session.index.around.of(kind, lowered.job.namespace) for kind in ("ConfigMap", "SealedSecret"))
        others = (_as_read(label_of(one.data), one) for by_name in around for one in by_name.values())
        documents = [_input_document(job), _input_document(runtime), *others]
        recorded = Recorded((job.data, runtime.data), is_named)
        info, marked_job, marked_runtime = _marked(result, job, runtime, trainjob, recorded)
        replay = Replay(Lowered.of(marked_job, info, session), documents, recorded)
        replay.frontend(marked_runtime.data)
        replay.built(replay.passes())
        for (_, before), (stage, manifests) in pairwise(self.stages):
            replay.shaped(stage, before, manifests)
        objects = tuple(replay.explained(self.stages[-1][1]))
        source = job.document.locate(())
        return Explanation(job.label, runtime.label, source, info.release.minor, info.semantics, objects)


class AsWritten(Recorder):
    """The record of a JobSet that is a source itself: each field is as its file has it."""

    def __init__(self, jobset: ValidDocument, manifest: Manifest, options: Options) -> None:
        super().__init__()
        self.result, self.stages, self._options = Result(jobset, jobset), [("reading", [manifest])], options

    def explanation(self, is_named: Callable[[str], bool] | None = None) -> Explanation:
        """Explain the fields by their lines."""
        assert self.result is not None
        jobset, options, ((_, (manifest,)),) = self.result.job, self._options, self.stages
        document = _input_document(jobset)
        recorded = Recorded((manifest,), is_named)
        fields = {
            path: ExplainedField(path, leaf.index, leaf.value, (by_document(document, leaf, leaf.index, "trainjob"),))
            for path, leaf in leaves(manifest, recorded.has).items()
        }
        objects = (_explained(manifest, fields, recorded),)
        release, source = options.release or NEWEST_RELEASE, jobset.document.locate(())
        return Explanation(jobset.label, "without a TrainJob", source, release, options.semantics, objects)


def _explained(manifest: Manifest, fields: Mapping[FieldPath, ExplainedField], recorded: Recorded) -> ExplainedObject:
    """An object with those of its fields that are recorded, in its own order."""
    ordered = with_ordered_keys(manifest, TOP)
    present = tuple(fields[path] for path in leaves(ordered, recorded.has) if path in fields)
    return ExplainedObject(ObjectName.of(manifest), present, leaf_count(ordered) - len(present), ordered)


def _marked(
    result: Result, job: ValidDocument, runtime: ValidDocument, named: TrainJob, recorded: Recorded
) -> tuple[Info, TrainJob, ValidDocument]:
    """Lower the job again, with marked documents; `named` has the name that it continues under."""
    session = result.lowered.session if result.lowered else None
    assert session is not None
    marked = lower_job(mark(job.data, job.label, recorded.marks))
    runtime = replace(runtime, data=mark(runtime.data, runtime.label, recorded.marks))
    if named.name_hash:
        rule = f"--name-hash adds {named.name_hash}"
        name = derived_from(named.name, (marked.name,), rule)
        marked = replace(marked, name=name, name_hash=named.name_hash, new_keys=named.new_keys)
    info, _ = prepare(marked, runtime, session.release, session.options)
    if job.dialect is not None and job.dialect.needs_initializers:
        marked, _ = without_unserved_initializers(marked, info)
    return info, marked, runtime


def _input_document(checked: ValidDocument) -> InputDocument:
    label, document = checked.label, checked.document
    before = None if document.before is None else _as_read(label, document.before)
    return InputDocument(
        label, document.file, document.data, checked.data, checked.original_path, document.locate, before
    )


def _as_read(label: str, document: Document) -> InputDocument:
    return InputDocument(label, document.file, document.data, document.data, lambda path: path, document.locate)
