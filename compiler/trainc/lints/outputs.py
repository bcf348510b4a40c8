"""What a program writes and reads on disk: outputs that are gone with the pod, data that is not mounted, shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.findings import Finding
from trainc.ir.commands.programs import base
from trainc.ir.entrypoints import pod_path
from trainc.ir.info import Info
from trainc.ir.parallelism import Setting, read_arguments
from trainc.kube.quantity import parse_quantity
from trainc.lints.training import Training
from trainc.startup.patterns import pattern

_OUTPUT = pattern(
    r"(?:^|[\s\"'])-*(?:[\w.]*[._-])?(?:output|checkpoints?|ckpt|save|log|run)[_-]?(?:dir|path|folder|root)(?:=|\s+)[\"']?(/[^\s\"';&|]+)",
    2,
)
# Every option that sets an output path has one of these in its name.
_ENDINGS = ("dir", "path", "folder", "root")
_KEPT = pattern(
    r"(?:\w+_)?(?:out|outputs?|ckpts?|checkpoints?|saves?|results?|dump|exp)_?(?:dir|path|folder|root|directory)|save|output|(?:\w+_)?default_root_dir"
)
_PASSING = pattern(r"(?:\w+_)?(?:logs?|logging|runs?|tensorboard|tb|work)_?(?:dir|path|folder|root|directory)")
_DATA = pattern(r"(?:\w+_)?(?:data|datasets?|train|corpus)_?(?:dir|path|folder|root|directory|files?|prefix)?")
_LOADED = ("load", "resume", "init", "pretrained", "from")
# Where clusters mount data; other folders may be part of the image.
_SHARED = pattern(
    r"/(?:mnt|data\d*|datasets?|shared|nfs|lustre|scratch|fsx|gpfs|efs|beegfs|storage|vol\w*|pvc|s3|gcs)(?:/.*)?"
)
_OWN = frozenset(("emptyDir", "ephemeral"))
# Programs that copy files out of the pod, and options with which a trainer does.
_COPYING = frozenset(
    (
        *("aws", "gsutil", "gcloud", "az", "azcopy", "rclone", "s5cmd", "mc", "hf", "huggingface-cli", "rsync", "scp"),
        *("s3cmd", "ossutil", "obsutil", "wandb", "dvc", "kubectl", "curl"),
    )
)
_UPLOADED = frozenset(("push_to_hub", "hub_model_id", "upload"))
_WORKERS = pattern(r"(?:\w+_)?(?:num_workers|num_data_workers|dataloader_workers|workers)")
_SHM = "/dev/shm"  # noqa: S108 - a path in a pod
# What a container runtime gives without a volume.
_DEFAULT_SHM = 64 << 20


def output_paths(words: Sequence[Any]) -> list[str]:
    """Return the absolute output paths of a command line, except those that contain variables."""
    text = "\n".join(map(str, words))
    lower = text.lower()
    if "/" not in lower or not any(word in lower for word in _ENDINGS):
        return []
    found = [path.rstrip("/") for path in _OUTPUT.findall(text)]
    return [path for path in found if "$" not in path and "{" not in path]


def claimed_paths(pod_spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (claim, path inside it) for each place on a claim to which a container of a pod writes."""
    claims = {
        volume.get("name"): volume["persistentVolumeClaim"]["claimName"]
        for volume in pod_spec.get("volumes") or ()
        if (volume.get("persistentVolumeClaim") or {}).get("claimName")
    }
    for container in pod_spec.get("containers") or () if claims else ():
        paths = output_paths((*(container.get("command") or ()), *(container.get("args") or ())))
        for mount in container.get("volumeMounts") or ():
            base_path = str(mount.get("mountPath", "")).rstrip("/")
            for path in paths:
                if mount.get("name") in claims and (path == base_path or path.startswith(f"{base_path}/")):
                    inside = f"{mount.get('subPath', '')}{path[len(base_path) :]}"
                    yield str(claims[mount["name"]]), inside


