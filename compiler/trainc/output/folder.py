"""What an output folder holds and shall hold: the plan of a build, and carrying it out.

trainc keeps a list of the files it wrote in `.trainc/owned`; only those are ever replaced or removed. Nothing in that
folder ends in .yaml, .yml or .json, so no GitOps tool applies it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainc.diagnostics import Diagnostic

STATE_FOLDER = ".trainc"
_OWNED = "owned"


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference between a folder and what shall be in it. Paths are relative, with forward slashes.

    `old` and `new` hold the text of each file that changes; None means that there is no such file.
    """

    folder: str
    old: Mapping[str, str | None]
    new: Mapping[str, str | None]
    owned: frozenset[str]
    refused: tuple[Diagnostic, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether any file differs."""
        return bool(self.new)

    def described(self) -> Iterator[tuple[str, str]]:
        """(verb, path) of each change: created, changed or removed."""
        for path, text in self.new.items():
            yield "removed" if text is None else ("created" if self.old[path] is None else "changed"), path


def file_name(namespace: str, name: str) -> str:
    """Where a job's manifests go: `<namespace>/<name>.yaml`, without the folder where there is no namespace."""
    return f"{namespace}/{name}.yaml" if namespace else f"{name}.yaml"


def plan(folder: str, wanted: Mapping[str, str]) -> Plan:
    """Compare `folder` with the texts it shall hold, by relative path. Reads, and writes nothing."""
    owned = _read_owned(folder)
    old: dict[str, str | None] = {}
    new: dict[str, str | None] = {}
    refused: list[Diagnostic] = []
    for path, text in sorted(wanted.items()):
        current = _read(os.path.join(folder, path))
        if current == text:
            continue
        if current is not None and path not in owned:
            refused.append(_in_the_way(folder, path))
        old[path], new[path] = current, text
    for path in sorted(owned - set(wanted)):
        current = _read(os.path.join(folder, path))
        if current is not None:
            old[path], new[path] = current, None
    return Plan(folder, old, new, frozenset(wanted), tuple(refused))


def carry_out(plan: Plan) -> None:
    """Write what the plan says, each file whole or not at all, and remember which files are trainc's."""
    for path, text in plan.new.items():
        target = os.path.join(plan.folder, path)
        if text is None:
            os.remove(target)
            _remove_empty(os.path.dirname(target), plan.folder)
        else:
            _write(target, text)
    owned = os.path.join(plan.folder, STATE_FOLDER, _OWNED)
    listed = "".join(f"{path}\n" for path in sorted(plan.owned))
    if _read(owned) != listed:
        _write(owned, listed)


def _read_owned(folder: str) -> frozenset[str]:
    return frozenset((_read(os.path.join(folder, STATE_FOLDER, _OWNED)) or "").splitlines())


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        # No text of ours: it differs from whatever shall be there.
        return ""


def _write(path: str, text: str) -> None:
    """Replace a file in one step: a reader sees the old text or the new one."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(dir=folder, prefix=".trainc-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        # mkstemp's files are private; output is for others to read, as far as the umask lets them.
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _remove_empty(folder: str, root: str) -> None:
    while folder != root and not os.listdir(folder):
        os.rmdir(folder)
        folder = os.path.dirname(folder)


def _in_the_way(folder: str, path: str) -> Diagnostic:
    message = f"{os.path.join(folder, path)} is there already and trainc did not write it"
    return Diagnostic("FileInTheWay", "error", message, "move it away, or choose another output folder")
