"""Lints for what surrounds a program in its pod: references of variables, capabilities, volumes, and other containers."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename
from typing import Any

from trainc.findings import Finding, Severity, suggest
from trainc.ir.entrypoints import Entrypoint, pod_path
from trainc.knowledge.tables import read
from trainc.knowledge.words import flat
from trainc.kube import names
from trainc.kube.documents import items, mapping
from trainc.kube.quantity import parse_quantity, read_quantity
from trainc.lints.config_files import config_maps, visible_files
from trainc.lints.storage import volume_at
from trainc.lints.training import Training
from trainc.startup.patterns import pattern

_REFERENCE = pattern(r"(?<!\$)\$\(([A-Za-z_]\w*)\)")
_SHELL_REFERENCE = pattern(r"(?<!\$)\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_GIBIBYTE = 1 << 30
_SHM = "/dev/shm"  # noqa: S108 - a path in a pod
_RDMA = ("rdma/", "nvidia.com/hostdev", "nvidia.com/mlnx", "openshift.io/ib", "mellanox.com/")
# Programs that run until they are stopped, as their images and commands are called.
_ENDLESS = (
    *("fluent-bit", "fluentd", "filebeat", "vector", "promtail", "logstash", "node-exporter", "dcgm-exporter"),
    *("envoy", "cloud-sql-proxy", "tensorboard", "otel", "opentelemetry-collector", "statsd-exporter", "pushgateway"),
)
# Kinds of storage whose new volumes belong to root.
_BLOCK = pattern(r"gp[23]|io[12]|standard-rwo|premium-rwo|pd-.*|managed-(?:csi|premium).*|.*ebs.*|.*-ssd|local-path")


def surroundings(training: Training) -> Iterator[Finding]:
    """Yield findings about the pod of a container that trains."""
    entry = training.entry
    yield from _references(entry)
    yield from _keys(training)
    yield from _devices(training)
    yield from _memory(training)
    yield from _volumes(training)
    yield from _owner(training)
    yield from _gated(training)
    security = mapping(entry.container.fields.get("securityContext"))
    no_place = "TMPDIR" not in training.variables and volume_at(training, "/tmp")[0] is None  # noqa: S108
    if security.get("readOnlyRootFilesystem") is True and no_place and training.line.starts_of("launcher", "python"):
        message = "the root file system is read-only, and no volume is at /tmp: no program can write temporary files"
        mount = f"{{name: {entry.container.name}, volumeMounts: [{{name: tmp, mountPath: /tmp}}]}}"
        hint = (
            f"mount an emptyDir: {training.patch(f'volumes: [{{name: tmp, emptyDir: {{}}}}], containers: [{mount}]')}"
        )
        yield Finding("OutputNotKept", "warning", message, hint, *entry.at("securityContext"))
    for container in entry.pod_set.containers if len(entry.pod_set.containers) > 1 else ():
        image = basename(str(container.fields.get("image", "")).partition("@")[0]).partition(":")[0]
        if container.name == entry.pod_set.main or not any(part in f"{image} {container.name}" for part in _ENDLESS):
            continue
        message = (
            f"the container {container.name!r} runs forever, and a pod is done only when all of its containers are"
        )
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
            if places.get(other, -1) > place:
                message = f"{name} refers to $({other}), which is set after it, so Kubernetes keeps the text as it is"
                hint = f"move {other} above {name}"
                if other not in {str(variable["name"]) for variable in entry.trainer.env}:
                    hint = (
                        f"write $({other}) in the command instead: Trainer adds {other} behind the job's own variables"
                    )
                yield Finding("UnsetVariable", "warning", message, hint, *entry.variable_path(name))
        for match in _SHELL_REFERENCE.finditer(value):
            other = match[1] or match[2]
            if other.startswith(("SLURM_", "PBS_", "LSB_")) and not entry.shell:
                message = f"{name} is the text {match[0]}: no shell reads it, and nothing sets {other} in a pod"
                yield Finding("UnsetVariable", "warning", message, "write the value", *entry.variable_path(name))
            elif (other in places or other == name) and (not entry.shell or other == name):
                message = f"no shell reads the value of {name}, so {match[0]} stays in it as text"
                hint = suggest(match[0], [f"$({other})"], f"write $({other}), and {other} above it")
                if other == name:
                    message += ", in the place of what the image has"
                    hint = f"write the whole value, or export {name} in a script that bash -c runs"
                yield Finding("UnexpandedShellVariable", "info", message, hint, *entry.variable_path(name))


def _keys(training: Training) -> Iterator[Finding]:
    from trainc.findings.text import correct_spelling

    entry = training.entry
    documents = config_maps(training) if training.documents else {}
    for variable in entry.container.env if documents else ():
        reference = mapping(mapping(variable.get("valueFrom")).get("configMapKeyRef"))
        document = documents.get(str(reference.get("name")))
        if document is None or reference.get("optional"):
            continue
        data, key = mapping(document.data.get("data")), str(reference.get("key"))
        if key in data or key in (binary := mapping(document.data.get("binaryData"))):
            continue
        data = {**data, **binary}
        near = next((k for k in data if k.lower() == key.lower()), "") or correct_spelling(key, data)
        message = f"the ConfigMap {reference.get('name')} has no key {key}, so the container is never created"
        hint = suggest(key, [near]) if near else f"use one of {', '.join(sorted(data)[:5]) or '(it has none)'}"
        yield Finding("FileNotMounted", "warning", message, hint, *entry.variable_path(str(variable["name"])))


def _devices(training: Training) -> Iterator[Finding]:
    entry = training.entry
    resources = entry.container.resources
    requested = [*(resources.get("limits") or {}), *(resources.get("requests") or {})]
    security = mapping(entry.container.fields.get("securityContext"))
    added = items(mapping(security.get("capabilities")).get("add"))
    rdma = next((resource for resource in requested if resource.startswith(_RDMA)), None)
    if rdma is not None and not security.get("privileged") and not {"IPC_LOCK", "ALL"} & {*map(str, added)}:
        message = f"{rdma} needs memory that stays where it is, and without IPC_LOCK a container may lock very little"
        patch = training.patch(
            f"containers: [{{name: {entry.container.name}, securityContext: {{capabilities: {{add: [IPC_LOCK]}}}}}}]"
        )
        yield Finding(
            "DeviceLacksFeature", "info", message, f"allow it, unless the nodes do: {patch}", *_limit(entry, rdma)
        )
    for volume in entry.pod_set.volumes if any("/efa" in name for name in requested) else ():
        if str(mapping(volume.get("hostPath")).get("path", "")).startswith("/dev/infiniband"):
            message = "the plugin gives the pod its EFA devices, and this adds those of the node, which it may not open"
            place = pod_path(entry.job, entry.info, entry.pod_set.name, "volumes", ("name", volume.get("name")))
            hint = "remove the volume and its mount: vpc.amazonaws.com/efa is enough"
            yield Finding("DeviceLacksFeature", "info", message, hint, *place)


def _limit(entry: Entrypoint, name: str) -> tuple[Any, Any]:
    requested = entry.job.trainer.resources_per_node or {}
    for kind in ("limits", "requests"):
        if name in (requested.get(kind) or {}):
            return ("spec", "trainer", "resourcesPerNode", kind, name), "trainjob"
    kind = "limits" if name in (entry.container.resources.get("limits") or {}) else "requests"
    return entry.at("resources", kind, name)


def _memory(training: Training) -> Iterator[Finding]:
    """Yield findings for memory that cannot be enough: for so many GPUs, or for the volume in memory."""
    entry = training.entry
    quantity = read_quantity((entry.container.resources.get("limits") or {}).get("memory"))
    limit = quantity.units if quantity is not None else 0
    if not limit:
        return
    if training.devices > 1 and 64 << 20 < limit < training.devices * _GIBIBYTE:
        message = (
            f"memory for {training.devices} of {training.device}: each process needs some gibibytes before it trains"
        )
        hint = f"write {training.devices * 64}Gi, or what the node has for each device"
        yield Finding("UnlikelyAmount", "info", message, hint, *_limit(entry, "memory"))
    kind, name = volume_at(training, _SHM)
    volume = next((v for v in entry.pod_set.volumes if v.get("name") == name), {})
    size = mapping(volume.get("emptyDir")).get("sizeLimit") if kind == "emptyDir" else None
    if size is not None and parse_quantity(str(size)).units > limit:
        message = (
            f"the volume {name!r} at {_SHM} may have {size}, and counts as memory of the container, whose limit is less"
        )
        hint = f"write less than the memory limit, such as sizeLimit: {max(limit // (3 * _GIBIBYTE), 1)}Gi"
        path = pod_path(entry.job, entry.info, entry.pod_set.name, "volumes", ("name", name))
        yield Finding("UnsuitableSharedMemory", "info", message, hint, *path)


def _volumes(training: Training) -> Iterator[Finding]:
    """Yield findings about paths of files that are in no volume, or in one that is empty in each new pod."""
    entry = training.entry
    for file in visible_files(training):
        for key, value in flat(file.value).items():
            if key.endswith("nvme_path") and str(value).startswith("/") and volume_at(training, str(value))[0] is None:
                message = f"{key} in {file.name} is {value}, which is in no volume: the disk of the node is not there"
                volume = "{name: nvme, hostPath: {path: /mnt/disks/ssd0, type: Directory}}"
                hint = f"mount the disk there: {training.patch(f'volumes: [{volume}], containers: [{{name: {entry.container.name}, volumeMounts: [{{name: nvme, mountPath: {value}}}]}}]')}"
                yield file.at(key, training.finding("DataNotMounted", "info", message, hint, 0))
            elif key.endswith("resume_from_checkpoint") and str(value).startswith("/"):
                kind, name = volume_at(training, str(value))
                if kind == "emptyDir":
                    message = f"{key} in {file.name} is {value}, in the volume {name!r} that is empty in every new pod: no checkpoint is there"
                    hint = "keep checkpoints on a claim that all nodes share: persistentVolumeClaim: {claimName: CLAIM}"
                    yield file.at(key, training.finding("OutputNotKept", "warning", message, hint, 0))


def _owner(training: Training) -> Iterator[Finding]:
    """Yield a finding for a claim of the input that makes a new disk, which only root may write to."""
    entry = training.entry
    security = mapping(entry.info.pod_spec(entry.pod_set.name).get("securityContext"))
    user = mapping(entry.container.fields.get("securityContext")).get("runAsUser", security.get("runAsUser"))
    if not isinstance(user, int) or user == 0 or "fsGroup" in security:
        return
    fresh = {
        str(mapping(d.data.get("metadata")).get("name"))
        for d in training.documents
        if d.data.get("kind") == "PersistentVolumeClaim"
        and _BLOCK.fullmatch(str(mapping(d.data.get("spec")).get("storageClassName")))
        and not mapping(d.data.get("spec")).get("dataSource")
    }
    for volume in entry.pod_set.volumes:
        if mapping(volume.get("persistentVolumeClaim")).get("claimName") in fresh:
            message = f"user {user} may not write to the volume {volume['name']!r}: a new disk belongs to root"
            hint = training.patch(f"securityContext: {{fsGroup: {user}}}")
            path = pod_path(entry.job, entry.info, entry.pod_set.name, "volumes", ("name", volume["name"]))
            yield Finding("OutputNotKept", "info", message, f"hand it to the group: {hint}", *path)


def _gated(training: Training) -> Iterator[Finding]:
    job, info = training.job, training.info
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
