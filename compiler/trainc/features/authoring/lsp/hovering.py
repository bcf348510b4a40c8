"""What an editor shows of the field under the cursor: what it means, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api.documents import Document
from trainc.api.editing import edits
from trainc.api.explained import Explanation, Recorder, describe_origin, shorten_value
from trainc.api.findings import Diagnostic, Path, Source, find_underline, markdown
from trainc.api.kube import POD_SPEC, documents, mapping, names, objects, value_at
from trainc.api.records import dataclass
from trainc.features.authoring.lsp.completing import meaning_of, suggested_values
from trainc.features.authoring.lsp.names import kind_of, root_of, runtime_of, schema_at
from trainc.features.authoring.lsp.snapshot import Built, Snapshot

_MOST_SHOWN = 8


def hover(snapshot: Snapshot, position: edits.Position) -> tuple[edits.Range, str] | None:
    """Markdown about the field at a place, and the range of that; None where there is none."""
    target = field_at(snapshot, position)
    if target is None:
        return None
    field = target.field
    parts = [*_meaning(snapshot, target), *_fate(snapshot, target)]
    return (field.key if field.key.holds(position) else field.value, "\n\n".join(parts)) if parts else None


@dataclass(frozen=True, slots=True)
class Target:
    """A field of the file, and what it is in."""

    document: Document
    tree: edits.Tree
    field: edits.Field

    def wrote(self, source: Source | None, index: Path) -> bool:
        """Return whether an input of an explanation, with its place, is the field or one below it."""
        path, document_range = self.field.path, self.tree.extent
        here = source is not None and source.file == self.document.file
        inside = here and source is not None and document_range.start.line <= source.line - 1 <= document_range.end.line
        return inside and index[: len(path)] == path


def field_at(snapshot: Snapshot, position: edits.Position) -> Target | None:
    """The field at a place of the file; None where no document that could be read has one."""
    for tree in edits.trees(snapshot.text):
        if tree.extent.holds(position) and (field := tree.at(position)) is not None:
            line = next(tree.fields()).key.start.line
            for document in snapshot.documents:
                source = document.locate(())
                if source is not None and source.line - 1 == line:
                    return Target(document, tree, field)
    return None


def _meaning(snapshot: Snapshot, target: Target) -> Iterator[str]:
    """The field, its type and default, and a line about it, as far as the schema says."""
    document, field = target.document, target.field
    root = root_of(snapshot, document.data)
    schema = schema_at(root, field.path) if root is not None else None
    name = documents.format_field(documents.stable_path(field.path, document.data))
    if schema is None or root is None:
        yield markdown.code(name)
        return
    yield from _name_meaning(snapshot, target)
    details = [kind_of(schema)]
    details += [f"default {markdown.code(str(schema['default']))}"] if "default" in schema else []
    above = schema_at(root, field.path[:-1])
    details += ["required"] if above is not None and field.path[-1] in above.get("required", ()) else []
    yield f"{markdown.code(name)} ({', '.join(filter(None, details))})".removesuffix(" ()")
    if description := schema.get("description"):
        yield str(description)


def _name_meaning(snapshot: Snapshot, target: Target) -> Iterator[str]:
    """What has the name under the cursor: an environment variable that a known program reads, or a runtime."""
    data, path = target.document.data, target.field.path
    if path[-3:-2] == ("env",) and path[-1] in ("name", "value"):
        name = str(value_at(data, (*path[:-1], "name")))
        if meaning := meaning_of(name):
            yield f"{markdown.code(name)}: {meaning}"
            if values := suggested_values(name):
                yield f"Values: {', '.join(map(markdown.code, values))}"
    elif path[-2:] == ("runtimeRef", "name") and (runtime := runtime_of(snapshot, data)) is not None:
        yield "; ".join(_parts_of(runtime))


def _parts_of(runtime: Document) -> Iterator[str]:
    source, spec = runtime.locate(()), mapping(runtime.data.get("spec"))
    yield f"{markdown.words(str(runtime.data.get('kind')))} of {markdown.code(source.file if source is not None else '')}"
    policy = mapping(spec.get("mlPolicy"))
    yield from (markdown.code(str(name)) for name in policy if name != "numNodes")
    yield f"numNodes {markdown.words(str(policy.get('numNodes', 1)))}"
    for job in objects(value_at(spec, ("template", "spec", "replicatedJobs"))):
        pod = value_at(job, POD_SPEC)
        images = [str(container.get("image")) for container in objects(mapping(pod).get("containers"))]
        yield f"job {markdown.code(str(job.get('name')))} with {markdown.code(', '.join(images))}"


def _fate(snapshot: Snapshot, target: Target) -> Iterator[str]:
    """What the output has of a field: in the first environment whose jobs compile, and in others where it differs."""
    by_text: dict[str, list[str]] = {}
    for built in snapshot.built:
        text = _fate_in(built, target)
        if text:
            by_text.setdefault(text, []).append(built.environment)
    for text, environments in by_text.items():
        yield text if len(by_text) == 1 else f"**{markdown.words(', '.join(environments))}**\n\n{text}"


def _fate_in(built: Built, target: Target) -> str:
    explained = _explained(built, target.document)
    if explained is None:
        return ""
    lines = list(_field_lines(explained, target))
    if not lines:
        path = target.field.path
        says = target.field.kind == "scalar" and path[:1] == ("spec",) and path[:2] != ("spec", "runtimeRef")
        return "Nothing in the output comes from this field." if says else ""
    more = f"\n\n... and {len(lines) - _MOST_SHOWN} more" if len(lines) > _MOST_SHOWN else ""
    by = f" in {markdown.words(explained.job)}" if target.document.data.get("kind") not in names.JOB_KINDS else ""
    return f"Becomes{by}:\n\n" + "\n".join(f"- {row}" for row in lines[:_MOST_SHOWN]) + more


def _explained(built: Built, document: Document) -> Explanation | None:
    """The explanation of the job that a document is, or of one that uses the runtime that it is."""
    session = built.session
    for job in session.jobs:
        is_own = job.document.file == document.file and job.document.locate(()) == document.locate(())
        if not is_own and document.data.get("kind") in names.JOB_KINDS:
            continue
        recorder = Recorder()
        session.compile(job, recorder)
        runtime = recorder.result.runtime if recorder.result is not None else None
        uses = runtime is not None and runtime.document.locate(()) == document.locate(())
        if recorder.stages and (is_own or uses):
            return recorder.explanation()
    return None


def _field_lines(explained: Explanation, target: Target) -> Iterator[str]:
    for item in explained.objects:
        before = explained.prefix(item)
        for field in item.fields:
            depth = next(
                (
                    i
                    for i, origin in enumerate(field.origins)
                    if any(target.wrote(i.source, i.index) for i in origin.inputs)
                ),
                None,
            )
            if depth is None:
                continue
            path, origin = field.path, field.origin
            name = (
                documents.format_field(path)
                if len(path) <= 6
                else f"{documents.format_field(path[:3])}...{documents.format_field(path[7:])}"
            )
            text = f"{markdown.code(before + name)} = {markdown.code(shorten_value(field.value))}"
            if depth:
                yield f"{text}: overridden by {markdown.words(describe_origin(origin))}"
            else:
                is_written = origin.kind in ("trainjob", "runtime", "patch", "overlay")
                yield text if is_written else f"{text}, by {markdown.words(describe_origin(origin))}"


# Diagnostics where an editor marks them: the words that `trainc check` underlines.


def marks_of(snapshot: Snapshot) -> list[tuple[Diagnostic, edits.Range]]:
    """The diagnostics of the file, each with the words that it means."""
    lines = snapshot.lines
    return [(d, range_of_words(lines, d.source, d.message)) for d in snapshot.diagnostics if d.source is not None]


def range_of_words(lines: Sequence[str], source: Source, message: str) -> edits.Range:
    """The range of the words that a message is about: at least one character, if the line has any."""

    def line_of(number: int) -> str | None:
        return lines[number - 1] if 0 < number <= len(lines) else None

    number, start, end = find_underline(line_of, source, message)
    length = len(line_of(number) or "")
    start = min(start, length)
    line = min(number, len(lines)) - 1
    return edits.Range(edits.Position(line, start), edits.Position(line, min(max(end, start + 1), length)))


def full_message(diagnostic: Diagnostic) -> str:
    """What an editor shows: the message, where it is not about all environments, and the help."""
    where = f" (in {', '.join(diagnostic.environments)})" if diagnostic.environments else ""
    path = f"{diagnostic.path}: " if diagnostic.path else ""
    return f"{path}{diagnostic.message}{where}" + (f"\nhelp: {diagnostic.hint}" if diagnostic.hint else "")
