"""Lints for what surrounds a program in its pod: references of variables, capabilities, volumes, and other containers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import basename

from trainc.findings import Finding, suggest
from trainc.findings.text import correct_spelling
from trainc.ir.entrypoints import Entrypoint, pod_path
from trainc.knowledge.tables import read
from trainc.kube.documents import JOBS, mapping, value_at
from trainc.lints.storage import DISK, security_of, volume_at
from trainc.lints.training import Training
from trainc.startup.patterns import pattern

_REFERENCE = pattern(r"(?<!\$)\$\(([A-Za-z_]\w*)\)")
_SHELL_REFERENCE = pattern(read("readings")["shell_reference"])
# Programs that run until they are stopped, as their images and commands are called.
_ENDLESS: Sequence[str] = read("readings")["endless"]
# Further kinds of storage whose new volumes belong to root.
_FRESH = pattern(r".*-ssd|local-path")

# What is read from labels or annotations of pods, not of jobs.
_OF_PODS: Sequence[str] = read("readings")["of_pods"]


def surroundings(training: Training) -> Iterator[Finding]:
    """Yield findings about the pod of a container that trains."""
    entry = training.entry
    yield from _references(entry)
    yield from _keys(training)
    yield from _owner(training)
    security = mapping(entry.container.fields.get("securityContext"))
    no_place = "TMPDIR" not in training.variables and volume_at(training, "/tmp")[0] is None  # noqa: S108
    if security.get("readOnlyRootFilesystem") is True and no_place and training.line.starts_of("launcher", "python"):
        message = "the root file system is read-only, and no volume is at /tmp: no program can write temporary files"
        mount = f"{{name: {entry.container.name}, volumeMounts: [{{name: tmp, mountPath: /tmp}}]}}"
        hint = (
            f"mount an emptyDir: {training.patch(f'volumes: [{{name: tmp, emptyDir: {{}}}}], containers: [{mount}]')}"
        )
        yield Finding("OutputNotKept", "warning", message, hint, *entry.at("securityContext", "readOnlyRootFilesystem"))
    places = ("template", "metadata"), ("template", "spec", "template", "metadata")
    of_job, of_pods = (mapping(value_at(training.replicated_job, path)) for path in places)
    pods = {**mapping(of_pods.get("labels")), **mapping(of_pods.get("annotations"))}
    for field, own in (("labels", training.job.labels), ("annotations", training.job.annotations)):
        for key in [one for one in _OF_PODS if one in {**mapping(of_job.get(field)), **own} and one not in pods]:
            kind, about = ("TrainJob", "trainjob") if key in own else ("Job", "runtime")
            job = () if key in own else (*JOBS, entry.info.pod_sets.index(entry.pod_set), "template")
            message = f"{key!r} is read from pods, and the {field} of a {kind} do not come to its pods"
            hint = "set it in the pod template: runtimePatches, or template.spec.template.metadata of the runtime"
            yield Finding("SettingWithoutEffect", "warning", message, hint, (*job, "metadata", field, key), about)
    for container in entry.pod_set.containers if len(entry.pod_set.containers) > 1 else ():
        image = basename(str(container.fields.get("image", "")).partition("@")[0]).partition(":")[0]
        if container.name == entry.pod_set.main or not any(part in f"{image} {container.name}" for part in _ENDLESS):
            continue
        message = f"the container {container.name!r} runs forever, and a pod is done only when all its containers are"
        hint = f"move it to initContainers with restartPolicy: Always, which makes it a sidecar: {{name: {container.name}, restartPolicy: Always, ...}}"
        path = pod_path(entry.job, entry.info, entry.pod_set.name, "containers", ("name", container.name))
        yield Finding("HeldAfterEnd", "warning", message, hint, *path)


def _references(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for a variable that refers to a later one, or to one as a shell would."""
    env = [(str(variable["name"]), variable.get("value")) for variable in entry.container.env]
    places = {name: place for place, (name, _) in enumerate(env)}
    for place, (name, value) in enumerate(env):
        if not isinstance(value, str) or "$" not in value:
            continue
        for other in _REFERENCE.findall(value):
            if places.get(other, -1) >= place:
                yield _unexpanded(entry, name, other)
        for match in _SHELL_REFERENCE.finditer(value):
            other = match[1] or match[2] or ""
            if other.startswith(("SLURM_", "PBS_", "LSB_")) and not entry.shell:
                message = f"{name} is the text {match[0]}: no shell reads it, and nothing sets {other} in a pod"
                yield Finding("UnsetVariable", "warning", message, "write the value", *entry.variable_path(name))
            elif other == name or (not entry.shell and (other in places or other in ("", "HOSTNAME", "RANDOM"))):
                message = f"no shell reads the value of {name}, so {match[0]} stays in it as text"
                hint = f"write the whole value, or export {name} in a script that bash -c runs"
                if other == name:
                    message += ", in the place of what the image has"
                elif other:
                    hint = suggest(match[0], [f"$({other})"], f"write $({other}), and {other} above it")
                yield Finding("UnexpandedShellVariable", "info", message, hint, *entry.variable_path(name))


