"""Write the rendered files of jobs as the cluster has them, so that applying them restarts nothing.

What trainc compiles is never what Trainer's controller made: another label is enough for JobSet to refuse the update. So
the file of a job that runs starts from what is live. It is kept as built until the TrainJob changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from trainc import __version__
from trainc.admission.admit import refusals
from trainc.api.cluster import Dump
from trainc.api.kube import QUEUE_LABEL, Json, mapping
from trainc.api.output import dump_yaml
from trainc.api.records import dataclass, field
from trainc.api.settings import Options
from trainc.features.import_.cleaning import applied_metadata, literal_secrets
from trainc.features.import_.reading import SNAPSHOT, ImportedJob
from trainc.findings.text import first_of
from trainc.kube.live_objects import controller_of, labels_of
from trainc.kube.names import JOBSET_API
from trainc.output.keeping import BuildLine
from trainc.output.ownership import file_name, first_line

# The order in which a build writes them; Secrets are not read.
_KINDS = ("ConfigMap", "PodGroup", "JobSet")


@dataclass(slots=True)
class Adoption:
    """The texts of rendered files, by their paths in the output folder, the jobs in them, and why others stay out."""

    files: dict[str, str] = field(default_factory=dict)
    jobs: list[ImportedJob] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)


class Adopter:
    """Adopts jobs of a dump for a Trainer release."""

    def __init__(self, dump: Dump, release: str) -> None:
        self._dump, self._release = dump, release
        self._made: dict[tuple[str, str], list[Json]] = {}
        for each in dump:
            owner = controller_of(each)
            if owner is not None and owner.get("kind") == "TrainJob" and each.get("kind") in _KINDS:
                namespace = str(mapping(each.get("metadata")).get("namespace") or "")
                self._made.setdefault((namespace, str(owner.get("name"))), []).append(each)

    def adopt(self, jobs: Sequence[ImportedJob], sources: Mapping[str, tuple[str, str]]) -> Adoption:
        """Adopt TrainJobs; `sources` has the source and digest of each, by NAMESPACE/NAME."""
        found = Adoption()
        for job in jobs:
            live = sorted(self._made.get((job.namespace, job.name), ()), key=lambda each: _KINDS.index(each["kind"]))
            if not live or live[-1]["kind"] != "JobSet":
                found.problems.append(f"{job.job}: there is no JobSet of it in the dump to adopt")
            elif job.job not in sources:
                found.problems.append(f"{job.job}: trainc.yaml does not read its file; choose -o below `sources`")
            elif problem := self._problem(live):
                found.problems.append(f"{job.job}: {problem}")
            else:
                source, digest = sources[job.job]
                line = BuildLine(digest, __version__, self._release)
                objects = [as_applied(each) for each in live if not str(each["metadata"]["name"]).endswith(SNAPSHOT)]
                path = file_name(job.namespace, job.name)
                found.files[path] = f"{first_line(source)}{line}{dump_yaml(objects)}"
                found.jobs.append(job)
                trainjob = self._dump.get("TrainJob", job.namespace, job.name)
                if trainjob is not None and QUEUE_LABEL in labels_of(trainjob):
                    found.queued.append(job.job)
        return found

    def _problem(self, live: Sequence[Json]) -> str:
        """Why a job cannot be adopted; empty if it can."""
        if names := literal_secrets(list(live)):
            return f"its JobSet has the value of {first_of(names)}, which must not reach git and cannot change while it exists"
        jobset = live[-1]
        if jobset.get("apiVersion") != JOBSET_API:
            return f"trainc adopts JobSets of {JOBSET_API}"
        refused = refusals(dict(jobset), as_applied(jobset), Options(release=self._release))
        return f"applying it would be refused: {refused[0].path}: {refused[0].message}" if refused else ""


def as_applied(live: Json) -> dict[str, Any]:
    """What to apply over a live object so that it stays as it is.

    Client-side apply replaces lists, so the spec is that of the cluster, with what Kueue has set in it. Only `suspend`
    stays out, which is then left to the cluster.
    """
    kept = {key: value for key, value in live.items() if key != "status"} | {"metadata": applied_metadata(live)}
    if live.get("kind") == "JobSet":
        kept["spec"] = {key: value for key, value in mapping(live.get("spec")).items() if key != "suspend"}
    return kept


def sources_in(
    folder: str, jobs: Sequence[ImportedJob], digests: Mapping[tuple[str, str], str], home: str
) -> dict[str, tuple[str, str]]:
    """The source and the digest of each imported job, as a build names them, by NAMESPACE/NAME."""
    found = {}
    for job in jobs:
        digest = digests.get((job.namespace, job.name))
        if digest is not None:
            path = os.path.relpath(os.path.realpath(os.path.join(folder, job.path)), os.path.realpath(home))
            found[job.job] = path.replace(os.sep, "/"), digest
    return found
