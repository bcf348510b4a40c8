"""What `trainc new` does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Files, report
from trainc.api.documents import Document, catalog, is_trainer_document, read_documents
from trainc.api.findings import CompileError, Diagnostic, did_you_mean, has_errors
from trainc.api.jobs import Inputs, compile_documents
from trainc.api.kube import NEWEST_RELEASE, identity_of, names
from trainc.api.output import dump_yaml
from trainc.api.records import pattern, replace
from trainc.api.settings import Options, Settings, settings_of
from trainc.ir.release import release_facts

_MOUNT = pattern(r"([^:/]+):(/[^:]*)")
_SECRET = pattern(r"([^:=]+):([^:=]+)=([^:=]+)")


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile the job, and write it unless there are errors."""
    mounts = _parts(arguments.mount, _MOUNT, "--mount", "CLAIM:PATH, such as datasets:/data")
    secrets = _parts(arguments.secret, _SECRET, "--secret", "NAME:KEY=VARIABLE, such as hf:token=HF_TOKEN")
    for name in ("nodes", "gpus"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UsageError(f"argument --{name}: {value} is not a positive number")
    arguments.paths = []
    try:
        settings = settings_of(arguments)
        if settings.configuration.file is None:
            settings = replace(settings, paths=())  # Other files of the folder have nothing to do with the job.
        inputs = settings.read(streams.stdin)
        file = _target(arguments, settings)
        job = _job(arguments, settings.options, _runtime(arguments.runtime, inputs, settings.options), mounts, secrets)
        text = dump_yaml([job])
        diagnostics = _check(text, file, inputs, settings)
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    if file == "-":
        streams.out.write(text.encode())
        return report(diagnostics, arguments, streams)
    if os.path.dirname(file):
        os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "x", encoding="utf-8", newline="") as stream:
        stream.write(text)
    report(diagnostics, arguments, streams, Files(text.encode()))
    if not arguments.quiet:
        streams.err.write(f"{file}: created; compile it with `trainc build`\n")
    return Status.DONE


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
    for document in inputs.read:
        if document.data.get("kind") in names.RUNTIME_KINDS and identity_of(document.data)[1] == name:
            return document.data
    catalog_entry = catalog.find(name, options.release or NEWEST_RELEASE)
    if isinstance(catalog_entry, Document):
        return catalog_entry.data
    own_names = [identity_of(d.data)[1] for d in inputs.read if d.data.get("kind") in names.RUNTIME_KINDS]
    hint = (
        did_you_mean(name, [*own_names, *catalog.names(options.release)])
        or "`trainc runtimes list` lists those that there are"
    )
    raise CompileError([Diagnostic("RuntimeNotFound", "error", f"there is no runtime {name!r}", hint)])


_Parts: TypeAlias = list[tuple[str, ...]]


def _job(
    arguments: Arguments, options: Options, runtime: Mapping[str, Any], mounts: _Parts, secrets: _Parts
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
    spec = _filled(runtimeRef=_filled(name=arguments.runtime, kind=kind), trainer=trainer)
    return {
        "apiVersion": names.TRAINER_API,
        "kind": "TrainJob",
        "metadata": _filled(name=arguments.name, namespace=options.namespace, labels=labels),
        "spec": {**spec, **(_patch(runtime, mounts, options) if mounts else {})},
    }


def _filled(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _patch(runtime: Mapping[str, Any], mounts: list[tuple[str, ...]], options: Options) -> dict[str, Any]:
    """The field with which a TrainJob of the release adds volumes to the trainer's pods."""
    step = container = "node"
    for each in runtime.get("spec", {}).get("template", {}).get("spec", {}).get("replicatedJobs", ()):
        template = each.get("template", {})
        if (template.get("metadata") or {}).get("labels", {}).get(names.ANCESTOR_LABEL) == "trainer":
            containers = template.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ())
            step, container = each["name"], next((one["name"] for one in containers), "node")
            break
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim, _ in mounts]
    mounted = [{"name": claim, "mountPath": path} for claim, path in mounts]
    pod = {"volumes": volumes, "containers": [{"name": container, "volumeMounts": mounted}]}
    field = release_facts(options.release or NEWEST_RELEASE).patch_field
    if field == "podSpecOverrides":
        return {field: [{"targetJobs": [{"name": step}], **pod}]}
    if field == "podTemplateOverrides":
        return {field: [{"targetJobs": [{"name": step}], "spec": pod}]}
    job = {"name": step, "template": {"spec": {"template": {"spec": pod}}}}
    patch = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {field: [{"manager": "new.trainer.kubeflow.org/volumes", "trainingRuntimeSpec": patch}]}


def _check(text: str, file: str, inputs: Inputs, settings: Settings) -> list[Diagnostic]:
    """Compile the job among the runtimes of the repository. Raises CompileError."""
    documents, problems = read_documents(text.encode(), file, settings.options.limits)
    [document] = documents
    key = identity_of(document.data)
    if key in [identity_of(each.data) for each in inputs.documents if each.data.get("kind") in names.JOB_KINDS]:
        message = f"there is a TrainJob {'/'.join(filter(None, key))} already"
        problems.append(Diagnostic("DuplicateTrainJob", "error", message, "choose another name"))
    if has_errors(problems):
        raise CompileError(problems)
    runtimes = [
        d for d in inputs.documents if is_trainer_document(d.data) and d.data.get("kind") in names.RUNTIME_KINDS
    ]
    compiled = compile_documents([*runtimes, document], inputs.runtime_sources, settings.options, inputs.catalog)
    return [d for d in compiled.diagnostics if d.object.partition(" ")[0] != "ClusterTrainingRuntime"]
