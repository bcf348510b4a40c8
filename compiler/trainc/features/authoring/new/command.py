"""What `trainc new` does."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Files, compiling, report
from trainc.api.documents import Document, catalog, label_of, opening, yaml_reader
from trainc.api.findings import CompileError, Diagnostic, did_you_mean, has_errors
from trainc.api.jobs import Inputs, release_facts
from trainc.api.kube import POD_SPEC, Json, identity_of, mapping, names, objects, releases, value_at
from trainc.api.output import dump_yaml
from trainc.api.records import pattern, replace
from trainc.api.settings import Options, Settings, merge_diagnostics

_MOST_NAMES = 5
# Warnings about jobs that fail before they train.
_CANNOT_START = ("UnusableStorageUri",)
_MOUNT = pattern(r"([^:/]+):(/[^:]*)")
_FILE = pattern(r"(.+?)=(/(?:[^=]*/)?([A-Za-z0-9._-]+))")
_MOST_BYTES = 900_000
_SECRET = pattern(r"([^:=]+):([^:=]+)=([^:=]+)")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile the job, and write it unless there are errors."""
    if not (arguments.name and arguments.runtime):
        missing = " and ".join(
            what for what, given in (("NAME", arguments.name), ("--runtime NAME", arguments.runtime)) if not given
        )
        example = "trainc new bert --runtime torch-distributed -- torchrun train.py"
        raise UsageError(f"{missing} missing, as in `{example}`; `trainc runtimes` lists the runtimes")
    mounts = _parts(arguments.mount, _MOUNT, "--mount", "CLAIM:PATH, such as datasets:/data")
    files = _parts(arguments.file, _FILE, "--file", "FILE=PATH, such as train.yaml=/config/train.yaml")
    secrets = _parts(arguments.secret, _SECRET, "--secret", "NAME:KEY=VARIABLE, such as hf:token=HF_TOKEN")
    for name in ("nodes", "gpus"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UsageError(f"argument --{name}: {value} is not a positive number")
    arguments.paths = []
    try:
        settings = _without_foreign_files(Settings.of(arguments))
        inputs = settings.read(streams.stdin)
        file = _target(arguments, settings)
        volumes = _volumes(arguments.name, mounts, files)
        job = _job(arguments, settings.options, _runtime(arguments.runtime, inputs, settings.options), volumes, secrets)
        text = dump_yaml([job, *_config_map(arguments.name, files)])
        other_jobs = [document.data for document in inputs.documents if document.data.get("kind") in names.JOB_KINDS]
        by_environment = {
            environment.environment: _check(text, file, _without_foreign_files(Settings.of(environment)))
            for environment in Settings.environments_of(arguments)
        }
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    judged = {name: about for name, about in by_environment.items() if about is not None}
    # A TrainJob is for every release; what compiles it says which.
    diagnostics = [d for d in merge_diagnostics(judged) if d.code != "ReleaseNotPinned"]
    if not any(d.code == "DuplicateTrainJob" for d in diagnostics):
        diagnostics += _of_same_name(job, inputs, settings.options.namespace)
    refused = has_errors(diagnostics) or any(diagnostic.code in _CANNOT_START for diagnostic in diagnostics)
    if file == "-" or refused:
        streams.out.write(b"" if refused else text.encode())
        status = report(diagnostics, arguments, streams, Files(text.encode()))
        return Status.DIAGNOSED if refused else status
    if os.path.dirname(file):
        os.makedirs(os.path.dirname(file), exist_ok=True)
    opening.write_file(file, text, new=True)
    report(diagnostics, arguments, streams, Files(text.encode()))
    if not arguments.quiet:
        streams.err.write("".join(_news(job, other_jobs)))
        is_selected = any(about is not None for about in by_environment.values())
        next_step = _next_step(file, job, arguments, settings) if is_selected else "no environment selects it"
        streams.err.write(f"{file}: created; {next_step}\n")
    return Status.DONE


def _of_same_name(job: Json, inputs: Inputs, namespace: str | None) -> Iterator[Diagnostic]:
    """Yield an error for a job of the same name that an environment has, or none."""
    for document in (*inputs.documents, *inputs.elsewhere, *inputs.unselected):
        is_job = document.data.get("kind") in names.JOB_KINDS
        if is_job and identity_of(document.data, namespace) == identity_of(job, namespace):
            message = f"{document.file} has {label_of(document.data)} already"
            yield Diagnostic("DuplicateTrainJob", "error", message, "choose another name, or change that job")


def _without_foreign_files(settings: Settings) -> Settings:
    """Without trainc.yaml, other files of the folder have nothing to do with the job."""
    return settings if settings.configuration.file else replace(settings, paths=())


def _news(job: Json, other_jobs: Sequence[Json]) -> Iterator[str]:
    """What no other job of the repository has: a namespace or a queue may be misspelled."""
    for what, value_of in (("namespace", lambda other: identity_of(other)[0]), ("queue", _queue_of)):
        value, existing = value_of(job), sorted({*filter(None, map(value_of, other_jobs))})
        if value and existing and value not in existing:
            have = f"other jobs have {', '.join(existing[:_MOST_NAMES])}"
            yield f"{what} {value} is new here; {did_you_mean(value, existing) or have}\n"


def _queue_of(job: Json) -> str:
    return str(mapping(mapping(job.get("metadata")).get("labels")).get(names.QUEUE_LABEL) or "")


def _next_step(file: str, job: Json, arguments: Arguments, settings: Settings) -> str:
    """The command that compiles the job, wherever its file is."""
    command = ["trainc", "build"]
    if settings.configuration.file is None or not settings.configuration.compiles(job, file, ()):
        command.append(file)
    for flag in ("config", "release", "runtimes", "overlay"):
        values = getattr(arguments, flag) or ()
        for value in [values] if isinstance(values, str) else values:
            command += [f"--{flag}", value]
    return f"compile it with `{shlex.join(command)}`"


def _parts(values: list[str] | None, form: Any, flag: str, shape: str) -> list[tuple[str, ...]]:
    parsed = []
    for text in values or ():
        parts = form.fullmatch(text)
        if parts is None:
            raise UsageError(f"argument {flag}: {text!r} does not have the form {shape}")
        parsed.append(parts.groups())
    return parsed


def _target(arguments: Arguments, settings: Settings) -> str:
    """The file to write: below the first folder of the sources, where every command finds it."""
    if arguments.output == "-":
        return "-"
    folder = next((path for path in settings.paths if os.path.isdir(path)), "")
    file: str = arguments.output or os.path.normpath(os.path.join(folder, f"{arguments.name}.yaml"))
    if not arguments.output and {"/", "\\"} & set(arguments.name):
        raise UsageError(f"{arguments.name!r} cannot be the name of a TrainJob")
    if os.path.lexists(file):
        hint = "choose another name, or another file with -o"
        raise CompileError([Diagnostic("FileInTheWay", "error", f"{file} already exists", hint)])
    return file


def _runtime(name: str, inputs: Inputs, options: Options) -> Mapping[str, Any]:
    """The runtime with a name, or a reference to one that does not exist, which compiling reports."""
    for document in inputs.all_documents:
        if document.data.get("kind") in names.RUNTIME_KINDS and identity_of(document.data)[1] == name:
            return document.data
    catalog_entry = catalog.find(name, options.release or releases.NEWEST_RELEASE)
    if isinstance(catalog_entry, Document):
        return catalog_entry.data
    own_names = [identity_of(d.data)[1] for d in inputs.all_documents if d.data.get("kind") in names.RUNTIME_KINDS]
    hint = (
        did_you_mean(name, [*own_names, *catalog.names(options.release)])
        or "`trainc runtimes list` lists those that there are"
    )
    raise CompileError([Diagnostic("RuntimeNotFound", "error", f"there is no runtime {name!r}", hint)])


_Parts: TypeAlias = list[tuple[str, ...]]
# Volumes, and where a container mounts them.
_Volumes: TypeAlias = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def _volumes(job: str, mounts: _Parts, files: _Parts) -> _Volumes:
    """The volumes of claims, and of files, each of which is mounted alone, so that it hides no others."""
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim, _ in mounts]
    mounted = [{"name": claim, "mountPath": path} for claim, path in mounts]
    for number, (_, path, key) in enumerate(files, start=1):  # A patch mounts each volume once.
        volumes.append({"name": f"files-{number}", "configMap": {"name": f"{job}-files"}})
        mounted.append({"name": f"files-{number}", "mountPath": path, "subPath": key})
    return volumes, mounted