def _unexpanded(entry: Entrypoint, name: str, other: str) -> Finding:
    """Return the finding for a variable that refers to itself, or to one that is set after it."""
    message = f"{name} refers to $({other}), which is not set before it, so Kubernetes keeps the text as it is"
    hint = f"move {other} above {name}"
    if other == name:
        hint = f"write the whole value, or export {name} in a script that bash -c runs"
    elif other not in {str(variable["name"]) for variable in entry.trainer.env}:
        hint = f"write $({other}) in the command instead: Trainer adds {other} behind the job's own variables"
    return Finding("UnsetVariable", "warning", message, hint, *entry.variable_path(name))


def _keys(training: Training) -> Iterator[Finding]:
    entry = training.entry
    sources = {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}
    known = {field: training.around.of(kind, training.job.namespace) for field, kind in sources.items()}
    for variable in entry.container.env if any(known.values()) else ():
        field, value = next(iter(mapping(variable.get("valueFrom")).items()), ("", None))
        reference = mapping(value)
        document = known.get(field, {}).get(str(reference.get("name")))
        if document is None or reference.get("optional"):
            continue
        key = str(reference.get("key"))
        data = {k for part in ("data", "binaryData", "stringData") for k in mapping(document.data.get(part))}
        if key in data or not data:
            continue
        near = next((k for k in data if k.lower() == key.lower()), "") or correct_spelling(key, data)
        message = f"the {sources[field]} {reference.get('name')} has no key {key}, so the container is never created"
        hint = suggest(key, [near]) if near else f"use one of {', '.join(sorted(data)[:5])}"
        yield Finding("FileNotMounted", "warning", message, hint, *entry.variable_path(str(variable["name"])))


def _owner(training: Training) -> Iterator[Finding]:
    """Yield a finding for a claim of the input that makes a new disk, which only root may write to."""
    entry = training.entry
    user = security_of(entry, "runAsUser")
    if not isinstance(user, int) or user == 0 or security_of(entry, "fsGroup") is not None:
        return
    claims = training.around.of("PersistentVolumeClaim", entry.job.namespace)
    for volume in entry.pod_set.volumes if claims else ():
        claim = claims.get(str(mapping(volume.get("persistentVolumeClaim")).get("claimName")))
        spec = mapping(claim.data.get("spec")) if claim is not None else {}
        kind = str(spec.get("storageClassName"))
        if (DISK.fullmatch(kind) or _FRESH.fullmatch(kind)) and not spec.get("dataSource"):
            message = f"user {user} may not write to the volume {volume['name']!r}: a new disk belongs to root"
            hint = training.patch(f"securityContext: {{fsGroup: {user}}}")
            path = pod_path(entry.job, entry.info, entry.pod_set.name, "volumes", ("name", volume["name"]))
            yield Finding("OutputNotKept", "info", message, f"hand it to the group: {hint}", *path)