def storage(training: Training) -> Iterator[Finding]:
    """Yield findings about the paths in the arguments of each program, and about its shared memory."""
    if not training.entry.trains:
        return
    yield from _shared_memory(training)
    copied = any(base(start.words[0]) in _COPYING for start in training.line.starts)
    reported: set[str] = set()
    for start in training.line.ran("launcher", "python"):
        settings = read_arguments(training.arguments(start)).settings
        uploads = copied or not _UPLOADED.isdisjoint(settings)
        first = len(start.words) - len(start.launch.program) if start.launch is not None else start.program.start
        for key, setting in settings.items():
            path = (setting.value or "").strip("\"'").rstrip("/")
            if path.startswith("/") and path not in reported:
                found = next(
                    _of_path(training, key.replace(".", "_"), path, first + setting.index, uploads=uploads), None
                )
                if found is not None:
                    reported.add(path)
                    yield found
            elif _SHM not in reported and _workers(key, setting) > 1 and _has_default_shm(training):
                reported.add(_SHM)
                yield _few(training, setting.written, first + setting.index)


def _of_path(training: Training, key: str, path: str, index: int, *, uploads: bool) -> Iterator[Finding]:
    if key.startswith(_LOADED):
        return
    kept = _KEPT.fullmatch(key) is not None
    if (kept or (_PASSING.fullmatch(key) and not path.startswith("/tmp"))) and not uploads:  # noqa: S108
        kind, volume = _volume_at(training, path)
        if kind is None or kind in _OWN:
            where = "in no volume" if kind is None else f"in the {kind} volume {volume!r}"
            message = f"{path} is {where}, so what the program writes there is gone with its pod"
            yield training.finding("OutputNotKept", "info", message, _claim_at(training, path), index)
    elif _DATA.fullmatch(key) and _SHARED.fullmatch(path) and _volume_at(training, path)[0] is None:
        message = f"{path} is in no volume of the pod, so it is there only if the image has it"
        yield training.finding("DataNotMounted", "info", message, _claim_at(training, path), index)


def _volume_at(training: Training, path: str) -> tuple[str | None, str]:
    """Return the kind and the name of the volume that has a path; None as its kind if there is no such volume."""
    best, name = "", ""
    for mount in training.entry.container.mounts:
        place = str(mount.get("mountPath", "")).rstrip("/")
        if (path == place or path.startswith(f"{place}/")) and len(place) >= len(best):
            best, name = place, str(mount.get("name"))
    volume = next((v for v in training.entry.pod_set.volumes if v.get("name") == name), None)
    if not name:
        return None, ""
    return next((kind for kind in volume or {} if kind != "name"), "claim"), name


def _claim_at(training: Training, path: str) -> str:
    folder = "/" + path.split("/")[1]
    volume = "{name: storage, persistentVolumeClaim: {claimName: CLAIM}}"
    return f"mount a claim there, with its name in place of CLAIM: {_patch(training, volume, 'storage', folder)}"


def _patch(training: Training, volume: str, name: str, path: str) -> str:
    """Return, in one line, the field of a TrainJob that adds a volume to the pods and mounts it in this container."""
    info, entry = training.info, training.entry
    container = f"{{name: {entry.container.name}, volumeMounts: [{{name: {name}, mountPath: {path}}}]}}"
    spec = f"volumes: [{volume}], containers: [{container}]"
    if info.release.patch_field == "runtimePatches":
        job = f"{{name: {entry.pod_set.name}, template: {{spec: {{template: {{spec: {{{spec}}}}}}}}}}}"
        spec_field = f"{{template: {{spec: {{replicatedJobs: [{job}]}}}}}}"
        return f"runtimePatches: [{{manager: acme.io/me, trainingRuntimeSpec: {spec_field}}}]"
    target = f"targetJobs: [{{name: {entry.pod_set.name}}}]"
    if info.release.patch_field == "podTemplateOverrides":
        return f"podTemplateOverrides: [{{{target}, spec: {{{spec}}}}}]"
    return f"podSpecOverrides: [{{{target}, {spec}}}]"