def _config_map(job: str, files: _Parts) -> Iterator[dict[str, Any]]:
    """The ConfigMap with the files, marked as the job's own. Raises CompileError."""
    data: dict[str, str] = {}
    for file, path, key in files:
        if key in data:
            raise UsageError(f"argument --file: {path}: there is another file named {key}; give it another name")
        try:
            data[key] = opening.read_file(file, _MOST_BYTES).decode()
        except (OSError, ValueError) as error:
            reason = opening.error_reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
            hint = "check the path; a ConfigMap has room for texts of less than 1 MB"
            raise CompileError([Diagnostic("UnreadableFile", "error", f"{file}: {reason}", hint)]) from None
    if sum(map(len, data.values())) > _MOST_BYTES:
        raise UsageError(f"argument --file: together the files have more than {_MOST_BYTES:,} characters")
    if data:
        metadata = {"name": f"{job}-files", "annotations": {"trainc/own": "true"}}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _job(
    arguments: Arguments, options: Options, runtime: Mapping[str, Any], volumes: _Volumes, secrets: _Parts
) -> dict[str, Any]:
    """The TrainJob, without the fields for which nothing is given."""
    kind = runtime["kind"] if runtime["kind"] != "ClusterTrainingRuntime" else ""
    limits = {"nvidia.com/gpu": str(arguments.gpus)}
    trainer = _filled(
        numNodes=arguments.nodes,
        image=arguments.image,
        command=list(arguments.words or ()),
        env=[
            {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}
            for name, key, variable in secrets
        ],
        resourcesPerNode={"limits": limits} if arguments.gpus is not None else None,
    )
    labels = {names.QUEUE_LABEL: arguments.queue} if arguments.queue else None
    steps = {"dataset": arguments.dataset, "model": arguments.model}
    initializer = {step: {"storageUri": uri} for step, uri in steps.items() if uri}
    runtime_ref = _filled(name=arguments.runtime, kind=kind)
    spec = _filled(runtimeRef=runtime_ref, initializer=initializer, trainer=trainer)
    return {
        "apiVersion": names.TRAINER_API,
        "kind": "TrainJob",
        "metadata": _filled(name=arguments.name, namespace=options.namespace, labels=labels),
        "spec": {**spec, **(_patch(runtime, volumes, options) if volumes[0] else {})},
    }


