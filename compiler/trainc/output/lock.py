"""One build at a time in an output folder: a lock that ends with the process that holds it, killed or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LOCK = "lock"


@contextmanager
def locked(state: str) -> Iterator[None]:
    """Wait until no other process holds the lock in the folder `state`, which is made if need be, and hold it.

    The file is removed at the end. Where there are no POSIX locks, nothing keeps two builds apart.
    """
    try:
        import fcntl
    except ImportError:
        os.makedirs(state, exist_ok=True)
        yield
        return
    path = os.path.join(state, _LOCK)
    while True:
        descriptor = _opened(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_still_at(descriptor, path):
                break
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # Whoever held it has removed the file; another one may be there by now.
    try:
        yield
    finally:
        os.unlink(path)
        os.close(descriptor)


def _opened(path: str) -> int:
    while True:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # A build that failed may have removed the folder, being empty, before the file is there.
        with suppress(FileNotFoundError):
            return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)


def _is_still_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
