"""Output paths of commands, from options such as --output_dir, and the places on claims to which they write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.startup.patterns import pattern

_OUTPUT = pattern(
    r"(?:^|[\s\"'])-*(?:[\w.]*[._-])?(?:output|checkpoints?|ckpt|save|log|run)[_-]?(?:dir|path|folder|root)(?:=|\s+)[\"']?(/[^\s\"';&|]+)",
    2,
)
# Every option that sets an output path has one of these in its name.
_ENDINGS = ("dir", "path", "folder", "root")


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
            base = str(mount.get("mountPath", "")).rstrip("/")
            for path in paths:
                if mount.get("name") in claims and (path == base or path.startswith(f"{base}/")):
                    inside = f"{mount.get('subPath', '')}{path[len(base) :]}"
                    yield str(claims[mount["name"]]), inside
