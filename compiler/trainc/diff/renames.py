"""Jobs that go under one name and come under another: one job to its author, and two to the cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, TypeAlias

from trainc.diff.hashed_names import under_plain_names
from trainc.diff.jobs import JobPairs
from trainc.diff.model import JobDiff
from trainc.startup.records import replace

_Side: TypeAlias = Literal["before", "after"]


def with_renames(groups: Sequence[JobPairs], jobs: Sequence[JobDiff]) -> list[JobDiff]:
    """The jobs, those that only changed their name with a note that says so. `groups` are theirs, in the same order."""
    gone = _by_content(groups, jobs, "removed", "before")
    came = _by_content(groups, jobs, "added", "after")
    noted = list(jobs)
    for content, old in gone.items():
        new = came.get(content, [])
        if len(old) == len(new) == 1:
            was, now = noted[old[0]], noted[new[0]]
            goes = f"{now.label} has the same content: this is a new name, under which the training starts anew."
            comes = f"{was.label} had the same content: it is gone under that name, and the training starts anew."
            noted[old[0]] = replace(was, notes=(goes, *was.notes))
            noted[new[0]] = replace(now, notes=(comes, *now.notes))
    return noted


def _by_content(
    groups: Sequence[JobPairs], jobs: Sequence[JobDiff], status: Literal["added", "removed"], side: _Side
) -> dict[str, list[int]]:
    """Positions of the jobs of a status, by what they are but for their name."""
    found: dict[str, list[int]] = {}
    for i, (group, job) in enumerate(zip(groups, jobs, strict=True)):
        if job.status == status and group.jobset is not None:
            found.setdefault(_content(group, side), []).append(i)
    return found


def _content(group: JobPairs, side: _Side) -> str:
    jobset = getattr(group.jobset, side)
    plain = {jobset["metadata"]["name"]: ""}
    return json.dumps([under_plain_names(manifest, plain) for manifest in group.manifests(side)], sort_keys=True)
