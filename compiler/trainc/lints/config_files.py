"""The files that a command reads, as far as their text is known: of a mounted ConfigMap, written by the script, or beside the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from posixpath import basename, join, normpath

from trainc.findings import Finding
from trainc.ir.commands.programs import program_of
from trainc.ir.entrypoints import Entrypoint, shell_script
from trainc.kube.documents import mapping
from trainc.lints.training import Training
from trainc.plugins.registry import programs
from trainc.reading.document import TEXT_FILE, Surroundings
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.knowledge.conditions import Fact

# What reads a file, by its suffix or its name: a function of reading/settings.py.
_READERS = dict.fromkeys((".yaml", ".yml", ".json", ".jsonnet", ""), "yaml_value") | {".toml": "toml_value"}
_READERS |= dict.fromkeys((".cfg", ".ini", ".conf"), "ini_value") | dict.fromkeys((".py", "python -c"), "python_value")
# What only one rank calls. What a message names of a script, how its programs start, and what makes a script of more than one command.
_OF_ONE = ("ONE", "LOCAL")
_NAME = pattern(r"-.+|\w*[_/.=$]\S+|[A-Z][A-Z0-9]+")
_STARTING = pattern(r"\s*(?:exec |time |[A-Z]\w*=\S* )*(?:\S*/)?(?:torchrun|python|accelerate|deepspeed|mpirun)")
_OF_SCRIPTS = pattern(r"[;&|<>()`\n$\"'\\]")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file in the container: its path, and its text, None if it is known only in the pod.

    `document` is the ConfigMap of the input with the `key` of its data, or a file of the repository; a file that the script
    writes has none.
    """

    path: str
    text: str | None
    document: Any = None
    key: str = ""

    @property
    def name(self) -> str:
        """The name without the folder."""
        return basename(self.path)

    @property
    def value(self) -> Any:
        """The content, if it is one of settings; None if it is not, or cannot be read."""
        from trainc.reading import settings  # Few jobs have a file that is known.

        suffix = self.name[self.name.rindex(".") :] if "." in self.name else ""
        reader = _READERS.get(self.name) or _READERS.get(suffix)
        if not reader or self.text is None or len(self.text) > settings.LIMITS.document_bytes:
            return None
        return getattr(settings, reader)(self.text)

    def fact(self, key: str, value: Any, space: str) -> Fact:
        """Return one of its values."""
        from trainc.knowledge.conditions import Fact

        last = key.rpartition(".")[2]
        value = None if isinstance(value, str) and "${" in value else value
        form = {"json": f'"{last}": {{}}', "toml": f"{last} = {{}}", "py": f"{last}={{}}"}.get(
            self.name.rpartition(".")[2], f"{last}: {{}}"
        )
        text = f"{key} in {self.name}"
        if key.startswith(("call", "maybe")):
            name, _, argument = key.partition(":")[2].partition("/")
            text = f"{f'{argument} of ' if argument.isidentifier() else ''}{name} in {self.name}"
            own = {"OPTIONS": argument or "argparse", "ON": "a device", "IMPORT": argument, "TEXT": "the script"}
            own["RELATIVE"] = value
            if name in own:
                text, value = f"{own[name]} in {self.name}", True if name == "RELATIVE" else value
            if name in _OF_ONE:
                text, value = f"{value} in {self.name}, behind a test of the rank", True
            return Fact(key, value, text, file=None if name in ("NAMES", "FOREIGN", "DEVICES") else (self, key))
        return Fact(f"{space}{key}", value, text, form, file=(self, key))

    def at(self, key: str, finding: Finding) -> Finding:
        """Return a finding about the command as one about a key of the file, at its line, if it is in the input."""
        if self.document is None:
            return finding
        from trainc.reading import settings

        line = settings.line_of(self.text or "", key)
        path = ("data", self.key) if self.key else ()
        return replace(finding, path=path, about="file", document=self.document, line=line)

    def named_in(self, finding: Finding) -> Finding:
        """Return a finding about a script at the first line that has what the message names, or where a program starts."""
        from bisect import bisect_right

        text, starts, first = _without_comments(self.text or "")
        words = (word.strip(",:;'\"`()") for word in finding.message.split())
        places = (text.find(word) for word in words if _NAME.fullmatch(word))
        line = next((bisect_right(starts, place) - 1 for place in places if place >= 0), first)
        return replace(finding, path=("data", self.key), about="file", document=self.document, line=line)


@lru_cache(maxsize=8)
def _without_comments(text: str) -> tuple[str, Sequence[int], int]:
    """Return a script without its comments, where its lines begin, and the first line that starts a program."""
    lines = [line.partition(" #")[0] if line.lstrip()[:1] != "#" else "" for line in text.splitlines()]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return "\n".join(lines), starts, next((n for n, line in enumerate(lines) if _STARTING.match(line)), 0)


def visible_files(training: Training) -> list[ConfigFile]:
    """Return the files of which the input has the text, those that the script writes last."""
    if not training.around and training.line.script is None:
        return []
    if not training.found_files:
        mounted = _mounted_files(training.entry, training.around)
        files = [*_sibling_files(training), *mounted, *_heredoc_files(training)]
        training.found_files.append(files)
    found: list[ConfigFile] = training.found_files[0]
    return found


