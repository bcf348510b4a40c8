"""Extracts the files of a git revision to a directory, from which they are read like any others."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import IO
from unicodedata import normalize

from trainc.findings import CompileError, Diagnostic
from trainc.options import Limits
from trainc.reading.files import READ_SUFFIXES
from trainc.reading.opening import error_reason, is_git_folder, is_inside, read_file, repository_above
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# Runs `git`, the only program that trainc uses to read input, with fixed arguments and without a shell.
#
# It only looks up revisions and prints files. It never changes the repository or fetches anything, and it runs no program
# that the repository's configuration names (git help config): commands that could use filters, textconv or merge drivers
# are not among those that are started.
_OWN_SETTINGS = (
    *("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.sshCommand=false", "core.gitProxy=false"),
    *("core.askPass=false", "core.editor=false", "core.pager=cat", "core.alternateRefsCommand=false"),
    *("credential.helper=", "diff.external=", "log.showSignature=false", "gpg.program=false"),
    # A folder of a pull request that looks like a bare repository is none.
    *("safe.bareRepository=explicit", "core.warnAmbiguousRefs=false"),
)


_ERROR_BLOCK = 1 << 16
# No prompts, and no downloads: a partial clone uses the objects that it has.
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
}
REVISION_HINT = "use a commit, tag or branch of the current repository, as in git:HEAD~1 or git:main:jobs"


def find_program(name: str, *, trusted: bool = False, folder: str = os.curdir) -> str | None:
    """Return the absolute path of a program on PATH, or None.

    Folders in the repository around the current folder, or around `folder`, in which the program works, are left out unless
    the caller starts its programs in any case (`trusted`), and so are relative ones. The operating system is not asked:
    Windows looks in the current folder first.
    """
    around = () if trusted else (repository_above(os.curdir), repository_above(folder))
    repositories = [repository for repository in around if repository is not None]
    endings = os.environ.get("PATHEXT", ".EXE").split(os.pathsep) if os.name == "nt" else [""]
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(place) or any(is_inside(place, repository) for repository in repositories):
            continue
        for ending in endings:
            path = os.path.join(place, name + ending)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


@contextmanager
def git_output(folder: str, arguments: Iterable[str], stdin_data: bytes = b"") -> Iterator[IO[bytes]]:
    """Run git and yield its output as a stream.

    Kills git if the block raises. Raises CompileError if git fails.
    """
    with TemporaryFile() as stdin, TemporaryFile() as errors:
        stdin.write(stdin_data)
        stdin.seek(0)
        try:
            git = subprocess.Popen(  # noqa: S603 - as in run_git
                _command(folder, arguments), stdin=stdin, stdout=subprocess.PIPE, stderr=errors, env=_environment()
            )
        except OSError as error:
            raise _cannot_run_git(error) from None
        with git:
            assert git.stdout is not None
            try:
                yield git.stdout
                ended = not git.stdout.read(1)
            except BaseException:
                git.kill()
                raise
        if ended and git.returncode:
            errors.seek(0)
            raise revision_error(_error_message(errors.read(_ERROR_BLOCK), git.returncode))


def run_git(folder: str, arguments: Iterable[str]) -> bytes:
    """Run git and return its output. Raises CompileError if git fails."""
    try:
        process = subprocess.run(  # noqa: S603 - fixed arguments; a revision follows --end-of-options
            _command(folder, arguments), stdin=subprocess.DEVNULL, capture_output=True, check=False, env=_environment()
        )
    except OSError as error:
        raise _cannot_run_git(error) from None
    if process.returncode:
        raise revision_error(_error_message(process.stderr, process.returncode))
    return process.stdout


def _command(folder: str, arguments: Iterable[str]) -> list[str]:
    git = find_program("git", folder=folder or os.curdir)
    if git is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    settings = [word for setting in _OWN_SETTINGS for word in ("-c", setting)]
    return [git, "--no-pager", "--literal-pathspecs", *settings, "-C", folder or ".", *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, **_ENVIRONMENT}


def _error_message(stderr: bytes, status: int) -> str:
    first = stderr.decode(errors="replace").strip().removeprefix("fatal: ").partition("\n")[0]
    return first or f"git exited with status {status}"


def _cannot_run_git(error: OSError) -> CompileError:
    return revision_error(f"git cannot be run: {error_reason(error)}")


def revision_error(message: str, hint: str = REVISION_HINT) -> CompileError:
    """Create the error for a revision that cannot be read."""
    return CompileError([Diagnostic("NoSuchRevision", "error", message, hint)])


_LINK = "120000"
_SUBMODULE = b"160000"
_FILE = "100"
_BLOCK = 1 << 16
# PATH_MAX on Linux.
_LONGEST_LINK = 4096


@dataclass(frozen=True, slots=True)
class Repository:
    """The top directory of a repository, and the path of a directory relative to it (empty for the top itself)."""

    top: str
    prefix: str


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    blob: bytes
    path: str


def repository_of(folder: str) -> Repository:
    """Return the repository that contains `folder`. Raises CompileError if there is none or git is missing."""
    try:
        output = run_git(folder, ["rev-parse", "--show-toplevel", "--show-prefix"])
    except CompileError as error:
        if "not a git repository" not in error.diagnostics[0].message:
            raise
        raise revision_error("this folder is not in a git repository, so it has no revisions", _OUTSIDE_HINT) from None
    lines = output.decode(errors="surrogateescape").split("\n")
    return Repository(lines[0], lines[1].rstrip("/"))


def commit_of(repository: Repository, revision: str) -> str:
    """Resolve a revision to the ID of a commit.

    Raises CompileError if it does not exist, or if its name has two meanings: git would take a tag rather than a branch,
    and whoever may push a tag could give the name `origin/main` to any commit.
    """
    name = _NAVIGATION.split(revision, 1)[0]
    meanings = [] if name in ("", "HEAD") or _OBJECT_ID.fullmatch(name) else _meanings(repository, name)
    if len(meanings) > 1:
        hint = f"write which one is meant, such as {meanings[-1]}{revision[len(name) :]}"
        raise revision_error(f"the revision {revision!r} is ambiguous: {' and '.join(meanings)} have that name", hint)
    if name.startswith("refs/") and meanings != [name]:
        raise _no_commit(repository, f"there is no revision {revision!r}")
    arguments = ["rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"]
    return _find_commit(repository, arguments, f"there is no revision {revision!r}")


# The part of a revision before what navigates from it (gitrevisions), and a whole object ID, which is never a name.
_NAVIGATION = pattern(r"[~^:]|@\{|^@$")
_OBJECT_ID = pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ABBREVIATED = pattern(r"[0-9a-fA-F]{7,}")
_URL = pattern(r"(?![/.]|file:)[\w.+:/@~%=?&,-]+")
# Where git looks for a name (refs.c, ref_rev_parse_rules), without what lies in .git itself.
_PLACES = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")


def _meanings(repository: Repository, name: str) -> list[str]:
    """What a name stands for: references by their full names, and a commit whose ID starts with it.

    A full name of a reference is one whatever tags there are.
    """
    candidates = [name] if name.startswith("refs/") else [place.format(name) for place in _PLACES]
    listed = run_git(repository.top, ["for-each-ref", "--format=%(refname)", "--", *candidates])
    found = listed.decode("utf-8", "replace").split("\n")
    meanings = [candidate for candidate in candidates if candidate in found]
    if meanings and _ABBREVIATED.fullmatch(name):
        meanings += run_git(repository.top, ["rev-parse", f"--disambiguate={name}"]).decode().split()
    return meanings


def merge_base(repository: Repository, revision: str) -> str:
    """Return the commit at which HEAD left `revision`. Raises CompileError if there is none, or `revision` is unknown."""
    arguments = ["merge-base", commit_of(repository, revision), "HEAD"]
    return _find_commit(repository, arguments, f"HEAD and {revision!r} have no common commit")


def commits_behind(repository: Repository, revision: str) -> int:
    """Return how many commits of a revision HEAD lacks."""
    arguments = ["rev-list", "--count", f"HEAD..{commit_of(repository, revision)}"]
    return int(run_git(repository.top, arguments))


def _find_commit(repository: Repository, arguments: Sequence[str], message: str) -> str:
    """Return the commit that git prints. A shallow clone may be why it prints none."""
    try:
        return run_git(repository.top, arguments).decode().strip()
    except CompileError:
        raise _no_commit(repository, message) from None


def _no_commit(repository: Repository, message: str) -> CompileError:
    return revision_error(message, SHALLOW_HINT if is_shallow(repository) else REVISION_HINT)


def submodules(repository: Repository, folder: str, commit: str | None = None) -> dict[str, bytes]:
    """Return the commit of each submodule below a folder, by the path in it; in the index unless `commit` is given.

    `folder` is relative to the top of the repository.
    """
    listing = ["ls-files", "--stage", "-z"] if commit is None else ["ls-tree", "-r", "-z", "--full-tree", commit]
    commits: dict[str, bytes] = {}
    for record in run_git(repository.top, [*listing, "--", folder]).split(b"\0"):
        about, _, path = record.partition(b"\t")
        words = about.split()
        if words[:1] == [_SUBMODULE]:
            inside = os.path.relpath(os.fsdecode(path), folder).replace(os.sep, "/")
            commits[inside] = words[1] if commit is None else words[2]
    return commits


def new_files(top: str, sources: Sequence[str]) -> Iterator[str]:
    """Yield the files of a repository that have come since any of these last changed, whether they are tracked or not."""
    repository, listings = Repository(top, ""), [["ls-files", "--others", "--exclude-standard", "-z"]]
    texts: dict[str, bytes] = {}
    for source in sources:
        name = os.path.relpath(source, top).replace(os.sep, "/")
        texts[name] = b""
        with suppress(OSError):
            texts[name] = read_file(source, Limits().file_bytes)
    with suppress(CompileError):  # There may be no commit yet.
        since = commit_of(repository, "HEAD")
        changed = find_changed_files(repository, since, texts, Limits())
        # Of what HEAD has as it is here, a commit was the last change.
        if committed := [name for name in texts if changed.get(name) is None]:
            commit = run_git(top, ["log", "-1", "--format=%H", "--", *committed]).decode().strip()
            since = f"{commit}^" if commit else since
        listings.append(["diff-index", "--cached", "--name-only", "--diff-filter=A", "--no-renames", "-z", since])
    for listing in listings:
        yield from (os.path.join(top, os.fsdecode(path)) for path in run_git(top, listing).split(b"\0") if path)


def is_shallow(repository: Repository) -> bool:
    """Return whether the clone lacks older commits."""
    return run_git(repository.top, ["rev-parse", "--is-shallow-repository"]).strip() == b"true"


def branches_and_tags(folder: str, *, full: bool = False) -> list[str]:
    """Return the names of a repository's branches and tags, short or in full; none outside a repository."""
    try:
        listed = run_git(
            folder,
            ("for-each-ref", f"--format=%(refname{':short' * (not full)})", "refs/heads", "refs/tags", "refs/remotes"),
        )
    except CompileError:
        return []
    return listed.decode("utf-8", "replace").split()


