"""Replay a compilation step by step to record the histories of its objects.

The JobSet exists from the start, as the runtime's template; other objects appear when they are built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import Json, Manifest
from trainc.api.field_path import FieldPath, Leaf, Leaves, is_item_name, leaves, value_at_index
from trainc.emit.yaml_writer import TOP, ordered
from trainc.explain import probe
from trainc.explain.attribute import before_overlays, by_document, by_label, by_patch, by_plugin
from trainc.explain.history import Attribute, History, Key, keyed
from trainc.explain.model import ExplainedField, InputDocuments, Origin
from trainc.explain.sources import Sources
from trainc.explain.stages import MovedField, by_move, by_secrets_mode, by_stage, moved_fields, patch_leaves, sealed_of
from trainc.ir.info import Info
from trainc.ir.trainjob import Patch, TrainJob
from trainc.options import Options
from trainc.pipeline.lowering import lower
from trainc.pipeline.patches import apply_patches
from trainc.pipeline.roles import Role, Template
from trainc.plugins import engine
from trainc.plugins.plugin import ExtensionPoint, Plugin
from trainc.plugins.registry import Applied, plugins_for
from trainc.plugins.rows import Situation
from trainc.startup.records import replace

_JOBSET = "JobSet"
_TEMPLATE = ("spec", "template")


class Replay:
    """Call `frontend`, then `passed` for each pass, `built`, and `shaped` for each later stage."""

    def __init__(self, job: TrainJob, info: Info, documents: InputDocuments, options: Options) -> None:
        self._job, self._info, self._options, self._others = job, info, options, documents.others
        self._trainjob, self._runtime = documents.trainjob, documents.runtime
        self._jobset = History()
        self._histories: dict[Key, History] = {}
        self._moves: Mapping[FieldPath, MovedField] = {}
        self._jobset_plugin = next(a for a in plugins_for(job, info) if a.plugin.name == _JOBSET)

    def frontend(self) -> None:
        """Record the template, its defaults, each patch, inferred labels, and what lowering and building write."""
        template = self._runtime.data["spec"].get("template") or {}
        labels, annotations = (dict((template.get("metadata") or {}).get(f, {})) for f in ("labels", "annotations"))
        spec = template.get("spec") or {}
        self._template(leaves(_mirror(spec, labels, annotations)))
        labels, annotations = {**labels, **self._job.spec_labels}, {**annotations, **self._job.spec_annotations}
        written = [
            ("metadata", field, key)
            for field, values in (("labels", self._job.spec_labels), ("annotations", self._job.spec_annotations))
            for key in values
        ]
        self._step(_mirror(spec, labels, annotations), self._in_trainjob_spec, written)
        for count, patch in enumerate(self._job.patches, start=1):
            patched = apply_patches(spec, self._job.patches[:count], self._info.release)
            labels, annotations = {**labels, **patch.labels}, {**annotations, **patch.annotations}
            self._patch(patch, _mirror(patched, labels, annotations))
        self._step(_mirror(self._info.template, labels, annotations), by_label)
        self._lowered()

    def _template(self, found: Leaves) -> None:
        """Record the runtime's template: first the values that overlays replaced, then the result."""
        earlier: dict[FieldPath, Origin] = {}
        if self._runtime.before is not None:
            for path, leaf in found.items():
                origin = before_overlays(self._runtime, leaf, (*_TEMPLATE, *leaf.index))
                if origin is not None:
                    earlier[path] = origin
            self._jobset.step({path: found[path] for path in earlier}, lambda leaf: earlier[leaf.path])
        self._jobset.step(found, self._in_runtime, earlier)

    def passed(self, applied: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
        """Record a pass, rerunning it on probes to find the leaves it rewrote with the same value."""
        run = getattr(applied.passes, point)
        jobset = self._project(after)
        overwritten = probe.find_overwritten(
            probe.candidates(self._jobset.leaves, leaves(jobset)),
            lambda leaf, value: self._project(probe.with_value(before, leaf, value)),
            lambda leaf, value: self._project(run(self._job, applied.policy, probe.with_value(before, leaf, value))),
        )
        self._step(jobset, self._by(applied.plugin, point, after), overwritten, whole_items=True)

    def built(self, info: Info) -> None:
        """Record the objects other than the JobSet."""
        for applied in plugins_for(self._job, info):
            for manifest in engine.build(self._job, info, (applied,)):
                key = (manifest["apiVersion"], manifest["kind"], 0)
                while key in self._histories:
                    key = (*key[:2], key[2] + 1)
                if applied.plugin.name == _JOBSET:
                    self._histories[key] = self._jobset
                else:
                    self._histories[key] = History()
                    self._histories[key].step(
                        leaves(manifest), self._by(applied.plugin, "build", info, manifest["metadata"]["name"])
                    )

        if info.gitops:
            self._moves = moved_fields(self._job, info)
            self._jobset.step(self._jobset.leaves, self._by_stage("shaping", self._moves), self._unmoved())

    def shaped(self, stage: str, manifests: Sequence[Manifest]) -> None:
        """Record what a stage after building added or changed."""
        for key, manifest in keyed(manifests):
            history = self._histories.setdefault(key, History())
            moves = self._moves if history is self._jobset else {}
            secrets = stage == "secrets"
            attribute = self._by_secrets_mode(manifest) if secrets else self._by_stage(stage, moves)
            history.step(leaves(manifest), attribute)

    def explained(self, manifests: Sequence[Manifest]) -> Iterator[tuple[Manifest, tuple[ExplainedField, ...]]]:
        """Each object of the output with its explained fields."""
        for key, manifest in keyed(manifests):
            order = leaves(ordered(manifest, TOP))
            fields = {explained.path: explained for explained in self._histories[key].fields()}
            yield manifest, tuple(fields[path] for path in order)

    def _by_stage(self, stage: str, moves: Mapping[FieldPath, MovedField]) -> Attribute:
        def attribute(leaf: Leaf) -> Origin:
            if leaf.path in moves:
                return by_move(self._trainjob, moves[leaf.path], leaf)
            return by_stage(stage, self._options, leaf)

        return attribute

    def _by_secrets_mode(self, manifest: Manifest) -> Attribute:
        situation, sources, sealed = self._situation(self._info), self._sources, sealed_of(self._others, manifest)
        return lambda leaf: by_secrets_mode(situation, sources, self._options, sealed, leaf)

    def _unmoved(self) -> Iterator[FieldPath]:
        """Fields of the TrainJob whose value is already in the place they move to."""
        for path, move in self._moves.items():
            if path in self._jobset.leaves and self._jobset.leaves[path].value == value_at_index(
                self._trainjob.data, move.path
            ):
                yield path

    def _lowered(self) -> None:
        def lowered_with(leaf: Leaf, value: Any) -> Manifest:
            template = Template(probe.replace_value(self._info.template, leaf.index[1:], value), roles)
            info = lower(self._job, self._runtime.data, template, self._info.release, self._options)
            return self._project(info)

        roles = {pod_set.name: Role(pod_set.role, pod_set.main) for pod_set in self._info.pod_sets}
        jobset = self._project(self._info)
        overwritten = probe.find_overwritten(
            probe.candidates(self._jobset.leaves, leaves(jobset)),
            lambda leaf, value: probe.replace_value({"spec": self._info.template}, leaf.index, value),
            lowered_with,
        )
        self._step(jobset, self._by(self._jobset_plugin.plugin, "build", self._info), overwritten, whole_items=True)

    def _patch(self, patch: Patch, jobset: Manifest) -> None:
        written = patch_leaves(patch)
        found = leaves(jobset)
        # The name of an existing item only addresses that item; it sets nothing.
        kept = [path for path in written if path in found and not is_item_name(path)]
        self._step(jobset, lambda leaf: by_patch(self._trainjob, patch, written, leaf), kept)

    def _in_runtime(self, leaf: Leaf) -> Origin:
        return by_document(self._runtime, leaf, (*_TEMPLATE, *leaf.index))

    def _in_trainjob_spec(self, leaf: Leaf) -> Origin:
        return by_document(self._trainjob, leaf, ("spec", *leaf.index[1:]), "trainjob")

    def _by(self, plugin: Plugin, point: str, info: Info, name: str = "") -> Attribute:
        situation, sources = replace(self._situation(info), object=name), self._sources
        return lambda leaf: by_plugin(plugin, point, situation, sources, leaf)

    def _situation(self, info: Info) -> Situation:
        return Situation(self._job, info, self._sources.is_set)

    @property
    def _sources(self) -> Sources:
        return Sources(self._trainjob, self._runtime, self._jobset.origin, self._jobset.template_origin)

    def _project(self, info: Info) -> Manifest:
        (jobset,) = engine.build(self._job, info, (self._jobset_plugin,))
        return jobset

    def _step(
        self,
        jobset: Manifest,
        attribute: Attribute,
        overwritten: Iterable[FieldPath] = (),
        *,
        whole_items: bool = False,
    ) -> None:
        self._jobset.step(leaves(jobset), attribute, overwritten, whole_items=whole_items)


def _mirror(spec: Json, labels: Json, annotations: Json) -> Manifest:
    """A template in the shape of the JobSet that it becomes."""
    metadata = {field: values for field, values in (("labels", labels), ("annotations", annotations)) if values}
    return {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}
