"""Files that a command reads, as far as the input has their text: from a mounted ConfigMap, or written by the script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import join, normpath
from typing import Any

from trainc.findings import CompileError
from trainc.lints.training import Training
from trainc.options import Limits

# Configurations of programs are small and flat.
_LIMITS = Limits(document_bytes=200_000, depth=20)


def visible_files(training: Training) -> dict[str, str | None]:
    """Return the texts of files by path; None for one that is known only in the pod."""
    if not training.documents and training.line.script is None:
        return {}
    return {**dict(_mounted(training)), **dict(_written(training))}


def read_config(files: Mapping[str, str | None], path: str) -> Any:
    """Return the value of one of these files, or None if it is not there or cannot be read."""
    text = files.get(path, files.get(normpath(path))) if path else None
    if text is None or len(text) > _LIMITS.document_bytes:
        return None
    if path.endswith(".toml"):
        return _toml(text)
    from trainc.reading.yaml_reader import read_value

    try:
        return read_value(text, _LIMITS)
    except CompileError:
        return None


def flat(value: Any) -> dict[str, str]:
    """Return the scalars of nested mappings by their dotted keys."""
    found: dict[str, str] = {}
    waiting = [("", value)]
    while waiting:
        prefix, current = waiting.pop()
        for key, inner in current.items() if isinstance(current, Mapping) else ():
            if isinstance(inner, Mapping):
                waiting.append((f"{prefix}{key}.", inner))
            elif isinstance(inner, (str, int, float)):
                found[f"{prefix}{key}"] = str(inner)
    return found


def _toml(text: str) -> Any:
    import tomllib

    depth = deepest = 0
    for c in text:
        depth += (c in "[{") - (c in "]}")
        deepest = max(deepest, depth)
    try:
        return tomllib.loads(text) if deepest <= _LIMITS.depth else None
    except ValueError:
        return None


def _written(training: Training) -> Iterator[tuple[str, str | None]]:
    """Yield (path, text) for each file that the script writes with a here-document; None if the shell changes it."""
    if training.line.script is None:
        return
    from trainc.ir.commands.shell import commands

    for command, _ in commands(training.line.items):
        targets = [target for operator, target in command.redirects if operator in (">", ">|")]
        if targets and len(command.heredocs) == 1:
            heredoc = command.heredocs[0]
            changed = heredoc.rewritten and ("$" in heredoc.body or "`" in heredoc.body)
            yield targets[-1], None if changed else heredoc.body


def _mounted(training: Training) -> Iterator[tuple[str, str]]:
    """Yield (path, text) for each file of a ConfigMap of the input that the container mounts."""
    sources = {volume.get("name"): volume.get("configMap") for volume in training.entry.pod_set.volumes}
    for mount in training.entry.container.mounts:
        source = sources.get(mount.get("name"))
        data = _data(training, str(source.get("name"))) if source else {}
        items = (source or {}).get("items")
        files = {str(item.get("path")): data.get(item.get("key")) for item in items} if items else data
        place, part = str(mount.get("mountPath", "")), str(mount.get("subPath") or "")
        for name, text in files.items():
            if isinstance(text, str) and (not part or part == name):
                yield normpath(place if part else join(place, str(name))), text


def _data(training: Training, name: str) -> Mapping[str, Any]:
    for document in training.documents:
        data = document.data
        metadata = data.get("metadata") if data.get("kind") == "ConfigMap" else None
        if not isinstance(metadata, Mapping) or metadata.get("name") != name:
            continue
        values = data.get("data")
        if metadata.get("namespace", training.job.namespace) == training.job.namespace and isinstance(values, Mapping):
            return values
    return {}
