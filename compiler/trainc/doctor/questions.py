"""What a cluster is asked, by way of kubectl: a few calls that only read, each bounded in time and size.

Nothing of the repository reaches a command line: the words are fixed, but for the cluster that the user names.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.documents import Manifest, mapping, objects
from trainc.startup.records import dataclass, field

_CRDS = (
    "trainjobs.trainer.kubeflow.org",
    "clustertrainingruntimes.trainer.kubeflow.org",
    "jobsets.jobset.x-k8s.io",
    "podgroups.scheduling.x-k8s.io",
    "podgroups.scheduling.volcano.sh",
    "localqueues.kueue.x-k8s.io",
)
# What is asked -> the words for kubectl. An answer may be a version, an object, a List, or nothing.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "the version of Kubernetes": ("version", "--output=json"),
    "custom resource definitions": ("get", "crd", *_CRDS, "--ignore-not-found", "--output=json"),
    "deployments": ("get", "deployments.apps", "--all-namespaces", "--output=json"),
    "the API group scheduling.k8s.io": ("get", "--raw=/apis/scheduling.k8s.io"),
}
QUEUES = {
    "local queues": ("get", "localqueues.kueue.x-k8s.io", "--all-namespaces", "--output=json"),
}
# Beyond its own patience, which is for a single request: kubectl may send several.
_GRACE = 5
_LONGEST_REASON = 300


class UnreachableError(Exception):
    """There is no cluster to ask; the message is kubectl's own, or says why it cannot be started."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The documents that a cluster gave, and what it would not say: question -> why."""

    documents: tuple[Manifest, ...]
    unanswered: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kubectl:
    """How kubectl is called: the program, which cluster it is to ask, and how many seconds it may take."""

    program: str
    context: str | None = None
    kubeconfig: str | None = None
    seconds: int = 10

    def ask(self, questions: dict[str, tuple[str, ...]]) -> Answers:
        """The answers to all questions. UnreachableError where the first one has none: then no other will."""
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
            return json.loads(done.stdout) if done.stdout.strip() else None
        except (ValueError, RecursionError):
            raise _NoAnswerError("its answer is not JSON") from None

    def _options(self) -> Iterator[str]:
        yield f"--request-timeout={self.seconds}s"
        if self.context is not None:
            yield f"--context={self.context}"
        if self.kubeconfig is not None:
            yield f"--kubeconfig={self.kubeconfig}"


class _NoAnswerError(Exception):
    """A question has no answer; the message says why."""


def _reason(stderr: bytes) -> str:
    """Kubectl's last line, which is the one that matters."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("error: ")[:_LONGEST_REASON] if lines else "kubectl failed without a message"


def _objects(answer: Any) -> list[Manifest]:
    """The objects of an answer: those of a List, or the one that it is."""
    if not isinstance(answer, dict):
        return []
    if str(answer.get("kind", "")).endswith("List"):
        return [dict(mapping(item)) for item in objects(answer.get("items"))]
    return [answer]
