"""What an editor shows of the environment variables of NCCL, PyTorch, OpenMP and Hugging Face.

In data.json, `readers` are the programs that read the variables with a prefix, of which the first one counts;
`torchrun` are its options that a runtime for PyTorch leaves to the job. `namedBy` are the fields that name objects of a
kind.
"""

from __future__ import annotations

from trainc.api.documents import opening
from trainc.api.editing import variable_names

DATA = opening.read_data(__file__, "data.json")


def suggested_variables() -> list[str]:
    """Return the variables that a job may set, sorted."""
    # The runtime sets the others of torchrun's.
    known = {name for name in variable_names()["known"] if not name.startswith("PET_")}
    return sorted(known | {f"PET_{name}" for name in DATA["torchrun"]})


def meaning_of(name: str) -> str:
    """Return what reads a variable, and what it means; empty for a variable that no known program reads."""
    if name not in DATA["meanings"] and name not in suggested_variables():
        return ""
    reader = next((reader for prefix, reader in DATA["readers"].items() if name.startswith(prefix)), "")
    return ": ".join(filter(None, (f"read by {reader}" if reader else "", DATA["meanings"].get(name, ""))))


def suggested_values(name: str) -> tuple[str, ...]:
    """Return values of a variable, if there are few of them or some are common."""
    return (
        tuple(variable_names()["words"].get(name, ()))
        or tuple(DATA["values"].get(name, ()))
        or (("0", "1") if name.endswith(tuple(DATA["switches"])) else ())
    )
