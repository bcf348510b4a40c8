"""What `trainc doctor` does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.cluster import KINDS, Dump
from trainc.api.command import Files, compiling, report
from trainc.api.documents import files, yaml_reader
from trainc.api.findings import CompileError, Diagnostic, Finding, escape_report, has_errors
from trainc.api.git import git
from trainc.api.kube import Manifest, documents, mapping, names, objects, releases
from trainc.api.records import dataclass, field
from trainc.api.settings import Settings, merge_diagnostics
from trainc.features import ask
from trainc.features.cluster.doctor.comparison import (
    Requirements,
    Row,
    compare,
    json_of,
    missing_rows,
    shows_cluster,
    text_of,
)

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
QUEUES = {"local queues": ("get", "localqueues.kueue.x-k8s.io", "--all-namespaces", "--output=json")}
# Of Secrets and ConfigMaps, kubectl passes on the names and those of their keys only.
_NAMES_ONLY = (
    """--output=go-template={{$i := ""}}{"kind":"List","items":[{{range .items}}{{$i}}{"kind":{{printf "%q" .kind}},"""
    """"metadata":{"namespace":{{printf "%q" .metadata.namespace}},"name":{{printf "%q" .metadata.name}}},"data":{ """
    """{{$k := ""}}{{range $key, $_ := .data}}{{$k}}{{printf "%q" $key}}:""{{$k = ","}}{{end}}"""
    """{{range $key, $_ := .binaryData}}{{$k}}{{printf "%q" $key}}:""{{$k = ","}}{{end}}}}{{$i = ","}}{{end}}]}"""
)
# In addition to kubectl's own timeout, which applies to each request; kubectl may send several.
_GRACE = 5
_LONGEST_REASON = 300


class UnreachableError(Exception):
    """The cluster cannot be reached; the message is kubectl's, or says why kubectl cannot be started."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The documents that a cluster returned, the questions it did not answer, with reasons, and what it has of them."""

    documents: tuple[Manifest, ...]
    unanswered: dict[str, str] = field(default_factory=dict)
    dump: Dump = field(default_factory=lambda: Dump(()))


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
        for question, arguments in questions.items():
            try:
                documents += _objects(self._run(arguments), may_be_nothing="--ignore-not-found" in arguments)
            except _NoAnswerError as reason:
                if not documents:
                    raise UnreachableError(str(reason)) from None
                unanswered[question] = str(reason)
        return Answers(tuple(documents), unanswered)

    def _run(self, arguments: Sequence[str]) -> Any:
        options = [f"--request-timeout={self.seconds}s"]
        options += [f"--context={self.context}"] if self.context is not None else []
        options += [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig is not None else []
        try:
            done = subprocess.run(  # noqa: S603 - fixed words; what the user names is the value of an option
                [self.program, *options, *arguments],
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
            # The last line has the actual error.
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["kubectl failed without a message"]
            raise _NoAnswerError(lines[-1].removeprefix("error: ")[:_LONGEST_REASON])
        try:
            return documents.read_json(done.stdout.decode("utf-8", "replace")) if done.stdout.strip() else None
        except ValueError:
            raise _NoAnswerError("its answer is not JSON") from None


class _NoAnswerError(Exception):
    """A question without an answer; the message says why."""


def _objects(answer: Any, *, may_be_nothing: bool) -> list[Manifest]:
    """The objects of an answer: the items of a List, or the object itself. What is missing must not seem to be absent."""
    if answer is None and may_be_nothing:
        return []
    if not isinstance(answer, dict):
        raise _NoAnswerError("its answer is not an object")
    if str(answer.get("kind", "")).endswith("List"):
        return [dict(mapping(item)) for item in objects(answer.get("items"))]
    return [answer]


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile the input, query the cluster, and print the table; problems with the input are reported as well."""
    if arguments.timeout < 1:
        raise UsageError("--timeout takes a number of seconds, 1 or more")
    if arguments.snapshot is not None and (arguments.context or arguments.kubeconfig):
        raise UsageError("--from does not use a cluster, so --context and --kubeconfig have no effect")
    try:
        environments = {env.environment: Settings.of(env) for env in Settings.environments_of(arguments)}
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    stdin = compiling.read_stdin(next(iter(environments.values())), streams)
    requested = {name: _requirements(settings, stdin) for name, settings in environments.items()}
    diagnostics = merge_diagnostics({name: diagnostics for name, (_, diagnostics) in requested.items()})
    status = report(diagnostics, arguments, streams, Files(stdin))
    requirements = {name: requirements for name, (requirements, _) in requested.items()}
    try:
        answers = _answers(arguments, list(requirements.values()))
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    return Status(max(status, _print(answers, requirements, arguments, streams)))


def _requirements(settings: Settings, stdin: bytes) -> tuple[Requirements, list[Diagnostic]]:
    compiled = compiling.start(settings, stdin, output=settings.output)
    manifests = [manifest for job in compiled.jobs() for manifest in job.manifests]
    created_by = ask("fits", "created")
    applied = (*(document.data for document in compiled.inputs.documents), *manifests)
    release = settings.options.release or releases.NEWEST_RELEASE
    pinned = yaml_reader.read_port()["releases"]
    pins = pinned[release]
    requirements = Requirements(
        release,
        {minor: pin["jobset"].removeprefix("v").rpartition(".")[0] for minor, pin in pinned.items()},
        tuple(pins["kueue"]),
        tuple(pins["kubernetes"]),
        frozenset(str(m["apiVersion"]).partition("/")[0] for m in manifests if m["kind"] == "PodGroup"),
        frozenset(
            (m["metadata"].get("namespace", ""), m["metadata"]["labels"][names.QUEUE_LABEL])
            for m in manifests
            if m["kind"] == "JobSet" and names.QUEUE_LABEL in (m["metadata"].get("labels") or {})
        ),
        settings.options.semantics == "controller",
        settings.options.kubernetes,
        tuple(m for m in manifests if m["kind"] == "JobSet"),
        created_by(applied, settings.options.namespace or "") if created_by else {},
    )
    return requirements, [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"]


def _questions_about(requirements: Iterable[Requirements]) -> dict[str, tuple[tuple[str, ...], tuple[str, str]]]:
    """Questions about what jobs name: for each, the arguments, and the kind and namespace that the answer completes.

    Of the input, only namespaces reach the command line, and only those that are DNS labels.
    """
    needed = ask("fits", "needed") or (lambda *_: ())
    namespaces_of: dict[str, set[str]] = {}
    for requirement in requirements:
        for jobset in requirement.jobs:
            for where, needed_object in needed(jobset, requirement.created):
                space = needed_object.name if needed_object.kind == "Namespace" else where
                if not space or names.is_dns1123_label(space):
                    namespaces_of.setdefault(needed_object.kind, set()).add(space)
    questions = {}
    for kind, namespaces in sorted(namespaces_of.items()):
        group, plural = KINDS[kind]
        space = min(namespaces) if len(namespaces) == 1 else "*"
        output = _NAMES_ONLY if kind in ("Secret", "ConfigMap") else "--output=json"
        if kind == "Namespace":
            scope, where = ([], "") if space == "*" else ([space, "--ignore-not-found"], f" {space}")
        elif space == "*":
            scope, where = ["--all-namespaces"], " in all namespaces"
        else:
            scope, where = ([f"--namespace={space}"], f" in namespace {space}") if space else ([], "")
        arguments = ("get", f"{plural}.{group}".rstrip("."), *scope, output)
        questions[f"{plural}{where}"] = arguments, (kind, "" if kind == "Namespace" else space)
    return questions


def _answers(arguments: Arguments, requirements: Sequence[Requirements]) -> Answers:
    """The cluster's answers, or those saved in files. Raises CompileError for files that cannot be read."""
    if arguments.snapshot is not None:
        documents, problems = files.read_paths([arguments.snapshot], Settings.limits_of(arguments), everything=True)
        if has_errors(problems):
            raise CompileError(problems)
        answers = Answers(tuple(document.data for document in documents), {}, Dump.of_documents(documents))
        if not shows_cluster(answers.documents):
            message = f"{arguments.snapshot} has nothing that shows a version or a component of a cluster"
            hint = "save the answers of kubectl there, as `trainc help doctor` shows"
            raise CompileError([Diagnostic("SnapshotIncomplete", "error", message, hint)])
        return answers
    program = git.find_program("kubectl")
    if program is None:
        raise UsageError("kubectl is not installed; install it, or pass its saved output with --from DIR")
    kubectl = Kubectl(program, arguments.context, arguments.kubeconfig, arguments.timeout)
    questions = _questions_about(requirements)
    queues = QUEUES if any(requirement.queues for requirement in requirements) else {}
    try:
        about_names = {question: question_arguments for question, (question_arguments, _) in questions.items()}
        replies = kubectl.ask({**QUESTIONS, **queues, **about_names})
        complete = [scope for question, (_, scope) in questions.items() if question not in replies.unanswered]
        return Answers(replies.documents, replies.unanswered, Dump.of_objects(replies.documents, complete))
    except UnreachableError as reason:
        hint = "choose a cluster with --context or --kubeconfig, or pass saved output of kubectl with --from DIR"
        raise CompileError([Diagnostic("ClusterUnreachable", "error", str(reason), hint)]) from None


def _rows(answers: Answers, requirements: Requirements, *, live: bool) -> Iterator[Row]:
    """The rows of a table. No schema has checked the answers: where a comparison fails, that is a row of its own."""
    guard = Finding.Guard("the rest", "the comparison", ())
    with guard:
        yield from compare(answers.documents, requirements, answers.unanswered, live=live)
    with guard:
        yield from missing_rows(requirements, answers.dump)
    for failure in guard.failures:
        yield Row("the cluster", "", "", "unknown", f"{failure.message}; {failure.hint}", visible=False)


def _print(
    answers: Answers, requirements: Mapping[str, Requirements], arguments: Arguments, streams: Streams
) -> Status:
    live = arguments.snapshot is None
    rows = {name: list(_rows(answers, requirement, live=live)) for name, requirement in requirements.items()}
    if arguments.format == "json":
        forms = {name: json_of(rows[name], requirements[name], answers.unanswered) for name in rows}
        text = escape_report(json.dumps(forms.get("") or {"environments": forms}, indent=2) + "\n", json=True)
    else:
        tables = {name: text_of(env_rows, answers.unanswered) for name, env_rows in rows.items()}
        text = escape_report("".join((f"{name}:\n" if name else "") + table for name, table in tables.items()))
    streams.write(text)
    return Status.DONE if all(row.is_fine for env_rows in rows.values() for row in env_rows) else Status.DIAGNOSED
