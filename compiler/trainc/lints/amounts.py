"""Lints for unlikely amounts: bytes instead of gigabytes, thousands of cores, unknown devices, zero nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from trainc.findings import Finding, Path, suggest, write
from trainc.ir.entrypoints import About, Entrypoint, container_path
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.devices import KNOWN, accelerator_of, accelerators, is_slice, whole_units
from trainc.kube.quantity import NANOS_PER_UNIT, Quantity, parse_quantity
from trainc.startup.records import replace

# A code, a message and a hint.
Words: TypeAlias = tuple[str, str, str]

_MEBIBYTE = 1 << 20
_MOST_CORES = 1024
_MOST_DEVICES = 128


def no_nodes(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for a job without pods."""
    if job.trainer.num_nodes == 0:
        message = "numNodes is 0: the job has no pods and completes at once without training anything"
        hint = "write 1 or more; to hold the job back, set suspend: true"
        yield Finding("UnlikelyAmount", "warning", message, hint=hint, path=("spec", "trainer", "numNodes"))


def unlikely_amounts(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for each amount of a container that is most likely a mistake."""
    resources = entry.container.resources
    if not resources:
        return
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if _usual(tuple(limits.items()), tuple(requests.items())):
        return
    for name, amount in limits.items():
        if (found := _unlikely(name, str(amount))) is not None:
            yield _finding(job, info, entry, ("limits", name), found)
    for name, amount in requests.items():
        if limits.get(name) != amount and (found := _unlikely(name, str(amount))) is not None:
            yield _finding(job, info, entry, ("requests", name), found)
    if len(limits) > 1 or len(requests) > 1:
        yield from _too_few_cores(job, info, entry)
        yield from _kinds(job, info, entry)


@lru_cache(maxsize=256)
def _usual(limits: tuple[tuple[str, str], ...], requests: tuple[tuple[str, str], ...]) -> bool:
    """Return whether the amounts are clearly plausible: cores, memory and devices of one kind, enough of each."""
    if any(_unlikely(name, str(amount)) is not None for name, amount in (*limits, *requests)):
        return False
    amounts = {**dict(requests), **dict(limits)}
    devices = [name for name in amounts if accelerator_of(name) is not None]
    return len(devices) < 2 and (
        "cpu" not in amounts or not devices or whole_units(amounts["cpu"]) >= whole_units(amounts[devices[0]])
    )


@lru_cache(maxsize=1024)
def _unlikely(name: str, amount: str) -> Words | None:
    try:
        quantity = parse_quantity(amount)
    except ValueError:
        return None
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        return _bytes(name, amount, quantity)
    if name == "cpu" and quantity.units >= _MOST_CORES:
        return (
            "UnlikelyAmount",
            f"cpu: {quantity.units} means {quantity.units} cores",
            f"write {quantity.units}m if you mean thousandths of a core",
        )
    if "/" in name:
        return _device(name, quantity)
    return None


def _bytes(name: str, written: str, quantity: Quantity) -> Words | None:
    if quantity.nanos >= _MEBIBYTE * NANOS_PER_UNIT or (quantity.nanos <= 0 and name != "memory") or quantity.nanos < 0:
        return None
    digits = written.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if written.endswith("m"):
        message = f"{name}: {written} means thousandths of a byte"
        return "UnlikelyAmount", message, f"write {digits}Mi or {digits}Gi"
    message = f"{name}: {written} means {quantity.units} bytes" if quantity.nanos else f"{name}: 0 means none at all"
    return (
        "UnlikelyAmount",
        message,
        write(f"{digits}Gi") if quantity.nanos and digits else "write an amount such as 16Gi",
    )


def _device(name: str, quantity: Quantity) -> Words | None:
    if quantity.units > _MOST_DEVICES and name in KNOWN:
        return "UnlikelyAmount", f"{name}: {quantity.units} is more than any node has", "write the number per pod"
    meant = misspelt_device(name)
    if meant:
        message = f"there is no known device called {name}, so the pods may stay pending forever"
        return "UnlikelyResource", message, suggest(name, [meant])
    return None


def misspelt_device(name: str) -> str:
    """Return the known device of which `name` is a misspelling; empty if it is known itself, or similar to none."""
    if name in KNOWN or is_slice(name):
        return ""
    domain, _, device = name.partition("/")
    for known in sorted(KNOWN):
        known_domain, _, known_device = known.partition("/")
        if _nearly(domain, known_domain, whole=True) and _nearly(device, known_device):
            return known
    return ""


def _nearly(word: str, known: str, *, whole: bool = False) -> bool:
    """Return whether part of a name is the known one up to case, a letter or two, a plural or a missing ending."""
    from trainc.findings.text import edits

    word, known = word.lower(), known.lower()
    # One edit turns a short word into another one: acme.com is not amd.com.
    most = 0 if len(known) < 4 else 1 if len(known) < 9 else 2
    ends = {known, f"{known}s"} | (
        {known.partition(".")[0], f"k8s.{known}", known.replace(".com", ".io")} if whole else set()
    )
    return word in ends or edits(word, known, most) <= most


def _too_few_cores(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    resources = entry.container.resources
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    kind = "limits" if "cpu" in limits else "requests"
    amount = limits.get("cpu", requests.get("cpu"))
    devices = sum(accelerators(resources).values()) if amount is not None else 0
    if devices < 2 or not 1 <= whole_units(amount) < devices:
        return
    message = f"cpu: {amount} for {devices} devices is less than one core per process, which starves the data loaders"
    words = "UnlikelyAmount", message, f"write {devices * 8}, or the node's number of cores per device times {devices}"
    found = _finding(job, info, entry, (kind, "cpu"), words)
    # A container may use more than it requests.
    yield found if kind == "limits" else replace(found, severity="info")


def _kinds(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for devices of two kinds in one container: no node has both, or a GPU and a slice of it."""
    resources = entry.container.resources
    amounts = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    requested = [name for name in amounts if accelerator_of(name) is not None and whole_units(amounts[name]) > 0]
    makers = {name.partition("/")[0] for name in requested}
    if len(requested) > 1 and (len(makers) > 1 or any(map(is_slice, requested))):
        kind = "limits" if requested[1] in (resources.get("limits") or {}) else "requests"
        message = f"one container requests {' and '.join(sorted(requested))}, which no node has together"
        yield _finding(job, info, entry, (kind, requested[1]), ("UnlikelyResource", message, "keep one of them"))


def _finding(job: TrainJob, info: Info, entry: Entrypoint, field: tuple[str, str], words: Words) -> Finding:
    path, about = _place(job, info, entry, *field)
    code, message, hint = words
    return Finding(code, "warning", message, hint=hint, path=path, about=about)


def _place(job: TrainJob, info: Info, entry: Entrypoint, kind: str, name: str) -> tuple[Path, About]:
    requested = (job.trainer.resources_per_node or {}).get(kind) or {}
    if name in requested and (entry.trains or entry.pod_set.role):
        return ("spec", "trainer", "resourcesPerNode", kind, name), "trainjob"
    return container_path(job, info, entry.pod_set.name, entry.container.name, "resources", kind, name)
