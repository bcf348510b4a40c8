"""The output folder: plans the changes of a build, and applies them.

Only files that trainc wrote are ever replaced or removed. The folder `.trainc` exists only during a build, and contains
no .yaml, .yml or .json files, so that no GitOps tool applies them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress

from trainc.findings import Diagnostic
from trainc.output.journal import DamagedJournalError, complete, is_interrupted, replace_all
from trainc.output.ownership import (
    MOST_BYTES,
    STATE_FOLDER,
    Sources,
    can_be_owned,
    is_harmless,
    is_marked,
    is_marked_file,
    legacy_list,
    listed_files,
    marked_files,
    stays_inside,
)
from trainc.reading.opening import NoRegularFileError, error_reason, read_file
from trainc.startup.records import dataclass, replace

_NOT_OURS = "already exists and was not written by trainc"
_CRLF = "has lines that end with CRLF, as git writes them with core.autocrlf"
_LINK = "is a symbolic link, or in a linked folder"


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference between a folder and its future content. Paths are relative, with forward slashes.

    - `old` and `new` have the text of each file that changes; None means that the file does not exist.
    - `kept_files` are those of other jobs, which a build of some jobs does not change.
    - `interrupted` is true if an earlier build was not completed; writing completes it.
    - `contended` is true if all refused files may belong to another build that is being written at the moment.
    """

    folder: str
    texts: Mapping[str, str]
    prune: bool
    old: Mapping[str, str | None]
    new: Mapping[str, str | None]
    refused: tuple[Diagnostic, ...] = ()
    kept_files: tuple[str, ...] = ()
    interrupted: tuple[Diagnostic, ...] = ()
    contended: bool = False
    sources: Sources | None = None

    @property
    def changes(self) -> bool:
        """Return whether any file changes."""
        return bool(self.new)

    def actions(self) -> Iterator[tuple[str, str]]:
        """Yield (verb, path) for each change, where the verb is created, changed or removed."""
        for path, text in self.new.items():
            yield "removed" if text is None else ("created" if self.old[path] is None else "changed"), path


def plan(folder: str, texts: Mapping[str, str], *, prune: bool, sources: Sources | None = None) -> Plan:
    """Compare `folder` with its future texts, by relative path, without writing anything.

    With `prune`, other files of trainc's are removed, unless `sources` says that this would be a mistake; without it they
    are kept.
    """
    state = os.path.join(folder, STATE_FOLDER)
    if os.path.islink(state):
        return Plan(folder, texts, prune, {}, {}, (_obstacle(state, _LINK),))
    listed = listed_files(folder)
    old: dict[str, str | None] = {}
    new: dict[str, str | None] = {}
    refused: dict[str, str] = {}
    for path, text in sorted(texts.items()):
        current, obstacle = _current(folder, path)
        if current == text:
            continue
        if obstacle or (current is not None and path not in listed and not is_marked(current)):
            refused[path] = obstacle or (_CRLF if is_marked((current or "").replace("\r\n", "\n")) else _NOT_OURS)
        old[path], new[path] = current, text
    gone = marked_files(folder, texts)
    if sources is not None:
        gone = {path: name for path, name in gone.items() if not sources.spares(path, name)}
    for path in gone if prune else ():
        old[path], new[path] = _current(folder, path)[0], None
    legacy = [path for path in sorted(listed - texts.keys()) if os.path.lexists(os.path.join(folder, path))]
    kept_files = tuple(legacy if prune else sorted({*legacy, *gone}))
    in_the_way = tuple(_obstacle(os.path.join(folder, path), why) for path, why in refused.items())
    skipped = tuple(sources.skipped(folder, gone)) if prune and sources is not None else ()
    contended = set(refused.values()) == {_NOT_OURS} and not skipped
    message = f"a build into {folder} was interrupted: some of its files are old, some are new"
    hint = "run `trainc build` again: it first completes the interrupted build"
    interrupted = (Diagnostic("InterruptedBuild", "error", message, hint),) if is_interrupted(folder) else ()
    refusals = (*in_the_way, *skipped)
    return Plan(folder, texts, prune, old, new, refusals, kept_files, interrupted, contended, sources)


def skipped_sources(folder: str, compiled: Container[str], sources: Sources) -> list[Diagnostic]:
    """Return why a build that prunes would refuse to remove files other than those that are `compiled`."""
    return sources.skipped(folder, marked_files(folder, compiled))


def foreign_files(folder: str, *, ours: bool = False) -> dict[str, bytes]:
    """Return the files at any depth of `folder` that trainc did not write and that a tool may act on.

    With `ours`, return those that it wrote too. The content of a symlink is its target.
    """
    waiting, contents = [""], {}
    while waiting:
        inside = waiting.pop()
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(os.path.join(folder, inside)) as entries:
            for entry in entries:
                path = os.path.join(inside, entry.name)
                name = path.replace(os.sep, "/")
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        waiting.append(path)
                elif entry.is_symlink() or not is_harmless(name):
                    is_ours = can_be_owned(name) and not entry.is_symlink() and is_marked_file(entry.path)
                    if ours or not is_ours:
                        contents[name] = bytes_at(folder, path) or b""
    return dict(sorted(contents.items()))


