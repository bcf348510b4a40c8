"""Format the answers as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.features.fits.answer import Fit, Fits
from trainc.features.fits.words import counted_pods

VERSION = 1
NOTE = "A job that fits may still have to wait: running workloads, preemption, fair sharing and admission checks are not considered."
_MOST_DOMAINS = 8


def fits_text(found: Fits) -> str:
    """A line for each job, followed by the resources of its pods; then the number of jobs for each verdict."""
    width = max((len(fit.job) for fit in found.alone), default=0)
    lines = []
    for alone, together in zip(found.alone, found.together, strict=True):
        lines.append(f"{alone.job:<{width}}  {verdict_text(alone, together)}")
        lines += [f"  {line}" for line in _pod_sets(alone)]
    return "".join(f"{line}\n" for line in (*lines, "", *_counts(found), NOTE))


def verdict_text(alone: Fit, together: Fit) -> str:
    """Both answers for a job on one line."""
    if alone.scheduler != "kueue":
        why = f" ({alone.cause})" if alone.cause else ""
        return "no queue: " + ("the nodes have room for it" if alone.verdict == "fits" else f"{alone.verdict}{why}")
    text = alone.verdict if alone.cause is None else f"{alone.verdict} ({alone.cause})"
    if alone.verdict == "fits" and alone.queue:
        text = f"fits queue {alone.queue}" + (", borrowing from its cohort" if alone.borrows else "")
        if alone.runs is False:
            return f"{text}; admitted, it never runs ({alone.cause})"
    if together.verdict == "waits":
        return f"{text}; together with the jobs before it, it waits ({together.cause})"
    if together.verdict == "admitted" and alone.verdict != "fits":
        return f"{text}; together with the jobs before it, it is admitted"
    return text


def _pod_sets(fit: Fit) -> Iterator[str]:
    for name, flavors in fit.flavors.items():
        chosen = ", ".join(f"{flavor} ({', '.join(of)})" for flavor, of in _by_flavor(flavors).items())
        places = fit.places.get(name)
        where = f", on {_domains(places)}" if places else ""
        yield f"{name}: {counted_pods(fit.pods[name])}, {chosen or 'no requests'}{where}"


def _by_flavor(flavors: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for resource, flavor in sorted(flavors.items()):
        found.setdefault(flavor, []).append(resource)
    return found


def _domains(places: Any) -> str:
    shown = [f"{domain}: {count}" for domain, count in list(places.items())[:_MOST_DOMAINS]]
    more = len(places) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _counts(found: Fits) -> Iterator[str]:
    alone = Counter(fit.verdict for fit in found.alone)
    together = Counter(fit.verdict for fit in found.together if fit.scheduler == "kueue")
    yield f"Each job alone on the idle cluster: {_counted(alone, ('fits', 'never', 'inactive', 'refused', 'unknown'))}."
    yield f"All jobs in this order, if none of them ends: {_counted(together, ('admitted', 'waits'))}."


def _counted(counts: Counter[Any], words: tuple[str, ...]) -> str:
    return ", ".join(f"{counts[word]} {word}" for word in words if counts[word]) or "none"


def fits_json(found: Fits) -> dict[str, Any]:
    """Return the answers in the shape documented in docs/fits.md."""
    jobs = [
        {
            "job": alone.job,
            "queue": alone.queue,
            "scheduler": alone.scheduler,
            "alone": _entry(alone),
            "together": _entry(both),
        }
        for alone, both in zip(found.alone, found.together, strict=True)
    ]
    return {"version": VERSION, "jobs": jobs, "note": NOTE}


def _entry(fit: Fit) -> dict[str, Any]:
    return {
        "verdict": fit.verdict,
        "cause": fit.cause,
        "flavors": fit.flavors,
        "borrows": fit.borrows,
        "topology": fit.topology,
        "places": fit.places,
        "runs": fit.runs,
        "pods": fit.pods,
        "requests": fit.requests,
        "reasons": [{"code": one.code, "message": one.message, "hint": one.hint} for one in fit.diagnostics],
    }


def lines_by_job(fits: Sequence[Fit]) -> dict[str, list[str]]:
    """Return a line for each answer, by job: `fits queue team-a, with h100`."""
    found: dict[str, list[str]] = {}
    for fit in fits:
        queue = f"queue {fit.queue}" if fit.queue else "the cluster without a queue"
        flavors = sorted({flavor for by_resource in fit.flavors.values() for flavor in by_resource.values()})
        using = f", with {', '.join(flavors)}" if flavors else ""
        if fit.verdict == "fits":
            line = f"fits {queue}{using}{', borrowing' if fit.borrows else ''}"
        else:
            line = f"{fit.verdict} in {queue}" + (f": {fit.cause}" if fit.cause else "")
        found.setdefault(fit.job, []).append(line)
    return found


def fits_by_job(found: Fits) -> dict[str, str]:
    """The answer for each job on one line, with the reason if it can never run."""
    return {
        alone.job: ": ".join((verdict_text(alone, together), *(one.message for one in alone.diagnostics)))
        for alone, together in zip(found.alone, found.together, strict=True)
    }