def origin_of(folder: str) -> tuple[str, str | None] | None:
    """Return the URL from which others clone the repository around `folder`, and HEAD's commit if they can fetch it.

    None if git knows no such URL, or YAML and lists of requirements would read more in it.
    """
    url = ""
    with suppress(CompileError):
        url = run_git(folder, ["remote", "get-url", "origin"]).decode().strip()
    if not _URL.fullmatch(url):
        return None
    try:
        published = run_git(folder, ["branch", "--remotes", "--contains", "HEAD"]).strip()
        return url, run_git(folder, ["rev-parse", "HEAD"]).decode().strip() if published else None
    except CompileError:  # There is no commit yet.
        return url, None


def files_of_revision(repository: Repository, commit: str, folder: str, limits: Limits) -> dict[str, bytes]:
    """Return the input files below a folder of a commit, by their paths in it; of a symlink, its target.

    Raises CompileError like `write_revision`.
    """
    entries = _list_inputs(repository, commit, limits, [folder])
    contents = _contents(repository.top, entries, limits)
    return {os.path.relpath(entry.path, folder).replace(os.sep, "/"): content for entry, content in contents}


def write_revision(  # noqa: PLR0913 - the last one goes by its name
    repository: Repository,
    revision: str,
    target: str,
    limits: Limits,
    paths: Sequence[str] = (),
    *,
    without: Container[str] = (),
) -> bool:
    """Extract the input files of `revision` (a commit, tag or branch) to the directory `target`.

    Extracts YAML, JSON and template files and symlinks. `paths`, relative to the top of the repository, restricts this
    to files at or below them, and those in `without` are left out. Existing files are kept. Returns whether there are symlinks. Raises CompileError if the
    revision does not exist or exceeds the limits; the limits are checked before any content is read.
    """
    commit = commit_of(repository, revision)
    entries = [entry for entry in _list_inputs(repository, commit, limits, paths) if entry.path not in without]
    _check_paths(entries)
    # Symlinks come last, so that no file is written through one and no symlink is created through another.
    entries.sort(key=lambda entry: entry.mode == _LINK)
    top = os.path.realpath(target)
    new = [entry for entry in entries if not os.path.lexists(_path_in(top, entry))]
    folders: set[str] = set()
    for entry, content in _contents(repository.top, new, limits):
        try:
            _write(entry, content, _path_in(top, entry), folders)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise _unreadable(entry.path, f"it cannot be copied: {reason.lower()}") from None
    return any(entry.mode == _LINK for entry in entries)


