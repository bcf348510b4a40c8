"""What a change does to JobSets that are sources: updates that a cluster refuses, names that were taken, stale addresses.

Addresses are looked at in compiled JobSets with a hash in their names as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.admission.updates import JobSetRules
from trainc.cli.changed_rules import first_difference
from trainc.emit.name_hash import plain_name
from trainc.findings import Diagnostic, Finding, Path
from trainc.findings.text import first_of
from trainc.kube.documents import Json, identity_of, qualified, value_at, walk
from trainc.kube.jobset import JobSet
from trainc.options import Options
from trainc.output.keeping import Base
from trainc.output.ownership import file_name
from trainc.reading.document import Document, label_of
from trainc.reading.yaml_reader import read_documents
from trainc.startup.patterns import pattern

# A pod of a JobSet as others call it: JOBSET-JOB-REPLICA-INDEX.SERVICE.
_ADDRESS = pattern(
    r"(?<![\w.-])([a-z0-9](?:[a-z0-9-]*[a-z0-9])?-(\d{1,5})-(\d{1,5}))\.([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?![\w-])"
)
_HELD = ("command", "args", "env")


def changed_jobsets(
    jobsets: Sequence[Document], base: Base, options: Options, minor: str, diagnostics: Sequence[Diagnostic]
) -> Iterator[Diagnostic]:
    """Yield what is to say of each JobSet that the base has otherwise; one with errors has these first."""
    broken = {(d.source.file, d.object) for d in diagnostics if d.severity == "error" and d.source}
    rules = JobSetRules(minor)
    for document in jobsets:
        key = identity_of(document.data, options.namespace)
        text = base.read_text(file_name(*key))
        found = read_documents(text.encode(), "", options.limits)[0]
        if any(before.data == document.data for before in found):
            continue
        if (document.file, f"JobSet {qualified(*key)}") in broken:
            continue
        yield from map(document.diagnose, stale_addresses(document.data))
        befores = [d for d in found if d.data.get("kind") == "JobSet" and identity_of(d.data)[1] == key[1]]
        for before in befores if len(found) == 1 and not options.recreates else ():
            sides = rules.put(before.data)[0], rules.put(document.data)[0]
            for refusal in rules.update_refusals(*sides)[:1]:
                old, new = (value_at(side.data, refusal.path) for side in (before, document))
                at = (
                    (*refusal.path, *(first_difference(old, new) or ()))
                    if new is not None
                    else first_difference(before.data, document.data)
                )
                old, new = (value_at(side.data, at or ()) for side in (before, document))
                message = refusal.message
                if all(isinstance(value, (str, int, float, bool)) for value in (old, new)):
                    message = f"changed from {old} to {new}"
                message = f"a cluster that has this JobSet as in {base.name} refuses the change: {message}"
                hint = (
                    "give it a new name, also in the addresses of its pods"
                    if _addresses(document.data)
                    else "give it a new name"
                )
                hint += ": the old one ends, and the new one starts"
                yield document.diagnose(Finding("FieldImmutable", "warning", message, hint, at or ("metadata", "name")))


def took_a_name(
    jobsets: Sequence[Document], base: Base, options: Options, earlier: Mapping[str, bytes | None], d: Diagnostic
) -> Diagnostic:
    """Return what is said of a TrainJob with the name of a JobSet, placed at the JobSet if the base has the TrainJob.

    `earlier` are the files of JobSets that the base has with other content.
    """
    kind, _, name = d.object.partition(" ")
    if d.code != "DuplicateTrainJob" or kind != "TrainJob" or d.source is None:
        return d
    found = [one for one in jobsets if qualified(*identity_of(one.data, options.namespace)) == name]
    if not found or all(qualified(*key) != name for key in base.read_trainjobs()):
        return d
    document, here = found[-1], {identity_of(one.data, options.namespace) for one in jobsets}
    before = read_documents(earlier.get(document.file) or b"", "", options.limits)[0]
    keys = [identity_of(one.data, options.namespace) for one in before if one.data.get("kind") == "JobSet"]
    ends = [qualified(*key) for key in keys if key not in here]
    message = f"{name} is the TrainJob at {d.source.file}:{d.source.line}"
    message += f", and JobSet {ends[0]}, which this was in {base.name}, would end" if ends else ""
    hint = f"write {ends[0].rpartition('/')[2]} again, or another name" if ends else "give it another name"
    return document.diagnose(Finding(d.code, d.severity, message, hint, ("metadata", "name")))


def _addresses(jobset: Json) -> list[tuple[Path, Any]]:
    """Return the places in commands and variables that are addresses of pods, with the match."""
    found = list[tuple[Path, Any]]()
    for job in JobSet.read(jobset).jobs:
        for above, container in job.containers:
            for held in _HELD:
                for path, value in walk(container.get(held) or []):
                    if isinstance(value, str):
                        found += [((*above, held, *path), match) for match in _ADDRESS.finditer(value)]
    return found


def without_hash(manifests: Sequence[Json]) -> list[tuple[str, Finding]]:
    """Return the addresses of compiled pods that lack the hash of their names, each with the label of its JobSet."""
    jobsets = [m for m in manifests if m["kind"] == "JobSet" and plain_name(identity_of(m)[1]) != identity_of(m)[1]]
    return [(label_of(jobset), finding) for jobset in jobsets for finding in stale_addresses(jobset)]


def stale_addresses(jobset: Json) -> Iterator[Finding]:
    """Yield an address that is the name of a pod here under another Service, or under this one of no pod here."""
    one = JobSet.read(jobset)
    names = {f"{one.name}-{job.name}": (job.replicas, job) for job in one.jobs}
    plain, own = plain_name(one.name), f"{one.name}-"
    known = [name for name in names if name.startswith(own)]
    of_pods = first_of([f"{name}-0-0" for name in known])
    for path, match in _addresses(jobset):
        host, replica, index, service = match.groups()
        stem = host.rsplit("-", 2)[0]
        right = f"{host}.{one.service}"
        if plain != one.name and service in (plain, one.service) and f"{one.name}{stem.removeprefix(plain)}" in names:
            message = f"{match[0]} does not resolve: the job is called {one.name}, with a hash that each change alters"
            of_job = "$(JOBSET)" if one.service == one.name else one.service
            variable = "{name: JOBSET, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['jobset.sigs.k8s.io/jobset-name']\"}}}"
            hint = f"write $(JOBSET){host.removeprefix(plain)}.{of_job}, with this variable before it: {variable}"
            yield Finding("UnknownPodAddress", "warning", message, hint, path)
        elif stem in names and service != one.service:
            message = f"{match[0]} does not resolve: the Service of these pods is {one.service}"
            yield Finding("UnknownPodAddress", "warning", message, f"write {right}", path)
        elif service == one.service and stem not in names:
            right = f"{known[0]}-{replica}-{index}.{one.service}" if len(known) == 1 else ""
            message = f"{match[0]} does not resolve: no pod of {one.name} is called {host}"
            hint = f"write {right}" if right else f"its pods are called {of_pods}"
            yield Finding("UnknownPodAddress", "warning", message, hint, path)
        elif stem in names and int(replica) >= names[stem][0]:
            message = f"{match[0]} does not resolve: {stem} has {names[stem][0]} replicas, counted from 0"
            yield Finding(
                "UnknownPodAddress",
                "warning",
                message,
                f"write {stem}-0-{index}.{service}, or raise its replicas",
                path,
            )
