"""What `trainc why` does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from trainc.api.arguments import Arguments, Status, Streams
from trainc.api.cluster import Dump
from trainc.api.command import report
from trainc.api.findings import counted, escape_report
from trainc.api.kube import names
from trainc.api.settings import Settings
from trainc.features.cluster.why.causes import Waiting, causes_by_job


def run(arguments: Arguments, streams: Streams) -> Status:
    """Read the dump and print why its jobs do not run."""
    dump, problems = Dump.read(arguments.dump, Settings.limits_of(arguments), streams.stdin)
    if dump is None:
        return report(problems, arguments, streams)
    chosen = arguments.job
    found = {job: causes for job, causes in causes_by_job(dump).items() if chosen in ("", job, job.rpartition("/")[2])}
    text = _json(found) if arguments.format == "json" else "".join(f"{line}\n" for line in _lines(found, chosen, dump))
    streams.out.write(escape_report(text, json=arguments.format == "json").encode("utf-8", "backslashreplace"))
    return Status.DONE


def _lines(found: Mapping[str, Sequence[Waiting]], chosen: str, dump: Dump) -> Iterator[str]:
    for job, causes in found.items():
        yield job
        for waiting in causes:
            yield f"  {waiting.cause}"
            yield f"    {waiting.object}: {waiting.path}"
            yield f"    help: {waiting.hint}"
    if not found:
        yield f"{chosen} is not in the dump, or has no reason there to wait" if chosen else "nothing in the dump waits"
    else:
        yield ""
        yield f"{counted(len(found), 'job')} with a reason not to run."
    kinds = {"Workload": names.KUEUE_GROUP, "Pod": "", "Event": ""}
    if absent := [kind for kind, group in kinds.items() if not dump.of_group(group, kind)]:
        yield f"The dump has no {', '.join(absent)}: what they would say is unknown (`trainc help dump`)."


def _json(found: Mapping[str, Sequence[Waiting]]) -> str:
    fields = ("object", "cause", "path", "hint")
    jobs = {job: [{name: getattr(w, name) for name in fields} for w in causes] for job, causes in found.items()}
    return json.dumps({"version": 1, "jobs": jobs}, indent=2) + "\n"
