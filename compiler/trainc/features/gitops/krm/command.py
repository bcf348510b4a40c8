"""What `trainc krm` does."""

from __future__ import annotations

import os
from collections.abc import Sequence

from trainc.api.arguments import Arguments, Status, Streams
from trainc.api.command import Files, report
from trainc.api.documents import Document, files, opening, yaml_reader
from trainc.api.findings import CompileError, Diagnostic, has_errors
from trainc.api.kube import Manifest
from trainc.api.output import dump_yaml
from trainc.api.settings import Limits
from trainc.features.gitops.krm.kustomization import kustomize_config, used_as_validator
from trainc.features.gitops.krm.transform import Transformed, read_resource_list, results_of, transform


def run(arguments: Arguments, streams: Streams) -> Status:
    """Respond in the protocol of the request."""
    if arguments.print:
        streams.out.write(kustomize_config().encode())
        return Status.DONE
    text = opening.read_bounded(streams.stdin, Limits().file_bytes)
    answer = _function if arguments.configuration is None else _plugin
    try:
        return answer(text, arguments, streams)
    except CompileError as error:
        return report(error.diagnostics, arguments, streams, Files(text))


def _function(text: bytes, arguments: Arguments, streams: Streams) -> Status:
    request = read_resource_list(text)
    done = _transform(request.items, request.configuration, arguments)
    results = results_of(done.diagnostics, [*request.items, *done.items])
    answer = {**request.head, "items": done.items, **({"results": results} if results else {})}
    streams.write(dump_yaml([answer]))
    return report(done.diagnostics, arguments, streams, Files(text))


def _plugin(text: bytes, arguments: Arguments, streams: Streams) -> Status:
    configuration = _configuration(arguments.configuration)
    documents, problems = yaml_reader.read_documents(text, files.STDIN, Limits())
    if has_errors(problems):
        raise CompileError(problems)
    done = _transform([document.data for document in documents], configuration, arguments)
    status = report([*problems, *done.diagnostics], arguments, streams, Files(text))
    if status is Status.DONE:
        streams.write(dump_yaml(done.items))
    return status


def _transform(items: Sequence[Manifest], configuration: Document | None, arguments: Arguments) -> Transformed:
    if refused := used_as_validator(os.curdir, configuration):
        return Transformed(list(items), refused)
    return transform(items, configuration, os.curdir, allow_empty=arguments.allow_empty)


def _configuration(path: str) -> Document:
    try:
        documents, problems = yaml_reader.read_documents(opening.read_file(path, Limits().file_bytes), path, Limits())
    except OSError as error:
        message = f"{path} cannot be read: {opening.error_reason(error)}"
        raise CompileError([Diagnostic("UnreadableFile", "error", message, "name an overlay file")]) from None
    if not problems and len(documents) != 1:
        message = f"{path} has {len(documents)} documents; an overlay file has exactly one"
        problems = [Diagnostic("InvalidOverlay", "error", message, "put each overlay in a file of its own")]
    if problems:
        raise CompileError(problems)
    return documents[0]
