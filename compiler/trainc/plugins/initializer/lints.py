"""Lints for initializers: training that starts before its data is there, and sources at which they fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.findings import Finding, Path, Severity, suggest
from trainc.findings.text import edit_distance
from trainc.ir import info as gang
from trainc.ir.entrypoints import variable_path
from trainc.ir.info import About, Container, Info, PodSet
from trainc.ir.trainjob import TrainJob
from trainc.knowledge.tables import read
from trainc.kube import names
from trainc.kube.documents import JOBS, mapping
from trainc.reading.document import Surroundings
from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

_SOURCE = "STORAGE_URI"
_URI = pattern(r"([A-Za-z][A-Za-z0-9+.-]*):(?://)?(.*)", 16)
_HUB_PAGE = pattern(r"https?://(?:www\.)?huggingface\.co/(?:datasets/)?([\w.-]+/[\w.-]+).*", 16)
# huggingface_hub utils/_validators.py (validate_repo_id).
_REPOSITORY = pattern(r"(?:[\w.-]+/)?[\w.-]{1,96}")
# Where initializers write (kubeflow/trainer pkg/initializers, constants), and what is written there by the training.
_FOLDER = "/workspace"
_BELOW_FOLDER = pattern(r"(?<![\w/.-])(/workspace/([a-z]{4,9}))(?![\w-])")
_OUTPUT = pattern(r"out|save|ckpt|checkpoint|cache|log|tmp|result|write|dest|export", 2)
_CACHE_NEEDS = ("METADATA_LOC", "IAM_ROLE", "CACHE_IMAGE", "TRAIN_JOB_NAME")


def initializer_not_ordered(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for each initializer without a job that depends on its completion.

    A startup order does not help: it waits only until pods are ready.
    """
    awaited = gang.awaited_pod_sets(info)
    for index, pod_set in enumerate(info.pod_sets):
        if pod_set.ancestor in names.INITIALIZERS and pod_set.name not in awaited and len(info.pod_sets) > 1:
            message = f"no job waits for {pod_set.name!r} to complete, so the trainer starts at the same time"
            hint = f"add to the job that comes after it: dependsOn: [{{name: {pod_set.name}, status: Complete}}]"
            yield Finding("InitializerNotOrdered", "warning", message, hint, (*JOBS, index), "runtime")