def jobs_of(folder: str, requested: str) -> list[tuple[str, str, str]]:
    """Return namespace, TrainJob and JobSet of the rendered files whose JobSet, or a pod of it, may have the name `requested`.

    `requested` is NAMESPACE/NAME or NAME. A file that is kept as built has a JobSet with the hash of an earlier build, which
    compiling does not find. The longest names come first.
    """
    import re

    from trainc.emit.name_hash import ALPHABET, LENGTH, job_in

    space, _, name = requested.rpartition("/")
    matches = []
    for path in marked_files(folder):
        namespace, plain = os.path.dirname(path), job_in(path)
        if space in ("", namespace) and name.startswith(plain):
            text = text_at(folder, path) or ""
            jobset = re.search(rf"\n  name: ({re.escape(plain)}(?:-[{ALPHABET}]{{{LENGTH}}})?)\n", text)
            if jobset and f"{name}-".startswith(f"{jobset[1]}-"):
                matches.append((namespace, plain, jobset[1]))
    return sorted(matches, key=lambda match: -len(match[2]))


def bytes_at(folder: str, path: str) -> bytes | None:
    """Return the content of a file, of a symlink its target, or None if there is no file that can be read."""
    target = os.path.join(folder, path)
    try:
        return os.fsencode(os.readlink(target)) if os.path.islink(target) else read_file(target, MOST_BYTES)
    except OSError:
        return None


def apply_plan(planned: Plan) -> Plan:
    """Write all planned changes or none, one process at a time, and return the plan that was carried out.

    It differs from `planned` if another process has written in the meantime, and is refused if there is an obstacle.
    """
    folder = planned.folder
    if planned.refused and not planned.contended:
        return planned
    if not planned.changes and not planned.interrupted and not os.path.lexists(legacy_list(folder)):
        return planned
    existed = os.path.isdir(folder)
    try:
        with hold_lock(os.path.join(folder, STATE_FOLDER)):
            complete(folder)
            current = plan(folder, planned.texts, prune=planned.prune, sources=planned.sources)
            if not current.refused:
                replace_all(folder, current.new)
            return replace(current, interrupted=planned.interrupted)
    except DamagedJournalError:
        message = f"{os.path.join(folder, STATE_FOLDER)} has the journal of an interrupted build, which cannot be read"
        hint = "remove `journal` and `staged` from it, compare the folder with git, and build again"
        return replace(planned, refused=(Diagnostic("InterruptedBuild", "error", message, hint),))
    finally:
        with suppress(OSError):  # What was created without writing anything.
            os.rmdir(os.path.join(folder, STATE_FOLDER))
            if not existed:
                os.rmdir(folder)


def _current(folder: str, path: str) -> tuple[str | None, str]:
    """Return the text at a path, and the reason why trainc cannot replace it, whichever tool wrote it."""
    if not can_be_owned(path):
        return None, "is not a valid name for an output file"
    if not stays_inside(folder, path):
        return "", _LINK
    target = os.path.join(folder, path)
    try:
        if not stat.S_ISREG(os.lstat(target).st_mode):
            return "", _NOT_OURS
        return read_file(target, MOST_BYTES, links=False).decode(), ""
    except FileNotFoundError:
        return None, ""
    except NotADirectoryError:
        return None, "cannot be written: its parent folder is a file"
    except NoRegularFileError as error:
        return "", f"cannot be read: {error_reason(error)}"
    except UnicodeDecodeError:
        return "", _NOT_OURS


def text_at(folder: str, path: str) -> str | None:
    """Return the text of an output file, or None if there is none that can be read."""
    current, obstacle = _current(folder, path)
    return None if obstacle else current


def _obstacle(path: str, why: str) -> Diagnostic:
    message, hint = f"{path} {why}", "move it away, or use another output folder"
    if why == _CRLF:
        hint = (
            f"have .gitattributes say `{os.path.dirname(path)}/** text eol=lf`, and restore it: git checkout -- {path}"
        )
    elif "written by trainc" in why:
        again = f"git checkout COMMIT -- {path}, with a commit that has them, such as that of the base"
        hint = f"if a build wrote it once, restore its first lines ({again}); otherwise {hint}"
    return Diagnostic("FileInTheWay", "error", message, hint)


# One build at a time in an output folder: a lock that is released when its process ends, even if it is killed.


_LOCK = "lock"


@contextmanager
def hold_lock(state: str) -> Iterator[None]:
    """Wait for the lock in the folder `state`, which is created if necessary, and hold it.

    The lock file is removed at the end. On platforms without POSIX locks, concurrent builds are not prevented.
    """
    try:
        import fcntl
    except ImportError:
        os.makedirs(state, exist_ok=True)
        yield
        return
    path = os.path.join(state, _LOCK)
    while True:
        os.makedirs(state, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except FileNotFoundError:  # A failed build may remove the empty folder before the file is created.
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_still_at(descriptor, path):
                break
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # The previous holder has removed the file; there may be a new one by now.
    try:
        yield
    finally:
        os.unlink(path)
        os.close(descriptor)


def _is_still_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