def find_changed_files(
    repository: Repository, commit: str, texts: Mapping[str, bytes], limits: Limits
) -> dict[str, bytes | None]:
    """Return the files of `texts` (by path from the top) that differ in a commit, with their content there or None.

    Writes nothing, and runs no programs configured in the repository, such as filters. Raises CompileError like
    `write_revision`.
    """
    prefix = repository.prefix
    below = [prefix] if prefix and all(path.startswith(f"{prefix}/") for path in texts) else []
    listing = _list_entries(repository.top, commit, limits, below)
    entries = {entry.path: entry for entry in listing if entry.path in texts}
    changed: dict[str, bytes | None] = {path: None for path in texts if path not in entries}
    changed_entries = [entry for path, entry in entries.items() if _blob(texts[path], entry) != entry.blob]
    changed |= {entry.path: content for entry, content in _contents(repository.top, changed_entries, limits)}
    return changed


def _blob(data: bytes, like: _Entry) -> bytes:
    """Return the git object ID of a file with this content."""
    import hashlib

    algorithm = hashlib.sha1 if len(like.blob) == 40 else hashlib.sha256
    return algorithm(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest().encode()


class History:
    """The texts that the files below a folder had in a commit and its first parents, with the commits that wrote them."""

    def __init__(self, repository: Repository, commit: str, folder: str, limits: Limits) -> None:
        self._top, self._folder, self._limits = repository.top, folder, limits
        self._blobs: dict[str, dict[bytes, str]] = {}
        listing = ("log", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--raw", "--no-abbrev", "-z")
        records = iter(run_git(repository.top, [*listing, "--format=%H", commit, "--", folder]).split(b"\0"))
        writer = ""
        for about in filter(None, records):
            if not about.lstrip(b"\n").startswith(b":"):
                writer = about.decode()
                continue
            _, mode, _, blob, _ = about.lstrip(b"\n:").split(b" ")
            path = os.fsdecode(next(records))
            if mode.startswith(b"100"):
                self._blobs.setdefault(path, {})[blob] = writer

    def __call__(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield the texts of a file, by its path in the folder, the latest first, with the commits that first had them."""
        full = os.path.normpath(os.path.join(self._folder, path)).replace(os.sep, "/")
        blobs = self._blobs.get(full, {})
        entries = [_Entry(_FILE, blob, full) for blob in blobs]
        for entry, text in _contents(self._top, entries, self._limits):
            yield blobs[entry.blob], text.decode(errors="replace")


def _write(entry: _Entry, content: bytes, path: str, folders: set[str]) -> None:
    """Write a file or symlink. `folders` are those that have been made for others, and are no links: those come last."""
    folder = os.path.dirname(path)
    if folder not in folders:
        os.makedirs(folder, exist_ok=True)
        if os.path.realpath(folder) != folder:
            raise OSError(errno.ELOOP, "a parent folder is a symbolic link")
        folders.add(folder)
    if entry.mode == _LINK:
        os.symlink(content, os.fsencode(path))
    else:
        with open(path, "xb") as stream:
            stream.write(content)


def _path_in(top: str, entry: _Entry) -> str:
    return os.path.join(top, *entry.path.split("/"))


def _check_paths(entries: Sequence[_Entry]) -> None:
    """Reject trees with duplicate paths or paths through symlinks, also on case-insensitive file systems."""
    links = {_fold_case(entry.path) for entry in entries if entry.mode == _LINK}
    paths: set[str] = set()
    for entry in entries:
        parts = _fold_case(entry.path).split("/")
        if any("/".join(parts[:end]) in links for end in range(1, len(parts))):
            raise _unreadable(entry.path, "a parent folder is a symbolic link in the same revision")
        if entry.path in paths:
            raise _unreadable(entry.path, "the revision contains it twice")
        paths.add(entry.path)


def _fold_case(path: str) -> str:
    return normalize("NFC", path.casefold()) if not path.isascii() else path.lower()


def _list_entries(top: str, commit: str, limits: Limits, paths: Sequence[str]) -> Iterator[_Entry]:
    """Yield all entries of a commit's tree. Streams the output, since a malicious tree can have millions of entries."""
    subpaths = [path for path in paths if path not in ("", os.curdir)]
    listing = ["ls-tree", "-r", "-z", "--full-tree", commit, "--", *(subpaths if len(subpaths) == len(paths) else ())]
    left, remainder = limits.file_bytes, b""
    with git_output(top, listing) as git:
        while block := git.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise _unreadable(
                    "", f"its file names have more than {limits.file_bytes:,} bytes (see --max-file-bytes)"
                )
            *records, remainder = (remainder + block).split(b"\0")
            yield from map(_entry, records)


def _list_inputs(repository: Repository, commit: str, limits: Limits, paths: Sequence[str]) -> list[_Entry]:
    """Return the entries of files that trainc reads, and refuse too many: a small tree can list a folder millions of times."""
    entries: list[_Entry] = []
    for entry in filter(_is_input, _list_entries(repository.top, commit, limits, paths)):
        if len(entries) == limits.documents:
            raise _unreadable("", f"it has more than {limits.documents:,} files (see --max-documents)")
        entries.append(entry)
    return entries


def _entry(record: bytes) -> _Entry:
    about, _, path = record.partition(b"\t")
    mode, _, blob = about.split(b" ")
    return _Entry(mode.decode(), blob, os.fsdecode(path))


def _is_input(entry: _Entry) -> bool:
    parts = entry.path.split("/")
    safe = (
        not {"", ".", ".."} & set(parts)
        and not any(map(is_git_folder, parts))
        and (os.sep == "/" or os.sep not in entry.path)
    )
    return safe and (entry.mode == _LINK or (entry.mode.startswith(_FILE) and entry.path.endswith(READ_SUFFIXES)))


def _contents(top: str, entries: Sequence[_Entry], limits: Limits) -> Iterator[tuple[_Entry, bytes]]:
    """Yield entries with their content, one at a time, after checking the limits for all of them."""
    if not entries:
        return
    object_ids = b"".join(entry.blob + b"\n" for entry in entries)
    left = limits.file_bytes
    with git_output(top, ["cat-file", "--batch-check"], object_ids) as git:
        for entry in entries:
            size = _size(entry, git.readline())
            left -= size
            if entry.mode == _LINK and size > _LONGEST_LINK:
                raise _unreadable(entry.path, "the symbolic link's target is too long")
            if left < 0:
                reason = f"reading it would exceed the limit of bytes, {limits.file_bytes:,} (see --max-file-bytes)"
                raise _unreadable(entry.path, reason)
    with git_output(top, ["cat-file", "--batch"], object_ids) as git:
        for entry in entries:
            content = git.read(_size(entry, git.readline()) + 1)
            yield entry, content[:-1]


def _size(entry: _Entry, head: bytes) -> int:
    """Parse the header that git prints before the content of an object."""
    words = head.split()
    if len(words) != 3 or words[1] != b"blob":
        raise revision_error(f"git has no content for {entry.path}: {head.decode(errors='replace').strip()}")
    return int(words[2])


def _unreadable(path: str, reason: str) -> CompileError:
    subject = f"{path!r} of the revision" if path else "the revision"
    hint = "use a smaller part of it, as in git:main:jobs, or fix the revision"
    return CompileError([Diagnostic("UnreadableFile", "error", f"{subject} cannot be read: {reason}", hint)])


_OUTSIDE_HINT = "run it inside the repository, or name two files or folders, as in `trainc diff old/ new/`"
SHALLOW_HINT = (
    "this clone is shallow and has only its newest commits: in GitHub Actions set `fetch-depth: 0` for actions/checkout, "
    "elsewhere run `git fetch --unshallow`"
)
