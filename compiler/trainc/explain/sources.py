"""Resolve the references in a plugin's rows to document fields, or to the origins of JobSet fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trainc.api.field_path import FieldPath, Item, path_exists, value_at_index, with_item_names
from trainc.diagnostics import Path
from trainc.explain.model import Input, InputDocument, Origin
from trainc.plugins.rows import FixedRule, JobSetField, Ref, TemplateField, TrainJobField
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Sources:
    """The documents behind one job, and the origins of JobSet fields: latest, and before the TrainJob's settings."""

    trainjob: InputDocument
    runtime: InputDocument
    origin_of: Callable[[FieldPath], Origin | None]
    template_origin_of: Callable[[FieldPath], Origin | None]

    def inputs(self, refs: Iterable[Ref]) -> tuple[Input, ...]:
        """The references as inputs, without duplicates."""
        found: dict[tuple[str, Path, str], Input] = {}
        for ref in refs:
            for given in self._resolved(ref):
                found.setdefault((given.object, given.index, given.rule), given)
        return tuple(found.values())

    def is_set(self, path: FieldPath) -> bool:
        """Whether the JobSet has a field at this point."""
        return self.origin_of(path) is not None

    def _resolved(self, ref: Ref) -> tuple[Input, ...]:
        if isinstance(ref, FixedRule):
            return (Input("", (), (), None, rule=ref.rule),)
        if isinstance(ref, JobSetField | TemplateField):
            origin = self.origin_of(ref.path) if isinstance(ref, JobSetField) else self.template_origin_of(ref.path)
            if origin is None or origin.inputs:
                return origin.inputs if origin else ()
            return (Input("JobSet", ref.path, (), origin.value, rule=origin.rule),)
        document = self.trainjob if isinstance(ref, TrainJobField) else self.runtime
        return (input_of(document, ref.path),)


def input_of(document: InputDocument, index: Path) -> Input:
    """A field of a document as an input; the rule of its default if the document as read lacks the field."""
    written = document.written(index)
    if path_exists(document.raw, written):
        path, value = with_item_names(document.raw, written), value_at_index(document.raw, written)
        return Input(document.label, path, written, value, document.locate(written))
    if index == ("metadata", "namespace"):
        return Input(
            "", (), (), value_at_index(document.data, index), rule="--namespace, for a TrainJob that sets none"
        )
    return Input("", (), (), value_at_index(document.data, index), rule=default_rule(document, index))


def default_rule(document: InputDocument, index: Path) -> str:
    """The name of an API default: the kind and the field, with list indexes removed."""
    return f"default of {document.label.partition(' ')[0]} {schema_path(index)}"


def schema_path(path: FieldPath) -> str:
    """A path with every list item written as `[]`."""
    return "".join("[]" if isinstance(s, int | Item) else f".{s}" for s in path).removeprefix(".")
