"""What `trainc runtimes` does."""

from __future__ import annotations

from trainc.cli.command import Arguments, Status, Streams
from trainc.kube.releases import NEWEST_RELEASE
from trainc.reading import catalog
from trainc.reading.document import Document

_FRAMEWORK = "trainer.kubeflow.org/framework"


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the list, or the text of one runtime as in the catalog."""
    if arguments.action == "list":
        streams.out.write(_table(arguments.release).encode("utf-8", "backslashreplace"))
        return Status.DONE
    release = arguments.release or NEWEST_RELEASE
    found = catalog.find(arguments.name, release)
    if not isinstance(found, Document):
        miss = found()
        why = miss.instead or miss.hint or "`trainc runtimes list` lists them"
        streams.err.write(f"trainc runtimes: no runtime {arguments.name!r} for Trainer {release}; {why}\n")
        return Status.DIAGNOSED
    streams.out.write(catalog.text_of(found.file).encode("utf-8", "backslashreplace"))
    return Status.DONE


def _table(release: str | None) -> str:
    rows = [("NAME", "FRAMEWORK", "RELEASES")]
    for name in catalog.names(release):
        served = catalog.releases(name)
        document = catalog.find(name, release or served[-1])
        assert isinstance(document, Document)
        framework = document.data["metadata"]["labels"][_FRAMEWORK]
        rows.append((name, framework, " ".join(served)))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "".join(f"{name:<{widths[0]}}  {framework:<{widths[1]}}  {served}\n" for name, framework, served in rows)
