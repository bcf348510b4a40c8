"""What `trainc runtimes` does."""

from __future__ import annotations

from typing import BinaryIO, TypeAlias

from trainc.cli.command import Arguments, Status, Streams
from trainc.cli.reporting import report
from trainc.cli.settings import Settings
from trainc.emit.yaml_writer import dump_yaml
from trainc.findings import CompileError
from trainc.findings.text import aligned, counted, escape_line, first_of
from trainc.kube.documents import POD_SPEC, identity_of, mapping, objects, qualified, value_at
from trainc.kube.names import JOB_KINDS, RUNTIME_KINDS
from trainc.kube.releases import NEWEST_RELEASE
from trainc.project.dialects import is_trainer_document
from trainc.project.settings_file import read_configuration
from trainc.reading import catalog
from trainc.reading.document import Document

_FRAMEWORK = "trainer.kubeflow.org/framework"


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the list, or the text of one runtime, of the repository or as in the catalog."""
    try:
        runtimes = repository_runtimes(streams.stdin, arguments.release, arguments.config)
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    if arguments.action == "list":
        text = f"{_repository_table(runtimes)}\n" if runtimes else ""
        streams.write(text + _table(arguments.release))
        return Status.DONE
    if matches := [(document, users) for document, users in runtimes if _identity(document)[1] == arguments.runtime]:
        streams.write("---\n".join(_runtime_text(document, users) for document, users in matches))
        return Status.DONE
    release = arguments.release or NEWEST_RELEASE
    runtime = catalog.find(arguments.runtime, release)
    if not isinstance(runtime, Document):
        miss = runtime()
        why = miss.instead or miss.hint or "`trainc runtimes list` lists them"
        streams.err.write(f"trainc runtimes: no runtime {arguments.runtime!r} for Trainer {release}; {why}\n")
        return Status.DIAGNOSED
    streams.write(catalog.text_of(runtime.file))
    return Status.DONE


# A runtime of the repository, and the jobs that use it.
_UsedRuntime: TypeAlias = "tuple[Document, list[str]]"


def repository_runtimes(stdin: BinaryIO, release: str | None = None, config: str | None = None) -> list[_UsedRuntime]:
    """The runtimes that `config` or the nearest trainc.yaml names, in all environments. Raises CompileError."""
    arguments = Arguments(paths=[], config=config, overlay=None, runtimes=None, env=None, release=release)
    if read_configuration([], config).file is None:
        return []
    runtimes: dict[tuple[str, str, str], Document] = {}
    users: dict[tuple[str, str, str], dict[str, None]] = {}
    for environment in Settings.environments_of(arguments):
        inputs = Settings.of(environment).read(stdin)
        for document in inputs.all_documents:
            data = document.data
            if data.get("kind") in RUNTIME_KINDS and is_trainer_document(data):
                runtimes.setdefault((str(data["kind"]), *_identity(document)), document)
            elif data.get("kind") in JOB_KINDS and (reference := _reference(document)):
                users.setdefault(reference, {})[qualified(*identity_of(data))] = None
    return [(document, list(users.get(key, ()))) for key, document in sorted(runtimes.items())]


def _identity(document: Document) -> tuple[str, str]:
    namespace, name = identity_of(document.data)
    return ("" if document.data["kind"] == "ClusterTrainingRuntime" else namespace), name


def _reference(document: Document) -> tuple[str, str, str] | None:
    reference = mapping(mapping(document.data.get("spec")).get("runtimeRef"))
    kind = str(reference.get("kind") or "ClusterTrainingRuntime")
    namespace = "" if kind == "ClusterTrainingRuntime" else identity_of(document.data)[0]
    return (kind, namespace, str(reference["name"])) if "name" in reference else None


def _repository_table(runtimes: list[_UsedRuntime]) -> str:
    rows = [("NAME", "IMAGE", "GPUS", "JOBS", "FILE")]
    for document, users in runtimes:
        images, gpus = _containers(document)
        name = qualified(*_identity(document))
        rows.append((name, ", ".join(images) or "-", gpus or "-", str(len(users)), document.file))
    return "".join(f"{escape_line(line)}\n" for line in aligned(rows))


def _containers(document: Document) -> tuple[list[str], str]:
    images: dict[str, None] = {}
    devices: dict[str, None] = {}
    for job in objects(value_at(document.data, ("spec", "template", "spec", "replicatedJobs"))):
        for container in objects(mapping(value_at(job, POD_SPEC)).get("containers")):
            images |= {str(container["image"]): None} if container.get("image") else {}
            limits = mapping(mapping(container.get("resources")).get("limits"))
            devices |= {str(amount): None for name, amount in limits.items() if str(name).endswith("/gpu")}
    return list(images), ", ".join(devices)


def _runtime_text(document: Document, users: list[str]) -> str:
    used = f"used by {counted(len(users), 'job')}{': ' if users else ''}{first_of(users) if users else ''}"
    return f"# {escape_line(document.file)}, {escape_line(used)}\n{dump_yaml([document.data])}"


def _table(release: str | None) -> str:
    rows = [("NAME", "FRAMEWORK", "RELEASES")]
    for name in catalog.names(release):
        served = catalog.releases(name)
        document = catalog.find(name, release or served[-1])
        assert isinstance(document, Document)
        framework = document.data["metadata"]["labels"][_FRAMEWORK]
        rows.append((name, framework, " ".join(served)))
    return "".join(f"{line}\n" for line in aligned(rows))
