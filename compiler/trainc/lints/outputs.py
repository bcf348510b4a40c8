"""Where commands write: the paths of options such as --output_dir, and jobs that write to one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.startup.patterns import pattern

_OUTPUT = pattern(
    r"(?:^|[\s\"'])-*(?:[\w.]*[._-])?(?:output|checkpoints?|ckpt|save|log|run)[_-]?(?:dir|path|folder|root)(?:=|\s+)[\"']?(/[^\s\"';&|]+)",
    2,
)
# An option without any of these in its name is none that says where to write.
_ENDINGS = ("dir", "path", "folder", "root")


def output_paths(words: Sequence[Any]) -> list[str]:
    """Absolute paths that a command line is given to write to, without variables in them."""
    text = "\n".join(map(str, words))
    lower = text.lower()
    if "/" not in lower or not any(word in lower for word in _ENDINGS):
        return []
    found = [path.rstrip("/") for path in _OUTPUT.findall(text)]
    return [path for path in found if "$" not in path and "{" not in path]


def claimed_paths(pod_spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(claim, path inside of it) of each place on a claim that a container of a pod writes to."""
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
