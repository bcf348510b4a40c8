"""Query a cluster through kubectl: a few read-only calls, each limited in time and output size.

No repository content reaches the command line: the arguments are fixed, except for the cluster that the user names.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.kube import Manifest, mapping, objects, read_json
from trainc.api.records import dataclass, field

_CRDS = (
    "trainjobs.trainer.kubeflow.org",
    "clustertrainingruntimes.trainer.kubeflow.org",
    "jobsets.jobset.x-k8s.io",
    "podgroups.scheduling.x-k8s.io",
    "podgroups.scheduling.volcano.sh",
    "localqueues.kueue.x-k8s.io",
)
# Question -> kubectl arguments. The answer may be a version, an object, a List, or nothing.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "the version of Kubernetes": ("version", "--output=json"),
    "custom resource definitions": ("get", "crd", *_CRDS, "--ignore-not-found", "--output=json"),
    "deployments": ("get", "deployments.apps", "--all-namespaces", "--output=json"),
    "the API group scheduling.k8s.io": ("get", "--raw=/apis/scheduling.k8s.io"),
}
QUEUES = {
    "local queues": ("get", "localqueues.kueue.x-k8s.io", "--all-namespaces", "--output=json"),
}
# In addition to kubectl's own timeout, which applies to each request; kubectl may send several.
_GRACE = 5
_LONGEST_REASON = 300


class UnreachableError(Exception):
    """The cluster cannot be reached; the message is kubectl's, or says why kubectl cannot be started."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The documents that a cluster returned, and the questions it did not answer, with reasons."""

    documents: tuple[Manifest, ...]
    unanswered: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kubectl:
    """How to call kubectl: the program, the cluster to query, and the timeout in seconds."""

    program: str
    context: str | None = None
    kubeconfig: str | None = None
    seconds: int = 10

    def ask(self, questions: dict[str, tuple[str, ...]]) -> Answers:
        """Answer all questions. Raises UnreachableError if the first one fails, since the others would too."""
        documents: list[Manifest] = []
        unanswered: dict[str, str] = {}
        for question, words in questions.items():
            try:
                documents += _objects(self._run(words))
            except _NoAnswerError as reason:
                if not documents:
                    raise UnreachableError(str(reason)) from None
                unanswered[question] = str(reason)
        return Answers(tuple(documents), unanswered)

    def _run(self, words: Sequence[str]) -> Any:
        try:
            done = subprocess.run(  # noqa: S603 - fixed words; what the user names is the value of an option
                [self.program, *self._options(), *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.seconds + _GRACE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _NoAnswerError(f"no answer within {self.seconds} s") from None
        except OSError as error:
            raise _NoAnswerError(f"kubectl cannot be started: {(error.strerror or str(error)).lower()}") from None
        if done.returncode:
            raise _NoAnswerError(_reason(done.stderr))
        try:
            return read_json(done.stdout.decode("utf-8", "replace")) if done.stdout.strip() else None
        except ValueError:
            raise _NoAnswerError("its answer is not JSON") from None

    def _options(self) -> Iterator[str]:
        yield f"--request-timeout={self.seconds}s"
        if self.context is not None:
            yield f"--context={self.context}"
        if self.kubeconfig is not None:
            yield f"--kubeconfig={self.kubeconfig}"


class _NoAnswerError(Exception):
    """A question without an answer; the message says why."""


def _reason(stderr: bytes) -> str:
    """The last line of kubectl's stderr, which has the actual error."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("error: ")[:_LONGEST_REASON] if lines else "kubectl failed without a message"


def _objects(answer: Any) -> list[Manifest]:
    """The objects of an answer: the items of a List, or the object itself."""
    if not isinstance(answer, dict):
        return []
    if str(answer.get("kind", "")).endswith("List"):
        return [dict(mapping(item)) for item in objects(answer.get("items"))]
    return [answer]