def as_its_script(entry: Entrypoint, around: Surroundings) -> Entrypoint:
    """Return a container that runs a shell script of the input, such as `bash /config/run.sh 8`, as if it had its text."""
    inner = shell_script(entry.argv)
    words = entry.argv if inner is None else tuple(inner.split())
    if inner is not None and (inner != entry.argv[-1] or _OF_SCRIPTS.search(inner)):
        return entry
    words = words[words[:1] == ("exec",) :]
    program = program_of(words, programs("")) if words else None
    at = program.start if program is not None and program.kind == "shell" else 0
    while at < len(words) and words[at].startswith(("-", "+")):
        at += 2 if words[at].endswith("o") else 1
    folder = str(entry.container.fields.get("workingDir", "/"))
    path = normpath(join(folder, words[at])) if at < len(words) else ""
    file = files_by_path(_mounted_files(entry, around)).get(path) if path else None
    if file is None or not file.text:
        return entry
    if not at and not any("defaultMode" in mapping(volume.get("configMap")) for volume in entry.pod_set.volumes):
        return entry  # It is not executable.
    before = words[:at] or ("sh" if file.text.startswith("#!/bin/sh") else "bash",)
    argv = (*before, "-c", file.text, path, *words[at + 1 :])
    return replace(entry, argv=argv, text=" ".join(argv), script=file)


def files_by_path(files: Iterable[ConfigFile]) -> dict[str, ConfigFile]:
    """Return files by path."""
    return {file.path: file for file in files}


def folders(training: Training) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the folders whose files are all visible, each with their names: those of ConfigMaps of the input."""
    by_folder: dict[str, set[str]] = {}
    for file in _mounted_files(training.entry, training.around):
        by_folder.setdefault(file.path.removesuffix(f"/{file.name}"), set()).add(file.name)
    mounts = [m for m in training.entry.container.mounts if not m.get("subPath")]
    for folder, names in by_folder.items():
        if sum(normpath(str(mount.get("mountPath"))) == folder for mount in mounts) == 1:
            yield folder, frozenset(names)


def _sibling_files(training: Training) -> Iterator[ConfigFile]:
    """Yield the files of the repository that the command names, unless a volume is in the way where it runs."""
    changed = (start.argv[1] for start in training.line.starts if start.argv[:1] == ("cd",) and start.argv[1:])
    folders = [training.folder, *changed]
    mounts = [normpath(str(mount.get("mountPath"))) for mount in training.entry.container.mounts]
    if any(f"{normpath(one)}/".startswith(f"{mount}/") for one in folders for mount in mounts):
        return
    for document in training.around.files:
        if document.data.get("kind") == TEXT_FILE:
            path = join(training.folder, document.data["metadata"]["name"])
            yield ConfigFile(path, document.data["text"], document)


def _heredoc_files(training: Training) -> Iterator[ConfigFile]:
    """Yield each file that the script writes with a here-document; without its text if the shell changes it."""
    if training.line.script is None:
        return
    from trainc.ir.commands.shell import commands
    from trainc.ir.commands.shell_words import Heredoc

    # As the Kubeflow SDK does: `read -r -d '' SCRIPT << EOM`, and `printf "%s" "$SCRIPT" > FILE`.
    held: dict[str, Heredoc] = {}
    for command, _ in commands(training.line.items):
        targets = [target for operator, target in command.redirects if operator in (">", ">|")]
        heredoc = command.heredocs[0] if len(command.heredocs) == 1 else None
        if heredoc is not None and command.words[:1] == ("read",):
            held[command.words[-1]] = heredoc
        if targets and heredoc is None and command.words[:1] in (("printf",), ("echo",)):
            heredoc = held.get(command.words[-1].strip("${}"))
        if targets and heredoc is not None:
            is_changed = heredoc.rewritten and ("$" in heredoc.body or "`" in heredoc.body)
            yield ConfigFile(normpath(targets[-1]), None if is_changed else heredoc.body)


def _mounted_files(entry: Entrypoint, around: Surroundings) -> Iterator[ConfigFile]:
    sources = {volume.get("name"): volume.get("configMap") for volume in entry.pod_set.volumes}
    documents = around.of("ConfigMap", entry.job.namespace) if any(sources.values()) else {}
    for mount in entry.container.mounts if documents else ():
        source = sources.get(mount.get("name"))
        document = documents.get(str(source.get("name"))) if source else None
        data = document.data.get("data") if document is not None else None
        if source is None or not isinstance(data, Mapping):
            continue
        items = source.get("items")
        keys = {str(item.get("path")): item.get("key") for item in items} if items else {name: name for name in data}
        mount_path, sub_path = str(mount.get("mountPath", "")), str(mount.get("subPath") or "")
        for name, key in keys.items():
            text = data.get(key)
            inside = f"{name}/".removeprefix(f"{sub_path}/" if sub_path else "").rstrip("/")
            if isinstance(text, str) and (not sub_path or f"{name}/".startswith(f"{sub_path}/")):
                yield ConfigFile(normpath(join(mount_path, inside)), text, document, str(key))
