"""Lints for storage: outputs that are gone with the pod, data that is not mounted, shared memory, and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from posixpath import basename, join, normpath

from trainc.findings import Finding, Severity, suggest
from trainc.findings.text import correct_spelling
from trainc.ir.commands.started import Start, read_command
from trainc.ir.entrypoints import Entrypoint, pod_path
from trainc.ir.info import Info, PodSet
from trainc.ir.parallelism import read_arguments
from trainc.ir.trainjob import TrainJob
from trainc.knowledge.tables import read
from trainc.kube import names
from trainc.kube.documents import Json, items, mapping
from trainc.kube.quantity import parse_quantity
from trainc.lints.config_files import visible_files
from trainc.lints.training import Training
from trainc.plugins.registry import programs
from trainc.reading.document import Surroundings
from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

_OUTPUT = pattern(read("readings")["output"], 2)
# Every option that sets an output path has one of these in its name.
_ENDINGS = ("dir", "path", "folder", "root")
_KEPT = pattern(read("readings")["kept"])
_PASSING = pattern(r"(?:\w+_)?(?:logs?|logging|runs?|tensorboard|tb|work)_?(?:dir|path|folder|root|directory)")
_DATA = pattern(r"(?:\w+_)?(?:data|datasets?|train|corpus)_?(?:dir|path|folder|root|directory|files?|prefix)?")
# What a program makes of its data where it is missing, and what a command copies.
_MADE, _COPIED = pattern(r"prepared|tokenized|cache"), pattern(r"\b(?:cp|mv) ([^\n;&|]+) [^\s;&|]")
_NAMES, _PATH_ENDS = pattern(r"[A-Za-z]{4,}"), pattern(r"[\s=:,'\"]+")
_FOR_OUTPUT = ("out", "ckpt", "checkpoint", "result", "saved", "runs")
_CACHE = pattern(r"CACHE|_HOME$")
_LOADED = ("load", "resume", "init", "pretrained", "from")
# Where clusters mount data; other folders may be part of the image.
_SHARED = pattern(read("readings")["shared"])
# Programs that copy files out of the pod, and options with which a trainer does.
_COPYING = frozenset(read("readings")["copying"])
_UPLOADED = frozenset(("push_to_hub", "hub_model_id", "upload"))
_SHM = "/dev/shm"  # noqa: S108 - a path in a pod
# What a container runtime gives without a volume.
_DEFAULT_SHM = 64 << 20
_INITIALIZERS = {names.DATASET_INITIALIZER: "dataset", names.MODEL_INITIALIZER: "model"}
# Volumes that each pod has for itself, and that are deleted with it.
_OWN = frozenset(("emptyDir", "ephemeral"))
# Volumes with given content, to which nothing can be stored.
_FILLED = frozenset(("secret", "configMap", "downwardAPI", "projected", "image"))
# Classes of disks, which one node mounts.
DISK = pattern(r"gp[23]|io[12]|standard-rwo|premium-rwo|pd-.*|managed-(?:csi|premium).*|.*ebs.*")
_ONE_NODE = frozenset(("ReadWriteOnce", "ReadWriteOncePod"))
_OF_SYSTEM = frozenset("/usr /usr/bin /usr/lib /usr/local /usr/local/bin /usr/local/lib /bin /lib /opt/conda".split())
_IN_MEMORY_SERVED = "cache:"
# What may put files into a volume, and how a command names a key for ssh.
_FILLING = pattern(r">|\b(?:git|cp|mv|curl|wget|tar|unzip|rsync|aws|gsutil|gcloud|rclone|tee|ln|pip|uv|download)\b")
# Where an image has files of its own, numbers and plurals in paths, and names that are too short to be misspelt.
_OF_IMAGES = ("/opt", "/app", "/usr", "/home", "/root", "/tmp", "/etc", "/var", "/src", "/srv", "/code", "/workspace/")  # noqa: S108
_DIGITS, _SHORTEST_MOUNT = pattern(r"s?\d*$|\d+"), 4
_SSH_KEY = pattern(r"(?:-i|IdentityFile[= ])\s*(/[\w./-]+)")
_OWN_KEYS = ("/root/.ssh/id_ed25519", "/root/.ssh/id_rsa", "/root/.ssh/id_ecdsa")
_REMOTE = ("git", "ssh", "scp", "rsync", "sftp", "pip", "pip3", "uv")


def output_paths(command: Sequence[Any]) -> list[str]:
    """Return the absolute output paths of a command line, except those that contain variables."""
    text = "\n".join(map(str, command))
    lower = text.lower()
    if "/" not in lower or not any(word in lower for word in _ENDINGS):
        return []
    paths = [path.rstrip("/") for path in _OUTPUT.findall(text)]
    return [path for path in paths if "$" not in path and "{" not in path]


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
    yield from _programs(training)
    copied = any(start.name in _COPYING for start in training.line.starts)
    reported: set[str] = set()
    for start in training.line.starts_of("launcher", "python"):
        settings = read_arguments(training.arguments(start)).settings
        uploads = copied or not _UPLOADED.isdisjoint(settings)
        first = len(start.argv) - len(start.launch.program) if start.launch is not None else start.program.start
        for key, setting in settings.items():
            path = (setting.value or "").strip("\"'").rstrip("/")
            if (path.startswith("/") or _is_folder_of_pod(training, key, path)) and path not in reported:
                for finding in _of_path(training, key.replace(".", "_"), path, first + setting.index, uploads=uploads):
                    reported.add(path)
                    yield finding
    for file in visible_files(training) if training.around else ():
        from trainc.knowledge.words import flat

        read = file.document is not None and file.path in training.text and not file.name.endswith((".py", ".sh"))
        for key, value in flat(file.value, into_lists=True).items() if read and not copied else ():
            path, name = str(value).rstrip("/"), key.rpartition(".")[2]
            if path in reported or not (path.startswith("/") or _is_folder_of_pod(training, name, path)):
                continue
            for finding in _of_path(training, name, path, 0, uploads="push_to_hub" in (file.text or "")):
                reported.add(path)
                yield file.at(key, finding)


def _programs(training: Training) -> Iterator[Finding]:
    """Yield a finding for a script or programs that a volume hides, and for a file of a ConfigMap that nobody may execute."""
    for mount in training.entry.container.mounts:
        folder, of = mount.get("mountPath"), _kind(_volume(training.entry, str(mount.get("name"))))
        if folder in _OF_SYSTEM and "subPath" not in mount and of in (*_FILLED, *_OWN):
            message = f"the volume at {folder} hides what the image has there, such as Python and other programs"
            place = training.entry.at("volumeMounts", ("mountPath", folder))
            yield Finding("CommandCannotStart", "warning", message, "mount it elsewhere, or files with subPath", *place)
    for start in training.line.starts:
        first = len(start.argv) - len(start.launch.program) if start.launch is not None else start.program.start
        words = {0: start.argv[0]} | ({first: start.argv[first]} if first < len(start.argv) else {})
        keys = _keys(training, start)
        for index, word in (*words.items(), *((0, key) for key in keys)):
            path = join(str(training.entry.container.fields.get("workingDir", "")), word)
            if not path.startswith("/") or "$" in path:
                continue
            kind, name = volume_at(training, path := normpath(path))
            source = mapping(_volume(training.entry, name).get(kind or ""))
            modes = [item.get("mode") for item in items(source.get("items")) if str(item.get("path")) == basename(path)]
            mode = next((mode for mode in (*modes, source.get("defaultMode")) if isinstance(mode, int)), 0o644)
            pods, own = training.entry.pod_set, training.entry.container.name
            others = (m for c in (*pods.init_containers, *pods.containers) if c.name != own for m in c.mounts)
            by_script = training.line.script is not None and _FILLING.search(training.text) is not None
            filled = by_script or path.startswith(("/workspace/model/", "/workspace/dataset/"))  # By the initializers.
            fresh = {"emptyDir": "empty in every new pod", "claim": "new in each job"}.get(str(kind), "")
            filled = filled or any(m.get("name") == name for m in others)
            if fresh and not filled and path.endswith((".py", ".sh")):
                message = f"{word} is in the volume {name!r}, which is {fresh} and hides what the image has there"
                hint = f"mount the volume elsewhere, or put the program in another folder of the image, such as /app/{basename(path)}"
                yield training.finding("CommandCannotStart", "warning", message, hint, index)
            elif word in keys and kind == "secret" and mode & 0o077:
                message = f"{word} is a key of the Secret volume {name!r} that others may read, so ssh refuses it"
                hint = "write defaultMode: 0400 in the volume"
                yield training.finding("CommandCannotStart", "warning", message, hint, 0)
                break
            elif word not in keys and kind in ("configMap", "secret") and index == 0 and not mode & 0o111:
                message = f"{word} is a file of the {kind} volume {name!r}: it is not executable, so its start fails with permission denied"
                hint = f"write bash {word}, or defaultMode: 0755 in the volume"
                yield training.finding("CommandCannotStart", "warning", message, hint, index)


def _keys(training: Training, start: Start) -> Sequence[str]:
    """Return the keys that a command hands to ssh, which refuses those of its own user, here root, that others may read."""
    if start.name not in _REMOTE or security_of(training.entry, "runAsUser") not in (None, 0):
        return ()
    text = (
        f"{' '.join(start.argv)} {start.variables.get('GIT_SSH_COMMAND') or training.variables.get('GIT_SSH_COMMAND')}"
    )
    return (*_SSH_KEY.findall(text), *(_OWN_KEYS if "git@" in text else ()))


def _is_folder_of_pod(training: Training, key: str, path: str) -> bool:
    """Return whether an option names a relative folder for output, and the container has no volume that may have it."""
    key = key.replace(".", "_")
    relative = path.startswith("./") or (path != "" and "/" not in path) or path.partition("/")[0].isidentifier()
    if not relative or any(c in path for c in ":$`") or not key.endswith(_ENDINGS) or _KEPT.fullmatch(key) is None:
        return False
    folders = (str(mount.get("mountPath")).rstrip("/") for mount in training.entry.container.mounts)
    return unused_claim(training, path) != "" or all(
        volume_at(training, folder)[0] in (*_FILLED, *_OWN) or folder == _SHM for folder in folders
    )


@lru_cache(maxsize=64)  # Each path of a command asks.
def _copied_paths(text: str) -> str:
    return "/ ".join(_PATH_ENDS.split(" ".join((*_COPIED.findall(text), ""))))


def _of_path(training: Training, key: str, path: str, index: int, *, uploads: bool) -> Iterator[Finding]:
    if key.startswith("resume") and not uploads:
        kind, _ = volume_at(training, path)
        hint = _claim_at(training, path)
        if kind in _OWN or (kind is None and (path.startswith("/tmp/") or "did you" in hint)):  # noqa: S108
            message = f"{path} is empty in every new pod, so no checkpoint is there to resume from"
            yield training.finding("OutputNotKept", "warning", message, hint, index)
    if key.startswith(_LOADED):
        return
    is_output = _KEPT.fullmatch(key) is not None
    uploads = uploads or f"{path}/" in _copied_paths(training.text)
    made = _MADE.search(key) is not None and volume_at(training, path)[0] in _FILLED
    if (is_output or made or (_PASSING.fullmatch(key) and not path.startswith("/tmp"))) and not uploads:  # noqa: S108
        kind, volume = volume_at(training, path)
        if kind is None or kind in _OWN:
            where = "in no volume" if kind is None else f"in the {kind} volume {volume!r}"
            message = f"{path} is {where}, so what the program writes there is gone with its pod"
            may_use = is_output and kind is None
            if unused := may_use and unused_claim(training, path):
                message = f"{path} is {where}, and no output goes to the claim at {unused}: it is gone with its pod"
            kept = unused or (may_use and unused_claim(training, path, used=True))
            hint = f"write to {kept}/{basename(path)}" if kept else _claim_at(training, path)
            yield training.finding("OutputNotKept", "warning" if unused else "info", message, hint, index)
        elif (is_output or made) and (why := unwritable(training, path)):
            yield training.finding("OutputNotKept", "warning", *why, index)
    elif near := _misspelt(training, path):
        message = f"{path} is in no volume of the pod, and nearly in the one at {near}"
        hint = suggest(path, [near + "/".join(["", *path.split("/")[near.count("/") + 1 :]])])
        yield training.finding("DataNotMounted", "warning", message, hint, index)
    elif _SHARED.fullmatch(path) and volume_at(training, path)[0] is None:
        yield from _of_data(training, key, path, index)


def _misspelt(training: Training, path: str) -> str:
    """Return where a volume is mounted whose path the beginning of another one misspells, if that is in none."""
    mounts = [str(mount.get("mountPath")).rstrip("/") for mount in training.entry.container.mounts]
    if not path.startswith("/") or path.startswith(_OF_IMAGES) or volume_at(training, path)[0] is not None:
        return ""
    starts = ("/".join(path.split("/")[: mount.count("/") + 1]) for mount in mounts)
    pairs = ((correct_spelling(start, [mount]), start) for mount, start in zip(mounts, starts, strict=True))
    # Folders that a number or a plural tells apart are not the same.
    alike = (near for near, start in pairs if near and _DIGITS.sub("", near) != _DIGITS.sub("", start))
    return next((near for near in alike if len(near) > _SHORTEST_MOUNT), "")


def _of_data(training: Training, key: str, path: str, index: int) -> Iterator[Finding]:
    unused, hint = unused_claim(training, f"{key} {path}", alike=True), _claim_at(training, path)
    message = f"{path} is in no volume of the pod, so it is there only if the image has it"
    if unused:
        message = f"{path} is in no volume of the pod, and nothing uses the claim at {unused}"
        hint = f"mount it where {path} is, or write its path below {unused}"
    if unused or _DATA.fullmatch(key):
        yield training.finding("DataNotMounted", "warning" if unused else "info", message, hint, index)


def volume_at(training: Training, path: str) -> tuple[str | None, str]:
    """Return the kind and the name of the volume that has a path; None as its kind if there is no such volume."""
    name = str(_mount_at(training.entry, path).get("name", ""))
    return (_kind(_volume(training.entry, name)) if name else None), name


def unwritable(training: Training, path: str) -> tuple[str, str] | None:
    """Return why a program cannot write to a path, and a hint; None if it may."""
    (kind, name), user = volume_at(training, path), security_of(training.entry, "runAsUser")
    if name and _is_read_only(training.entry, path):
        why = f"in the {kind} volume {name!r}, which is mounted read-only, so the program cannot write there"
        return f"{path} is {why}", f"{'' if kind in _FILLED else 'remove readOnly, or '}write to a volume of its own"
    if not name and security_of(training.entry, "readOnlyRootFilesystem") is True:
        why = "in no volume, and readOnlyRootFilesystem lets the container write to volumes only"
    elif not name and isinstance(user, int) and user > 0 and f"{path}/".startswith("/root/"):
        why = f"root's, and the container runs as user {user}, who may not write there"
    else:
        return None
    return f"{path} is {why}", "write to a volume, such as an emptyDir"


def security_of(entry: Entrypoint, field: str) -> Any:
    """Return a field of a container's security context, or of its pod's."""
    of_pod = mapping(entry.info.pod_spec(entry.pod_set.name).get("securityContext"))
    return mapping(entry.container.fields.get("securityContext")).get(field, of_pod.get(field))


def unused_claim(training: Training, path: str, *, alike: bool = False, used: bool = False) -> str:
    """Return where a claim is mounted that no word or variable names, in the same folder as a path or meant for output; or nothing.

    A variable of a cache is no use of it. With `alike`, it is one that has a word of the path in its own, with `used` one
    that is meant for output and may be named.
    """
    container = training.entry.container
    files = (file.text or "" for file in visible_files(training))
    values = (value or "" for name, value in training.variables.items() if not _CACHE.search(name))
    named = " ".join((training.text, *values, *files))
    named = "\n".join(_PATH_ENDS.split(named)) if alike else named
    top = "/".join(path.split("/")[:2])
    for mount in container.mounts:
        place = str(mount.get("mountPath", "")).rstrip("/")
        related = (place.startswith(f"{top}/") and not used) or any(
            word in place.split("/")[-1] for word in _FOR_OUTPUT
        )
        related = bool({*_NAMES.findall(place)} & {*_NAMES.findall(path)}) if alike else related
        kind = _kind(_volume(training.entry, str(mount.get("name"))))
        if (
            related
            and kind in ("persistentVolumeClaim", "claim")
            and (alike or not _is_read_only(training.entry, place))
            and (used or (f"\n{place}" if alike else place) not in named)
        ):
            return place
    return ""


def _mount_at(entry: Entrypoint, path: str) -> Json:
    best: Json = {}
    for mount in entry.container.mounts:
        mount_path = str(mount.get("mountPath", "")).rstrip("/")
        inside = path == mount_path or path.startswith(f"{mount_path}/")
        if inside and len(mount_path) >= len(str(best.get("mountPath", "")).rstrip("/")):
            best = mount
    return best


def _volume(entry: Entrypoint, name: str) -> Json:
    return next((v for v in entry.pod_set.volumes if v.get("name") == name), {})


def _kind(volume: Json) -> str:
    """Return the kind of a volume; those that the pod does not have are claims that JobSet makes."""
    return next((kind for kind in volume if kind != "name"), "claim")


def _is_read_only(entry: Entrypoint, path: str) -> bool:
    mount = _mount_at(entry, path)
    volume = _volume(entry, str(mount.get("name")))
    source = volume.get(_kind(volume))
    of_volume = isinstance(source, Mapping) and source.get("readOnly") is True
    return mount.get("readOnly") is True or of_volume or _kind(volume) in _FILLED


def _mounting(training: Training, volume: str, name: str, path: str) -> str:
    """Return the field of a TrainJob that adds a volume to the pods and mounts it in this container."""
    container = f"{{name: {training.entry.container.name}, volumeMounts: [{{name: {name}, mountPath: {path}}}]}}"
    return training.patch(f"volumes: [{volume}], containers: [{container}]")


def _claim_at(training: Training, path: str) -> str:
    volume = "{name: storage, persistentVolumeClaim: {claimName: CLAIM}}"
    if not path.startswith("/"):
        patch = _mounting(training, volume, "storage", "/storage")
        return f"write to a claim, as in /storage/{path.removeprefix('./')}, with its name in place of CLAIM: {patch}"
    top, mounted = "/" + path.split("/")[1], [str(mount.get("mountPath")) for mount in training.entry.container.mounts]
    if near := correct_spelling(top, mounted):
        return suggest(path, [near + path.removeprefix(top)])
    patch = _mounting(training, volume, "storage", top)
    return f"mount a claim there, with its name in place of CLAIM: {patch}"


def _shared_memory(training: Training) -> Iterator[Finding]:
    """Yield a finding for a volume at /dev/shm that is on a disk, or not larger than what is there without one."""
    kind, name = volume_at(training, _SHM)
    for mount in training.entry.container.mounts if kind is None else ():
        path, volume = (
            str(mount.get("mountPath")),
            mapping(_volume(training.entry, str(mount.get("name"))).get("emptyDir")),
        )
        if volume.get("medium") == "Memory" and correct_spelling(path.rstrip("/"), [_SHM]):
            message = f"memory is mounted at {path}, where nothing looks for it: {_SHM} still has 64 MB"
            place = training.entry.at("volumeMounts", ("name", mount.get("name")), "mountPath")
            yield Finding("VolumeNotMounted", "warning", message, suggest(path, [_SHM]), *place)
    source = _volume(training.entry, name).get("emptyDir")
    if kind != "emptyDir" or not isinstance(source, Mapping):
        return
    limit = source.get("sizeLimit")
    in_memory = str(source.get("medium")).lower().startswith(("memory", "hugepages"))
    if in_memory and (limit is None or parse_quantity(str(limit)).units > _DEFAULT_SHM):
        return
    hint = f"write {{name: {name}, emptyDir: {{medium: Memory, sizeLimit: 16Gi}}}}"
    message = f"the volume {name!r} at {_SHM} has {limit}, no more than the 64 MB that are there without it"
    if not in_memory:
        message = f"the volume {name!r} at {_SHM} is on a disk, so data loaders and NCCL share their data through files"
        hint += ": it then is in memory"
    location = pod_path(training.job, training.info, training.entry.pod_set.name, "volumes", ("name", name))
    yield Finding("UnsuitableSharedMemory", "info", message, hint, *location)


def written(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for a command that writes to a volume that is read-only, and for a clone to where the last one is."""
    line = read_command(entry.argv, programs(""))
    from trainc.ir.commands.shell import Command, commands
    from trainc.knowledge.words import written_by

    found = commands(line.items) if line.script is not None else [(Command(entry.argv), True)]
    for command, sure in found:
        for path in [*written_by(command)] if sure else ():
            mount = _mount_at(entry, path)
            if not mount or "$" in path or "*" in path:
                continue
            kind, name = _kind(_volume(entry, str(mount["name"]))), command.words[0] if command.words else "the shell"
            again_made = name == "mkdir" and (kind not in _FILLED or path == normpath(str(mount["mountPath"])))
            if _is_read_only(entry, path) and not again_made:
                message = f"{name} writes {path}, and the {kind} volume {mount['name']!r} is read-only there"
                hint = "write to an emptyDir, such as a copy of the folder"
                yield entry.finding("OutputNotKept", "warning", message, hint, line.script or 0)
                return
            again = (
                mapping(entry.info.template.get("failurePolicy")).get("maxRestarts") or entry.path[-2] != "containers"
            )
            kept = kind == "persistentVolumeClaim" and command.words[:2] == ("git", "clone") and again
            if kept and not any(word in entry.text for word in (f"rm -rf {path}", f"rm -fr {path}", "mktemp", "||")):
                message = (
                    f"{path} is on a claim, so a pod that starts again finds the last clone there, and git refuses"
                )
                yield entry.finding(
                    "CommandCannotStart", "info", message, f"write rm -rf {path} before it", line.script or 0
                )


