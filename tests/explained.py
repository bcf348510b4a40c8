"""Ways to an explanation in tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainc.explain.model import ExplainedField, Explanation, Origin
from trainc.explain.select_job import compile_one
from trainc.kube.documents import format_field
from trainc.options import Options
from trainc.pipeline.inputs import Inputs
from trainc.reading.document import Document

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation, and the documents that it is about."""

    explanation: Explanation
    job: Json
    runtime: Json

    def field(self, path: str, kind: str = "JobSet") -> ExplainedField:
        """The field of the one object of a kind whose path ends so."""
        (found,) = [
            field
            for described in self.explanation.objects
            if described.name.kind == kind
            for field in described.fields
            if format_field(field.path).endswith(path)
        ]
        return found

    def origin(self, path: str, kind: str = "JobSet") -> Origin:
        return self.field(path, kind).origin


def explain_documents(documents: list[Document], options: Options) -> Explained:
    job = compile_one(Inputs(documents, [], []), None, options)
    result = job.recorder.result
    assert result is not None
    assert result.runtime is not None
    return Explained(job.recorder.explanation(), result.job.document.data, result.runtime.document.data)


def explained(job: Json, *runtimes: Json, release: str = "2.3", semantics: Any = "gitops", **options: Any) -> Explained:
    documents = [Document.of(document) for document in (*runtimes, job)]
    return explain_documents(documents, Options(release=release, semantics=semantics, **options))
