"""Explain a TrainJob: compile it under observation, then work out who set each field of its objects."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.documents import Manifest
from trainc.explain.model import ExplainedObject, Explanation, InputDocument, InputDocuments, ObjectName
from trainc.explain.replay import Replay
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.options import Options
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins.plugin import ExtensionPoint
from trainc.plugins.registry import Applied
from trainc.reading.document import Document, label_of
from trainc.startup.records import dataclass, field


@dataclass(slots=True)
class Recorder:
    """An observer that records the compilation; attribution happens afterwards.

    `others` are the input documents other than TrainJobs and runtimes.
    """

    others: Sequence[Document] = ()
    job: ValidDocument | None = None
    runtime: ValidDocument | None = None
    trainjob: TrainJob | None = None
    info: Info | None = None
    passes: list[tuple[Applied, ExtensionPoint, Info, Info]] = field(default_factory=list)
    stages: list[tuple[str, Sequence[Manifest]]] = field(default_factory=list)

    def lowered(self, job: ValidDocument, runtime: ValidDocument, trainjob: TrainJob, info: Info) -> None:
        """See `Observer`."""
        self.job, self.runtime, self.trainjob, self.info = job, runtime, trainjob, info

    def renamed(self, trainjob: TrainJob) -> None:
        """See `Observer`."""
        self.trainjob = trainjob

    def passed(self, plugin: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
        """See `Observer`."""
        self.passes.append((plugin, point, before, after))

    def shaped(self, stage: str, manifests: Sequence[Manifest]) -> None:
        """See `Observer`."""
        self.stages.append((stage, manifests))


def explanation(recorder: Recorder, options: Options) -> Explanation:
    """Explain every field of the objects built for the job that `recorder` observed to completion."""
    job, runtime, trainjob, info = recorder.job, recorder.runtime, recorder.trainjob, recorder.info
    assert job is not None
    assert runtime is not None
    assert trainjob is not None
    assert info is not None
    documents = InputDocuments(_document(job), _document(runtime), [_as_input(d) for d in recorder.others])
    replay = Replay(trainjob, info, documents, options)
    replay.frontend()
    for step in recorder.passes:
        replay.passed(*step)
    replay.built(recorder.passes[-1][3] if recorder.passes else info)
    for stage, manifests in recorder.stages[1:]:
        replay.shaped(stage, manifests)
    objects = tuple(ExplainedObject(_name(m), fields) for m, fields in replay.explained(recorder.stages[-1][1]))
    source = job.document.locate(())
    return Explanation(job.label, runtime.label, source, info.release.minor, info.semantics, objects)


def _document(checked: ValidDocument) -> InputDocument:
    document, before = checked.document, None
    if (read := document.before) is not None:
        before = InputDocument(checked.label, read.file, read.data, read.data, lambda path: path, read.locate)
    return InputDocument(
        checked.label, document.file, document.data, checked.data, checked.original_path, document.locate, before
    )


def _as_input(document: Document) -> InputDocument:
    data = document.data
    return InputDocument(label_of(data), document.file, data, data, lambda path: path, document.locate)


def _name(manifest: Manifest) -> ObjectName:
    metadata = manifest["metadata"]
    return ObjectName(manifest["apiVersion"], manifest["kind"], metadata.get("namespace", ""), metadata["name"])