def volumes(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings about a job's volumes, as far as its own documents show them. Runs on sized jobs."""
    for pod_set in info.pod_sets:
        yield from _unused(job, info, pod_set)
        if pod_set.ancestor in _INITIALIZERS:
            yield from _unshared(job, info, pod_set)
    yield from _templates(job, info)


def _mounts(pod_set: PodSet) -> Iterator[Json]:
    for container in (*pod_set.containers, *pod_set.init_containers):
        yield from container.mounts
        yield from container.fields.get("volumeDevices", ())


def _unused(job: TrainJob, info: Info, pod_set: PodSet) -> Iterator[Finding]:
    """Yield findings for volumes of the template that no container mounts: the pod still waits for them."""
    mounted = {mount.get("name") for mount in _mounts(pod_set)}
    volumes = info.pod_spec(pod_set.name).get("volumes", ())
    if mounted - {volume.get("name") for volume in volumes}:
        return  # A mount of no volume is refused, and may be meant for one of these.
    for volume in volumes:
        if volume.get("name") not in mounted:
            path, about = pod_path(job, info, pod_set.name, "volumes", ("name", volume.get("name")))
            message = f"no container of {pod_set.name!r} mounts the volume {volume.get('name')!r}"
            hint = f"add volumeMounts: [{{name: {volume.get('name')}, mountPath: /{volume.get('name')}}}] to the container, or remove the volume"
            severity: Severity = "warning" if about == "trainjob" else "info"
            yield Finding("VolumeNotMounted", severity, message, hint, path, about)


def _claim_templates(info: Info) -> Iterator[tuple[int, int, Json]]:
    for i, policy in enumerate(info.template.get("volumeClaimPolicies") or ()):
        for j, template in enumerate(policy.get("templates") or ()):
            yield i, j, template


def _sources(pod_set: PodSet, info: Info) -> dict[str, tuple[str, Any]]:
    """Return kind and identity of the storage behind each volume that a container mounts."""
    mounted = dict.fromkeys(str(mount.get("name")) for mount in _mounts(pod_set))
    return {name: source for name in mounted if (source := _source(pod_set, name, info))}


def _source(pod_set: PodSet, name: str, info: Info) -> tuple[str, Any] | None:
    """Return kind and identity of the storage behind a mount; None if it stores no data or is unknown."""
    volume = next((v for v in pod_set.volumes if v.get("name") == name), None)
    if volume is None:
        shared = any((t.get("metadata") or {}).get("name") == name for _, _, t in _claim_templates(info))
        return ("volumeClaimPolicies", name) if shared else None
    kinds = [kind for kind, value in volume.items() if kind != "name" and value is not None]
    if len(kinds) != 1 or kinds[0] in _FILLED:
        return None
    kind, source = kinds[0], volume[kinds[0]]
    if kind == "persistentVolumeClaim":
        return kind, source.get("claimName")
    return kind, repr(sorted(source.items())) if isinstance(source, Mapping) else repr(source)


def _unshared(job: TrainJob, info: Info, pod_set: PodSet) -> Iterator[Finding]:
    step = job.initializer(pod_set.ancestor or "")
    sources = [v.get("value") for c in pod_set.containers for v in c.env if v["name"] == "STORAGE_URI"]
    if info.trainer is None or (step is None and not sources):
        return
    # A cache serves the data to the trainer from memory.
    if any(source is None or source.lower().startswith(_IN_MEMORY_SERVED) for source in sources):
        return
    filled = _sources(pod_set, info)
    readers = [p for p in info.pod_sets if p.ancestor == names.TRAINER or p.role == names.NODE]
    sources_read = {source for reader in readers for source in _sources(reader, info).values()}
    if not filled or any(source in sources_read and source[0] not in _OWN for source in filled.values()):
        return
    name, (kind, identity) = next(iter(filled.items()))
    volume = f"claim {identity!r}" if kind == "persistentVolumeClaim" else f"{kind} volume {name!r}"
    message = f"{pod_set.name!r} fills its {volume}, and the trainer's pods do not mount it: they find an empty folder"
    hint = f"give both jobs a volume {name!r} of one persistentVolumeClaim, and mount it in both"
    if kind in _OWN:
        message = f"{pod_set.name!r} fills an {kind} volume, which is gone with its pod: the trainer finds nothing"
    path, about = pod_path(job, info, pod_set.name, "volumes", ("name", name))
    has_cache = any(variable["name"] == "CACHE_IMAGE" for c in pod_set.containers for variable in c.env)
    if has_cache and step is not None and step.storage_uri is not None:
        # The runtime is made for a cache, and the job downloads instead.
        path, about = ("spec", "initializer", (pod_set.ancestor or "").partition("-")[0], "storageUri"), "trainjob"
        name = info.release.sharing_runtime
        hint += f"; the runtime {name} does so: `trainc runtimes show {name}` prints it"
    yield Finding("InitializerVolumeNotShared", "warning", message, hint, path, about)


def _templates(job: TrainJob, info: Info) -> Iterator[Finding]:
    for i, j, template in _claim_templates(info):
        name = (template.get("metadata") or {}).get("name")
        modes = set((template.get("spec") or {}).get("accessModes") or ())
        path = ("spec", "template", "spec", "volumeClaimPolicies", i, "templates", j, "spec", "accessModes")
        # Steps that run one after another may be on the same node; the pods of one step are not.
        pods = max((p.pods for p in info.pod_sets if any(m.get("name") == name for m in _mounts(p))), default=0)
        if modes and modes <= _ONE_NODE and pods > 1:
            yield _one_node(str(name), sorted(modes), pods, path, "runtime")
        policy = info.template["volumeClaimPolicies"][i].get("retentionPolicy") or {}
        if policy.get("whenDeleted", "Delete") == "Delete" and _holds_output(info, str(name)):
            where = ("spec", "template", "spec", "volumeClaimPolicies", i)
            message = f"the claim {name!r} is deleted with the job, and the job writes its output there"
            hint = (
                f"copy the runtime (`trainc runtimes show {job.runtime_name}` prints a built-in one), set retentionPolicy: "
                "{whenDeleted: Retain} in it, and compile with --name-hash (see RetainedClaim); or write to a claim of your own"
            )
            # An output that the TrainJob itself sets is one that its author wants to keep.
            requested = (*(job.trainer.command or ()), *(job.trainer.args or ()))
            chosen = bool(requested) and _holds_output(info, str(name), requested)
            yield Finding("OutputDeletedWithJob", "warning" if chosen else "info", message, hint, where, "runtime")


def _holds_output(info: Info, volume: str, command: Sequence[str] = ()) -> bool:
    """Return whether a container writes its output to a volume: by its own command line, or by this `command`."""
    for pod_set in info.pod_sets:
        for container in pod_set.containers:
            line = (*(info.command or container.command), *(info.args or container.fields.get("args", ())))
            mounts = [str(m.get("mountPath")) for m in container.mounts if m.get("name") == volume]
            paths = output_paths(command or line)
            if any(f"{path}/".startswith(f"{mount.rstrip('/')}/") for path in paths for mount in mounts):
                return True
    return False


def _one_node(claim: str, modes: Sequence[str], pods: int, path: Any, about: Any) -> Finding:
    message = f"the claim {claim!r} is {' and '.join(modes)}: only one node can mount it, so other pods of the {pods} wait forever"
    hint = "use a claim with accessModes: [ReadWriteMany], or one claim per pod"
    return Finding("ClaimOnSeveralNodes", "warning", message, hint, path, about)


def claims_on_several_nodes(job: TrainJob, info: Info, around: Surroundings) -> Iterator[Finding]:
    """Yield a warning for each claim of the input that only one node can mount and pods of several use.

    Runs on sized jobs.
    """
    claims = around.of("PersistentVolumeClaim", job.namespace)
    for pod_set in info.pod_sets if claims else ():
        for volume in pod_set.volumes:
            name = str((volume.get("persistentVolumeClaim") or {}).get("claimName"))
            claim = claims.get(name)
            spec = mapping(claim.data.get("spec")) if claim else {}
            modes, kind = set(map(str, items(spec.get("accessModes")))), str(spec.get("storageClassName"))
            place = pod_path(job, info, pod_set.name, "volumes", ("name", volume["name"]))
            if "ReadWriteMany" in modes and DISK.fullmatch(kind) and spec.get("volumeMode") != "Block":
                message = f"the claim {name!r} is ReadWriteMany, and one node mounts a disk of {kind}: it stays Pending"
                hint = "use the class of a shared file system, such as one of EFS, Filestore, Azure Files or CephFS"
                yield Finding("ClaimOnSeveralNodes", "warning", message, hint, *place)
            mounted = any(mount.get("name") == volume["name"] for mount in _mounts(pod_set))
            if modes and modes <= _ONE_NODE and pod_set.pods > 1 and mounted:
                yield _one_node(name, sorted(modes), pod_set.pods, *place)
