"""Test one mutant in a process of its own: replace the function's code and run checks until one fails."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import resource
import signal
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from mutation.mutants import Mutant

SURVIVED, KILLED, TIMEOUT = "survived", "killed", "timeout"
_EXITS = {0: SURVIVED, 1: KILLED}
_GIGABYTE = 2**30
_CACHE = type(functools.cache(lambda: None))

# A check takes no arguments and returns whether it passed.
Check = Callable[[], bool]


def start(module: str, mutant: Mutant, checks: Iterable[Check], seconds: int) -> int:
    """Fork a process that tests the mutant and return its id; it exits with 1 if a check fails, else with 0."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    try:
        _try(module, mutant, checks, seconds)
    finally:
        os._exit(1)


def outcome(status: int) -> str:
    """The meaning of such a process's exit status."""
    if os.WIFSIGNALED(status):
        return TIMEOUT if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else KILLED
    return _EXITS.get(os.WEXITSTATUS(status), KILLED)


def _try(module: str, mutant: Mutant, checks: Iterable[Check], seconds: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    resource.setrlimit(resource.RLIMIT_AS, (4 * _GIGABYTE, 4 * _GIGABYTE))
    exchange(importlib.import_module(module), mutant)
    os._exit(0 if all(check() for check in checks) else 1)


def exchange(module: types.ModuleType, mutant: Mutant) -> None:
    """Replace the code and defaults of a function by the mutant's, and clear caches computed with the original."""
    scratch: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(mutant.source, str(mutant.file), "exec", dont_inherit=True), scratch)  # noqa: S102 - that is the purpose
    old, new = _function(vars(module), mutant.function), _function(scratch, mutant.function)
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
    for cache in caches():
        cache.cache_clear()


def caches() -> list[Any]:
    """The functools caches of all imported modules."""
    return [thing for thing in gc.get_objects() if isinstance(thing, _CACHE)]


def _function(names: dict[str, Any], path: str) -> Any:
    owner, _, name = path.rpartition(".")
    found = vars(names[owner])[name] if owner else names[name]
    if isinstance(found, property):
        found = found.fget
    while hasattr(found, "__wrapped__") or isinstance(found, classmethod | staticmethod):
        found = found.__wrapped__
    return found
