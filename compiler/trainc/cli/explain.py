"""What `trainc explain` does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trainc.cli.command import Arguments, Status, Streams
from trainc.cli.one_job import compiled_job
from trainc.cli.reporting import Paint, Part, report
from trainc.explain.expressions import NoMatch, QueryError, choose, names_of
from trainc.explain.kept import changes, changes_json, changes_text
from trainc.explain.model import Explanation
from trainc.explain.text import Role, explanation_text
from trainc.findings.text import escape_report, first_of
from trainc.output.ownership import file_name

_LOOKS: dict[Role, Part] = {
    "heading": "heading",
    "value": "value",
    "faint": "faint",
    "default": "faint",
    "plugin": "plugin",
    "trainjob": "trainjob",
    "runtime": "runtime",
    "deviation": "deviation",
}
_MOST_MADE = 4


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the selected fields."""
    result = compiled_job(arguments, streams, in_git=True)
    if result is None:
        return Status.DIAGNOSED
    job, settings = result
    if not job.compiles:
        report(job.diagnostics, arguments, streams)
        return Status.DIAGNOSED
    explained = job.recorder.explanation(names_of(arguments.field))
    changed = list(changes(explained, job.compiled.manifests)) if job.is_kept else []
    file = f"{settings.output}/{file_name(job.compiled.namespace, job.compiled.name)}"
    try:
        chosen = choose(explained, arguments.field)
    except QueryError as error:
        streams.err.write(f"trainc explain: {error}\n")
        return Status.USAGE
    if isinstance(chosen, NoMatch):
        streams.err.write(f"trainc explain: no such field: {arguments.field}; {_hint(chosen)}\n")
        return Status.DIAGNOSED
    text = job.found_by if arguments.format == "text" else ""
    more = {"pod": job.pod} if job.pod else {}
    if changed:
        more["kept"] = changes_json(file, changed)
    text += _format(chosen, arguments, streams, more, changes_text(file, changed) if changed else "")
    streams.write(text)
    return Status.DONE


def _hint(nothing: NoMatch) -> str:
    if nothing.derived:
        return f"FIELD is a field of the output; this input sets {first_of(nothing.derived, _MOST_MADE)}"
    return f"did you mean {' or '.join(nothing.near)}?" if nothing.near else "omit FIELD to see all fields"


def _format(chosen: Explanation, arguments: Arguments, streams: Streams, more: Mapping[str, Any], before: str) -> str:
    """The explanation; in JSON with `more` fields, as text with what comes `before` it."""
    if arguments.format == "json":
        from trainc.explain.text import explanation_json

        text = json.dumps({**explanation_json(chosen), **more}, indent=2, ensure_ascii=False)
        return escape_report(text + "\n", json=True)
    paint = Paint(arguments.color, streams.out)

    def look(text: str, role: Role) -> str:
        return paint(_LOOKS[role], text) if role in _LOOKS else text

    return escape_report(before + explanation_text(chosen, look), colored=paint.is_on)