def _filled(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _patch(runtime: Mapping[str, Any], volumes: _Volumes, options: Options) -> dict[str, Any]:
    """The field with which a TrainJob of the release adds volumes to the trainer's pods."""
    step, container = _trainer_in(runtime)
    pod = {"volumes": volumes[0], "containers": [{"name": container, "volumeMounts": volumes[1]}]}
    field = release_facts(options.release or releases.NEWEST_RELEASE).patch_field
    if field == "podSpecOverrides":
        return {field: [{"targetJobs": [{"name": step}], **pod}]}
    if field == "podTemplateOverrides":
        return {field: [{"targetJobs": [{"name": step}], "spec": pod}]}
    job = {"name": step, "template": {"spec": {"template": {"spec": pod}}}}
    patch = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {field: [{"manager": "new.trainer.kubeflow.org/volumes", "trainingRuntimeSpec": patch}]}


def _trainer_in(runtime: Mapping[str, Any]) -> tuple[str, str]:
    """Return the step that trains, and its first container."""
    for job in objects(value_at(runtime, ("spec", "template", "spec", "replicatedJobs"))):
        if value_at(job, ("template", "metadata", "labels", names.ANCESTOR_LABEL)) == "trainer":
            container = value_at(job, (*POD_SPEC, "containers", 0, "name"))
            return str(job.get("name") or "node"), str(container or "node")
    return "node", "node"


def _check(text: str, file: str, settings: Settings) -> list[Diagnostic] | None:
    """What `trainc check` would say of the job in its file; None if trainc.yaml does not select it. Raises CompileError."""
    documents, problems = yaml_reader.read_documents(text.encode(), file, settings.options.limits)
    if has_errors(problems):
        raise CompileError(problems)
    checking = compiling.start(settings, b"", checks_fragments=True, extra=documents)
    documents_of_file = [document for document in checking.inputs.documents if document.file == file]
    if not documents_of_file:
        return None
    _refuse_second(documents_of_file, checking.inputs)
    session = checking.session.with_jobs(documents_of_file)
    about_job, compiled = [diagnostic for diagnostic in checking.diagnostics if diagnostic.source], []
    for job, diagnostics in session.compile_each():
        about_job += diagnostics
        compiled += [job] if job is not None else []
    about_job += checking.court.of_cluster(compiled, checking.inputs.documents, session) if compiled else []
    return [diagnostic for diagnostic in about_job if diagnostic.source is None or diagnostic.source.file == file]


def _refuse_second(documents: Sequence[Document], inputs: Inputs) -> None:
    other_jobs = (d.data for d in inputs.documents if d.data.get("kind") in names.JOB_KINDS and d not in documents)
    names_of_others = set(map(identity_of, other_jobs))
    for key in (identity_of(document.data) for document in documents):
        if key in names_of_others:
            message = f"there is a TrainJob {'/'.join(filter(None, key))} already"
            raise CompileError([Diagnostic("DuplicateTrainJob", "error", message, "choose another name")])