def _workers(key: str, setting: Setting) -> int:
    if not key.endswith("workers"):
        return 0
    return (setting.number or 0) if _WORKERS.fullmatch(key.rpartition(".")[2]) else 0


def _has_default_shm(training: Training) -> bool:
    spec = training.info.pod_spec(training.entry.pod_set.name)
    return _volume_at(training, _SHM)[0] is None and spec.get("hostIPC") is not True


def _few(training: Training, written: str, index: int) -> Finding:
    message = f"{written}: workers pass their batches through {_SHM}, which has 64 MB unless a volume is mounted there"
    volume = "{name: dshm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}"
    hint = f"mount memory there; it counts as memory of the container: {_patch(training, volume, 'dshm', _SHM)}"
    return training.finding("UnsuitableSharedMemory", "info", message, hint, index)


def _shared_memory(training: Training) -> Iterator[Finding]:
    """Yield a finding for a volume at /dev/shm that is on a disk, or not larger than what is there without one."""
    kind, name = _volume_at(training, _SHM)
    volume = next((v for v in training.entry.pod_set.volumes if v.get("name") == name), {})
    source = volume.get("emptyDir")
    if kind != "emptyDir" or not isinstance(source, Mapping):
        return
    limit = source.get("sizeLimit")
    in_memory = source.get("medium") in ("Memory", *_huge(source))
    if in_memory and (limit is None or parse_quantity(str(limit)).units > _DEFAULT_SHM):
        return
    path, about = pod_path(training.job, training.info, training.entry.pod_set.name, "volumes", ("name", name))
    hint = f"write {{name: {name}, emptyDir: {{medium: Memory, sizeLimit: 16Gi}}}}"
    if not in_memory:
        message = f"the volume {name!r} at {_SHM} is on a disk, so data loaders and NCCL share their data through files"
        yield Finding("UnsuitableSharedMemory", "info", message, f"{hint}: it then is in memory", path, about=about)
    else:
        message = f"the volume {name!r} at {_SHM} has {limit}, no more than the 64 MB that are there without it"
        yield Finding("UnsuitableSharedMemory", "info", message, hint, path, about=about)


def _huge(source: Mapping[str, Any]) -> tuple[str, ...]:
    medium = str(source.get("medium"))
    return (medium,) if medium.startswith("HugePages") else ()


def restarts(training: Training) -> Iterator[Finding]:
    """Yield an info about how often a crash that repeats is tried again, if the launcher's restarts are set."""
    for start in training.line.starts:
        launch = start.launch
        option = launch.given(frozenset(("max-restarts",))) if launch is not None else None
        value = training.value(option.value or "", launch) if option is not None else None
        if option is None or value is None or not value.isdecimal() or int(value) < 1:
            continue
        of_workers, of_pods, of_job = int(value), _backoff(training), _job_restarts(training.info)
        if not of_pods and not of_job:
            continue
        several = [f"{of_pods + 1} pods" if of_pods else "", f"{of_job + 1} times by the JobSet" if of_job else ""]
        runs = (of_workers + 1) * (of_pods + 1) * (of_job + 1)
        message = (
            f"{option.written} {value} multiplies with the restarts of the pods: a crash that repeats is run up to {runs} times "
            f"({of_workers + 1} by the launcher, in {' and '.join(filter(None, several))})"
        )
        hint = "set backoffLimit: 0 in the job template of the runtime to keep only the launcher's restarts"
        yield training.finding("RestartsMultiply", "info", message, hint, option.index)


def _backoff(training: Training) -> int:
    index = next(i for i, each in enumerate(training.info.pod_sets) if each.name == training.entry.pod_set.name)
    spec = training.info.template["replicatedJobs"][index]["template"].get("spec") or {}
    limit = spec.get("backoffLimit", 6)
    return limit if isinstance(limit, int) else 6


def _job_restarts(info: Info) -> int:
    restarts_of_all = (info.template.get("failurePolicy") or {}).get("maxRestarts", 0)
    return restarts_of_all if isinstance(restarts_of_all, int) else 0
