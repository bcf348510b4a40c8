"""`build --watch`: build again whenever something of the input is saved, until Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from trainc.batch.run import Memory
from trainc.cli.command import Arguments, Status, Streams, UsageError
from trainc.cli.settings import Settings, settings_of
from trainc.findings import CompileError
from trainc.reading.files import READ_SUFFIXES

if TYPE_CHECKING:
    from watchfiles import Change

# Time in milliseconds for the watch to start before the first build, so that no change in between is missed.
_READY = 200
_NAMED = 3

Build = Callable[[Arguments, Streams, Memory], Status]


def watch(arguments: Arguments, settings: Settings, target: str, streams: Streams, build: Build) -> Status:
    """Build, and again after each change. Ctrl-C ends it normally."""
    try:
        import watchfiles
    except ImportError:
        streams.err.write("trainc build: --watch needs the extra `watch`; run: pip install 'trainc[watch]'\n")
        return Status.USAGE
    # trainc.yaml may change while watching, but the output folder stays the same.
    arguments = Arguments(**{**vars(arguments), "output": target})
    watched = _Watched(arguments, settings, target)
    builder = _Builder(arguments, target, streams, build)
    try:
        while True:
            # Not recursive: hidden folders and the output may be large, and new folders are added as they are found.
            changes = watchfiles.watch(
                *watched.folders,
                watch_filter=watched.concerns,
                yield_on_timeout=True,
                rust_timeout=_READY,
                recursive=False,
            )
            _build_while(watched, changes, builder)
    except KeyboardInterrupt:
        return Status.DONE


def _build_while(watched: _Watched, changes: Iterable[set[tuple[Change, str]]], builder: _Builder) -> None:
    """Build once the watch has started and after each change, until the set of folders changes."""
    begun = False
    for changed in changes:
        if begun and not changed:
            continue
        if changed:
            builder.announce([path for _, path in changed])
        if watched.moved():
            return
        builder.build()
        begun = True


class _Builder:
    """Builds repeatedly. An error that would end a command keeps the previous output until the input is fixed."""

    def __init__(self, arguments: Arguments, target: str, streams: Streams, build: Build) -> None:
        self._arguments = arguments
        self._target = target
        self._streams = streams
        self._build = build
        self._memory = Memory()

    def announce(self, paths: Collection[str]) -> None:
        """Print what has changed; those files are read again."""
        self._memory.forget(paths)
        names = sorted(os.path.relpath(path) for path in paths)
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        self._streams.err.write(f"{', '.join(names[:_NAMED])}{more} changed\n")

    def build(self) -> None:
        """Build once and print a line with the result."""
        err = self._streams.err
        try:
            status = self._build(self._arguments, self._streams, self._memory)
        except (UsageError, OSError) as error:
            err.write(f"trainc: {error}\n")
            status = Status.USAGE
        if status != Status.DONE:
            err.write(f"{self._target}: not updated\n")
        err.write("watching for changes; press Ctrl-C to stop\n")
        err.flush()


class _Watched:
    """The folders that contain input."""

    def __init__(self, arguments: Arguments, settings: Settings, target: str) -> None:
        self._arguments = arguments
        self._left_out = {os.path.realpath(path) for path in (target, arguments.cache) if path}
        self.folders = self._folders(settings)

    def moved(self) -> bool:
        """Whether the set of folders has changed; False while the settings are invalid."""
        try:
            folders = self._folders(settings_of(self._arguments))
        except (CompileError, UsageError, OSError):
            return False
        before, self.folders = self.folders, folders
        return folders != before

    def concerns(self, _change: Change, path: str) -> bool:
        """Whether a change in a folder affects the input: a file that is read, or another folder."""
        name = os.path.basename(path)
        if name.startswith(".") or os.path.realpath(path) in self._left_out:
            return False
        return name.endswith(READ_SUFFIXES) or "." not in name

    def _folders(self, settings: Settings) -> list[str]:
        texts = [path for overlay in settings.overlays for path, _ in overlay.texts]
        runtimes = [path for overlay in settings.overlays for path in overlay.all_runtimes]
        found = {os.path.dirname(os.path.abspath(path)) for path in (settings.configuration.file, *texts) if path}
        for path in (*settings.paths, *settings.runtimes, *runtimes):
            found |= set(self._below(path)) if os.path.isdir(path) else {os.path.dirname(os.path.abspath(path))}
        return sorted(folder for folder in found if os.path.isdir(folder))

    def _below(self, folder: str) -> Iterator[str]:
        for path, inner, _ in os.walk(os.path.abspath(folder)):
            shown = (name for name in inner if not name.startswith("."))
            inner[:] = [name for name in shown if os.path.realpath(os.path.join(path, name)) not in self._left_out]
            yield path
