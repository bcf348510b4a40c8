"""What `trainc graph` does."""

from __future__ import annotations

import json

from trainc.api.arguments import Arguments, Status, Streams
from trainc.api.command import Paint, Part, compiled_job
from trainc.api.findings import escape_report
from trainc.api.jobs import OneJob, Ranks
from trainc.api.plugins import enabled
from trainc.features.authoring.graph.formats import Role, graph_dot, graph_json, graph_mermaid, graph_text
from trainc.features.authoring.graph.model import Graph, read_graph

_LOOKS: dict[Role, Part] = {
    "heading": "heading", "step": "heading", "size": "value", "faint": "faint", "address": "runtime", "gang": "deviation",
}  # fmt: skip


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the picture."""
    if arguments.ranks and arguments.format not in ("text", "json"):
        streams.err.write(f"trainc graph: --ranks works with --format text and json, not {arguments.format}\n")
        return Status.USAGE
    result = compiled_job(arguments, streams, in_git=True)
    if result is None:
        return Status.DIAGNOSED
    job, settings = result
    graph = read_graph(job.compiled.manifests, enabled(settings.options.plugins))
    try:
        drawn = job.found_by if arguments.format == "text" else ""
        drawn += _format(graph, job, arguments, streams)
    except ModuleNotFoundError as missing:
        if missing.name != "svg":
            raise
        streams.err.write("trainc graph: svg needs the extra `graph`; run: pip install 'svg.py>=1.5'\n")
        return Status.USAGE
    streams.write(drawn)
    return Status.DONE


def _format(graph: Graph, job: OneJob, arguments: Arguments, streams: Streams) -> str:
    manifests = job.compiled.manifests
    match arguments.format:
        case "mermaid":
            return graph_mermaid(graph)
        case "dot":
            return graph_dot(graph)
        case "svg":
            from trainc.features.authoring.graph.drawing import graph_svg

            return graph_svg(graph)
        case "json":
            document = {**graph_json(graph), **({"pod": job.pod} if job.pod else {})}
            if arguments.ranks:
                from trainc.features.authoring.graph.model import ranks_json

                document["ranks"] = ranks_json(Ranks.read(manifests))
            return escape_report(json.dumps(document, indent=2, ensure_ascii=False) + "\n", json=True)
        case _:
            paint = Paint(arguments.color, streams.out)
            text = graph_text(graph, lambda text, role: paint(_LOOKS[role], text))
            drawn = escape_report(text, colored=paint.is_on)
            if not arguments.ranks:
                return drawn
            from trainc.features.authoring.graph.model import ranks_text

            return f"{drawn}\n{ranks_text(Ranks.read(manifests))}"
