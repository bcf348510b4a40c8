"""`build --watch`: build again whenever something of the input is saved, until Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from trainc.batch.run import Memory
from trainc.cli.command import Arguments, Status, Streams, UsageError
from trainc.cli.settings import Settings, settings_of
from trainc.diagnostics import CompileError
from trainc.reading.files import READ_SUFFIXES

if TYPE_CHECKING:
    from watchfiles import Change

# How long, in milliseconds, the first build waits for the watch to stand, so that nothing saved meanwhile is missed.
_READY = 200
_NAMED = 3

Build = Callable[[Arguments, Streams, Memory], Status]


def watch(arguments: Arguments, settings: Settings, target: str, streams: Streams, build: Build) -> Status:
    """Build, and again after each change. Ctrl-C is how it ends, and no failure."""
    try:
        import watchfiles
    except ImportError:
        streams.err.write("trainc build: --watch needs the extra `watch`; run: pip install 'trainc[watch]'\n")
        return Status.USAGE
    # trainc.yaml may change meanwhile, but what was written where stays in one place.
    arguments = Arguments(**{**vars(arguments), "output": target})
    watched = _Watched(arguments, settings, target)
    builder = _Builder(arguments, target, streams, build)
    try:
        while True:
            # Not recursive: hidden folders and the output may be large, and new folders are met one by one.
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
    """Build at first, when the watch stands, and after each change, until there are other folders to watch."""
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
    """Builds over and over. What would end a command leaves the output as it was, and waits to be mended."""

    def __init__(self, arguments: Arguments, target: str, streams: Streams, build: Build) -> None:
        self._arguments = arguments
        self._target = target
        self._streams = streams
        self._build = build
        self._memory = Memory()

    def announce(self, paths: Collection[str]) -> None:
        """Say what has changed, which is then read again."""
        self._memory.forget(paths)
        names = sorted(os.path.relpath(path) for path in paths)
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        self._streams.err.write(f"{', '.join(names[:_NAMED])}{more} changed\n")

    def build(self) -> None:
        """One build, and a line that says what came of it."""
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
    """The folders that something of the input lies in."""

    def __init__(self, arguments: Arguments, settings: Settings, target: str) -> None:
        self._arguments = arguments
        self._left_out = {os.path.realpath(path) for path in (target, arguments.cache) if path}
        self.folders = self._folders(settings)

    def moved(self) -> bool:
        """Whether the folders are others by now; not while the settings are wrong."""
        try:
            folders = self._folders(settings_of(self._arguments))
        except (CompileError, UsageError, OSError):
            return False
        before, self.folders = self.folders, folders
        return folders != before

    def concerns(self, _change: Change, path: str) -> bool:
        """Whether what happened in a folder concerns the input: to a file that is read, or to another folder."""
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