def unusable_sources(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error for each source at which an initializer of Trainer fails. Runs on sized jobs.

    Source: kubeflow/trainer pkg/initializers (dataset and model) at each release's tag. Other images may do otherwise.
    """
    # A job without a command may be there to try a runtime.
    trains = bool(job.trainer.command) or any(job.initializer(step) is not None for step in names.INITIALIZERS)
    for pod_set in info.pod_sets:
        container = pod_set.container(pod_set.ancestor or "") if pod_set.ancestor in names.INITIALIZERS else None
        if container is None or not _is_upstream(container):
            continue
        variables = {str(variable["name"]): variable.get("value") for variable in container.env}
        source = variables.get(_SOURCE)
        if trains and _SOURCE not in variables and not container.fields.get("envFrom"):
            kind = (pod_set.ancestor or "").partition("-")[0]
            message = f"the {pod_set.ancestor} has nothing to download, and fails: its {_SOURCE} is not set"
            hint = f"set spec.initializer.{kind}: {{storageUri: hf://OWNER/NAME}}, or copy the runtime without this job"
            yield Finding("UnusableStorageUri", "warning", message, hint, ("spec", "runtimeRef"), "trainjob")
        if source:
            for message, hint in _problems(source, variables, container, info):
                path, about = _source_path(job, info, pod_set, container)
                yield Finding("UnusableStorageUri", "error", message, hint, path, about)


def _is_upstream(container: Container) -> bool:
    image = str(container.fields.get("image", ""))
    return f"kubeflow/trainer/{container.name}" in image and not container.command


def _source_path(job: TrainJob, info: Info, pod_set: PodSet, container: Container) -> tuple[Path, About]:
    step = job.initializer(pod_set.ancestor or "")
    if step is not None and step.storage_uri is not None:
        return ("spec", "initializer", (pod_set.ancestor or "").partition("-")[0], "storageUri"), "trainjob"
    return variable_path(job, info, pod_set, container.name, _SOURCE)


def _problems(
    source: str, variables: Mapping[str, str | None], container: Container, info: Info
) -> Iterator[tuple[str, str]]:
    step = container.name
    is_dataset = step == names.DATASET_INITIALIZER
    schemes = info.release.dataset_schemes if is_dataset else info.release.model_schemes
    match = _URI.fullmatch(source)
    scheme, location = (match[1].lower(), match[2]) if match else ("", source)
    if scheme not in schemes:
        hint = "copy the files to a place of one of these kinds, such as s3://bucket/path"
        if page := _HUB_PAGE.fullmatch(source):
            hint = f"write hf://{page[1]}"
        yield (
            f"the {step} does not know the scheme of {source!r}, and fails: it downloads from {', '.join(schemes)}",
            hint,
        )
    elif scheme == "hf":
        yield from _hub(location, is_dataset=is_dataset)
    elif scheme == "cache":
        yield from _cache(source, location, variables, container)


def _cache(
    source: str, location: str, variables: Mapping[str, str | None], container: Container
) -> Iterator[tuple[str, str]]:
    if "/" not in location:
        yield f"{source!r} has no table, and the dataset initializer expects one", "write cache://SCHEMA/TABLE"
    from_pod = {str(variable["name"]) for variable in container.env if variable.get("valueFrom")}
    missing = [name for name in _CACHE_NEEDS if not variables.get(name) and name not in from_pod]
    if missing and not container.fields.get("envFrom"):
        message = f"the dataset initializer cannot serve {source!r} without {' and '.join(missing)}, and fails"
        hint = f"set {' and '.join(missing)} in spec.initializer.dataset.env"
        if "CACHE_IMAGE" in missing:
            hint = "use a runtime that brings the cache up, as in runtimeRef: {name: torch-distributed-with-cache}"
        yield message, hint


def _hub(location: str, *, is_dataset: bool) -> Iterator[tuple[str, str]]:
    """Yield the problem of a repository's name. Of a dataset, only the first two parts are read."""
    repository = location.partition("?")[0].partition("#")[0]
    owner, slash, name = repository.partition("/")
    if is_dataset and owner == "datasets" and "/" in name:
        yield f"hf://{location} is read as the repository datasets/{name.partition('/')[0]}", f"write hf://{name}"
    elif is_dataset and not (slash and name):
        message = f"hf://{location} has no owner, and the dataset initializer expects one"
        yield message, f"write it like hf://OWNER/{owner or 'NAME'}"
    elif not is_dataset and not _REPOSITORY.fullmatch(repository):
        message = f"hf://{location} is not the name of a repository: a branch, revision or file cannot be part of it"
        yield message, f"write hf://{owner}/{name.partition('/')[0].partition('@')[0]}"


def gated_sources(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a finding for a source that is gated, for an initializer without a token."""
    for field, ancestor in (("model", names.MODEL_INITIALIZER), ("dataset", names.DATASET_INITIALIZER)):
        step = job.initializer(ancestor)
        uri = str(step.storage_uri or "") if step is not None else ""
        if (
            not uri.startswith("hf://")
            or step is None
            or step.secret
            or any("TOKEN" in str(v["name"]) for v in step.env)
        ):
            continue
        gated = any(uri.removeprefix("hf://").lower().startswith(start.lower()) for start in read("models")["gated"])
        pod_set = next((p for p in info.pod_sets if p.ancestor == ancestor), None)
        tokens = pod_set is not None and any(
            "TOKEN" in str(variable["name"]) or container.fields.get("envFrom")
            for container in pod_set.containers
            for variable in (*container.env, {"name": ""})
        )
        if gated and not tokens:
            message = f"{uri} is gated: without a token that was granted access, the download fails with 401 or 403"
            hint = f"add secretRef: {{name: hf-token}} to spec.initializer.{field}, a Secret with the key HF_TOKEN"
            # The runtimes for torchtune's recipes are for such models, and their namespaces may provide the token.
            severity: Severity = "info" if job.runtime_name.startswith("torchtune-") else "warning"
            yield Finding(
                "UnusableStorageUri", severity, message, hint, ("spec", "initializer", field, "storageUri"), "trainjob"
            )


# What initializers read of a Secret, by the scheme of the source: their own names, and those of the clients in them.
_READ_OF_SECRETS = {
    "hf": ("ACCESS_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    "s3": ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ROLE_ARN"),
}


def unread_secrets(job: TrainJob, info: Info, around: Surroundings) -> Iterator[Finding]:
    """Yield a finding for a Secret of the input with no key that the initializer reads: each is a variable there."""
    for pod_set in info.pod_sets:
        step, container = job.initializer(pod_set.ancestor or ""), pod_set.container(pod_set.ancestor or "")
        if step is None or step.secret is None or container is None or not _is_upstream(container):
            continue
        scheme = str(step.storage_uri).partition("://")[0]
        reads, secret = _READ_OF_SECRETS.get(scheme, ()), around.of("Secret", job.namespace).get(step.secret)
        keys = {str(key) for part in ("data", "stringData") for key in mapping(secret.data.get(part) if secret else ())}
        given = keys | {str(variable["name"]) for variable in container.env}
        if keys and reads and given.isdisjoint(reads):
            kind, meant = (pod_set.ancestor or "").partition("-")[0], " and ".join(reads[: 1 + (scheme == "s3")])
            message = f"the Secret {step.secret} has {', '.join(sorted(keys))}, and the {kind} initializer reads none of it: each key is a variable, and it reads {meant}"
            hint = f"call the key {meant}" if scheme == "hf" else f"call the keys {meant}"
            yield Finding(
                "UnusableStorageUri", "warning", message, hint, ("spec", "initializer", kind, "secretRef"), "trainjob"
            )


def misspelt_folders(training: Any) -> Iterator[Finding]:
    """Yield a finding for a path that is nearly the one to which an initializer of the job writes."""
    entry, job = training.entry, training.job
    steps = {"model": job.model, "dataset": job.dataset}
    shared = any(str(mount.get("mountPath")).rstrip("/") == _FOLDER for mount in entry.container.mounts)
    if not (entry.trains and shared and any(steps.values())):
        return
    texts = [(word, entry.word_path(index)) for index, word in enumerate(entry.argv)]
    texts += [(f"{name}={value}", entry.variable_path(name)) for name, value in training.variables.items()]
    for text, place in texts:
        for match in _BELOW_FOLDER.finditer(text):
            given = match[2]
            near = [
                f
                for f, step in steps.items()
                if step and (given == f"{f}s" or f.startswith(given) or edit_distance(given, f, 2) <= 2)
            ]
            if (
                near
                and given not in steps
                and f"mkdir -p {match[1]}" not in training.text
                and not _OUTPUT.search(text[: match.start(1)])
            ):
                message = f"{match[1]} is not where the {near[0]} is: its initializer writes to {_FOLDER}/{near[0]}"
                yield Finding("FileNotMounted", "warning", message, suggest(match[1], [f"{_FOLDER}/{near[0]}"]), *place)
