"""Whether the inputs that an origin names are what the field depends on: change one, and the field must change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from explained import Explained
from perturb import Json, changed, others, renamed

from trainc import CompileError, Options, compile_trainjob
from trainc.explain.model import ExplainedField, Input
from trainc.kube.documents import FieldPath, format_field, is_item_name, leaves, path_exists, value_at
from trainc.kube.names import ANCESTOR_LABEL

Leaf = tuple[str, str, FieldPath]
GONE = object()
PATCHES = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")
SET_BY_PLUGINS = ("STORAGE_URI", "PET_", "OMPI_", "JAX_", "DMLC_")


def insensitive(subject: Explained, options: Options) -> list[str]:
    """Fields that stay as they are whatever valid value the input they are said to come from is given."""
    dependents: dict[Input, dict[Leaf, ExplainedField]] = defaultdict(dict)
    for described in subject.explanation.objects:
        for field in described.fields:
            # Under gitops an ancestor label that is dropped comes back.
            if field.path[-1] != ANCESTOR_LABEL and not _shares_its_name(field, subject):
                for given in field.origin.inputs:
                    dependents[_hashable(given)][described.name.kind, described.name.api_version, field.path] = field
    return [problem for given, fields in dependents.items() for problem in _unmoved(subject, given, fields, options)]


def _unmoved(subject: Explained, given: Input, fields: dict[Leaf, ExplainedField], options: Options) -> Iterator[str]:
    left = dict(fields)
    tried = False
    for other, job, runtime in _variants(subject, given):
        try:
            output = _values(job, runtime, options)
        except (CompileError, KeyError):
            continue
        # To have none of a resource is valid, and another question than to have more or less of it.
        tried = tried or other not in ("0", None)
        left = {leaf: field for leaf, field in left.items() if output.get(leaf, GONE) == field.value}
        if not left:
            return
    for field in left.values():
        if tried or not (_has_no_choice(given) or _shows(subject, given, field)):
            yield f"{format_field(field.path)} does not depend on {given.object} {format_field(given.path)}"


def _has_no_choice(given: Input) -> bool:
    """Whether a document may be such that the field has no other valid value.

    There is only one node without a launcher and for a recipe of one node, and no configuration for `tune run` without
    the policy that adds it.
    """
    nodes = (("spec", "mlPolicy", "numNodes"), ("spec", "trainer", "numNodes"))
    only = (("spec", "runtimeRef", "name"), ("spec", "mlPolicy", "torch"), *nodes)
    return given.index in only or given.index[-2] == "limits"


def _shows(subject: Explained, given: Input, field: ExplainedField) -> bool:
    """Whether a field that can only be dropped stands in the leaf, or what was there before it says the same."""
    shown = str(given.index and at_either(subject, given)) in str(field.value)
    return shown or any(earlier.value == field.value for earlier in field.origins[1:])


def at_either(subject: Explained, given: Input) -> Any:
    in_job = given.object.partition(" ")[0] == subject.job["kind"]
    return value_at(subject.job if in_job else subject.runtime, given.index)


def _hashable(given: Input) -> Input:
    return Input(given.object, given.path, given.index, None)


def _shares_its_name(field: ExplainedField, subject: Explained) -> bool:
    """An item's name that would be there all the same: it was before, or a patch addresses it and so brings it about."""
    if not is_item_name(field.path):
        return False
    patched = any(patch in subject.job["spec"] for patch in PATCHES)
    also_set = len(field.origins) > 1 or (field.path[-3] == "env" and str(field.value).startswith(SET_BY_PLUGINS))
    return also_set or patched


def _variants(subject: Explained, given: Input) -> Iterator[tuple[Any, Json, Json]]:
    job, runtime, index = subject.job, subject.runtime, given.index
    in_job = at_either(subject, given) is not None and given.object.partition(" ")[0] == job["kind"]
    document = job if in_job else runtime
    value = value_at(document, index)
    for other in others(index, value):
        for given_value, variant in _documents(document, index, other):
            if index == ("spec", "runtimeRef", "name") and other is not None:
                yield other, variant, changed(runtime, ("metadata", "name"), other)
            else:
                yield (given_value, variant, runtime) if in_job else (given_value, job, variant)
        if isinstance(value, str) and isinstance(other, str) and index[-1] in ("name", "namespace"):
            yield other, renamed(job, value, other), renamed(runtime, value, other)


def _documents(document: Json, index: tuple[str | int, ...], other: Any) -> Iterator[tuple[Any, Json]]:
    """The document with another value; where limits and requests must agree, with both, and where it counts GPUs, all."""
    yield other, changed(document, index, other)
    if index[-2:-1] and index[-2] in ("limits", "requests") and other is not None:
        twin = (*index[:-2], "limits" if index[-2] == "requests" else "requests", index[-1])
        if path_exists(document, twin[:-1]):
            yield other, changed(changed(document, index, other), twin, other)
        if "gpu" in str(index[-1]):
            yield "0", _without_gpus(document, index[:-2])
    if index[-2:-1] == ("args",):  # Of several arguments each may suffice.
        yield other, changed(document, index[:-1], [])


def _without_gpus(document: Json, block: tuple[str | int, ...]) -> Json:
    for kind in ("limits", "requests"):
        for name in value_at(document, (*block, kind)) or {}:
            if "gpu" in name:
                document = changed(document, (*block, kind, name), "0")
    return document


def _values(job: Json, runtime: Json, options: Options) -> dict[Leaf, Any]:
    manifests = compile_trainjob(job, [runtime], options).manifests
    return {
        (manifest["kind"], manifest["apiVersion"], path): leaf.value
        for manifest in manifests
        for path, leaf in leaves(manifest).items()
    }
