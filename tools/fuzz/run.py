"""Run one target under atheris: `python -m fuzz.run TARGET [libFuzzer's flags and corpus folders]`."""

from __future__ import annotations

import importlib
import sys

import atheris


def main() -> None:
    """Instrument trainc, then hand over to libFuzzer, which ends the process."""
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["trainc"]):
        target = importlib.import_module(f"fuzz.targets.{name}")
    atheris.Setup(sys.argv, target.check, **_own_mutator(name))
    atheris.Fuzz()


def _own_mutator(name: str) -> dict[str, object]:
    """For targets that compile or rewrite documents, most mutations change the structure of documents, not bytes."""
    if name not in ("commands", "editing", "pipeline", "rewriting"):
        return {}
    from fuzz.mutation import mutated

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        if not data or seed % 8 == 0:
            return bytes(atheris.Mutate(data, longest))
        first = data[:1] if seed % 16 else str(seed // 16 % 8).encode()
        return (first + mutated(data[1:], seed))[:longest]

    return {"custom_mutator": mutate}


if __name__ == "__main__":
    main()
