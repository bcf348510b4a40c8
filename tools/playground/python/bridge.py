"""What the page asks of trainc, in the browser: commands as the command line runs them, and where each line comes from.

The input is one file, and perhaps a folder of runtimes. A command's answer is what it prints, so that the page shows
what a terminal would. `origins` and `meanings` lay what `trainc explain` and `trainc schema` say over the lines of the
text.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from trainc import CompileError, Limits, Options
from trainc.cli.command import Streams
from trainc.cli.main import main
from trainc.explain.model import ExplainedField, ExplainedObject
from trainc.explain.select_job import OneJob, compile_every
from trainc.explain.text import describe_origin, format_value
from trainc.features.authoring.graph.drawing import graph_svg
from trainc.features.authoring.graph.model import Graph, read_graph
from trainc.findings import Path, format_path
from trainc.kube.documents import format_field
from trainc.pipeline.inputs import read_inputs
from trainc.plugins.registry import enabled
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_documents
from trainc.schema.editor_schema import json_schema

FILE = "train.yaml"
RUNTIMES = "runtimes"
# Explaining a job takes a tenth of a second in a browser; a page of pictures has an end, too.
MOST_JOBS = 12
_KINDS = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")


def answer(question: str) -> str:
    """The answer to `{"call": name, "text": the file, "runtimes": texts by name, ...}`, both as JSON."""
    asked = json.loads(question)
    _write(FILE, asked.pop("text"))
    shutil.rmtree(RUNTIMES, ignore_errors=True)
    for name, text in asked.pop("runtimes", {}).items():
        os.makedirs(RUNTIMES, exist_ok=True)
        _write(os.path.join(RUNTIMES, os.path.basename(name)), text)
    return json.dumps(_CALLS[asked.pop("call")](**asked))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def _runtimes() -> list[str]:
    return [RUNTIMES] if os.path.isdir(RUNTIMES) else []


def run(words: Sequence[str]) -> dict[str, Any]:
    """What `trainc` with these words, and the runtimes, leaves behind: its status and its two streams."""
    out, err = io.BytesIO(), io.StringIO()
    more = ["--runtimes", RUNTIMES] if _runtimes() and words[0] != "rule" else []
    words = [*words, *more]
    status = main(words, Streams(io.BytesIO(), out, err))
    return {"words": words, "status": int(status), "out": out.getvalue().decode(), "err": err.getvalue()}


def compiled(release: str) -> dict[str, Any]:
    """The manifests, and what there is to say of the input."""
    out = run(["check", FILE, "--release", release, "--format", "json", "--allow-empty"])["out"]
    found = json.loads(out)["diagnostics"] if out else []
    return {"build": run(["build", FILE, "--release", release]), "diagnostics": found}


def pictures(release: str, width: int) -> list[dict[str, Any]]:
    """A drawing of each job as SVG, of the first ones where there are many; its steps below each other if it is wider than `width`."""
    graphs = [read_graph(job.compiled.manifests, enabled(())) for job in _jobs(release)[:MOST_JOBS]]
    return [{"name": graph.name, "svg": _drawn(graph, width)} for graph in graphs]


def _drawn(graph: Graph, width: int) -> str:
    drawn = graph_svg(graph)
    own = re.search(r'width="([0-9]+)"', drawn)
    return drawn if own and int(own[1]) <= width else graph_svg(graph, stacked=True)


def origins(release: str) -> list[dict[str, Any]]:
    """Each field of the output: the line of the manifests that it stands on, and who set it, the last one first."""
    options = Options(release=release)
    jobs = _jobs(release)
    manifests = run(["build", FILE, "--release", release])["out"].encode()
    written = iter(read_documents(manifests, "", Limits())[0])
    return [
        {"object": f"{found.name.kind} {found.name.name}", **_field(field, document)}
        for job in jobs[:MOST_JOBS]
        for found, document in zip(_objects(job, options), written, strict=False)
        for field in found.fields
    ]


def meanings(release: str) -> list[dict[str, Any]]:
    """What the schema says of each field of the input, by the place of its key."""
    with open(FILE, "rb") as file:
        documents, _ = read_documents(file.read(), FILE, Limits())
    return [entry for document in documents for entry in _meanings_in(document, release)]


def _jobs(release: str) -> list[OneJob]:
    options = Options(release=release)
    try:
        return compile_every(read_inputs([FILE], _runtimes(), options), options)[0]
    except CompileError:
        return []  # `compiled` has said why.


def _objects(job: OneJob, options: Options) -> tuple[ExplainedObject, ...]:
    return job.recorder.explanation().objects


def _field(field: ExplainedField, document: Document) -> dict[str, Any]:
    source = document.locate(field.index)
    set_by = [
        {
            "phrase": describe_origin(origin),
            "kind": origin.kind,
            "value": format_value(origin.value),
            "lines": [given.source.line for given in origin.inputs if given.source and given.source.file == FILE],
        }
        for origin in field.origins
    ]
    return {"path": format_field(field.path), "line": source.line if source else 0, "origins": set_by}


def _meanings_in(document: Document, release: str) -> Iterator[dict[str, Any]]:
    kind = document.data.get("kind")
    if kind not in _KINDS:
        return
    schema = json_schema(kind, release)
    for path, meant in _described(document.data, schema, schema["$defs"], ()):
        source = document.locate(path)
        if source is not None:
            yield {"line": source.line, "column": source.column, "path": format_path(path), "text": meant}


def _described(
    value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any], path: Path
) -> Iterator[tuple[Path, str]]:
    """The fields of `value` of which the schema says what they mean."""
    if "description" in schema:
        yield path, schema["description"]
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for key, inner in value.items():
            yield from _described(inner, known.get(key, {}), definitions, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _described(inner, schema.get("items", {}), definitions, (*path, index))


_CALLS: dict[str, Callable[..., Any]] = {
    "run": run,
    "compiled": compiled,
    "pictures": pictures,
    "origins": origins,
    "meanings": meanings,
}
