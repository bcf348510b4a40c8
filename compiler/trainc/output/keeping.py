"""Kept as built: a rendered file stays as it is while its TrainJob does, and a pull request proves that it did.

Trainer 2.3 takes a snapshot of the runtime for each TrainJob, so that a changed runtime reaches new jobs only. With
`rebuild: changed-jobs` the same is true in git. The second line of a rendered file has the digest of the TrainJob that
it was built from; while the digest is the same, a build leaves everything from that line on as it is. A build believes
the line. A check in a pull request does not: it compares files and TrainJobs with those of a base revision.

Everything here is a function of texts and documents; the caller reads files and git.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.emit.name_hash import job_in, name_in_file
from trainc.emit.yaml_writer import text_of
from trainc.findings import Diagnostic, Finding, Source
from trainc.findings.policy import matches
from trainc.kube.documents import Json, Manifest, identity_of, mapping, objects, pod_spec_of
from trainc.options import Limits
from trainc.output.ownership import file_name, is_marked
from trainc.reading.yaml_reader import read_documents
from trainc.schema import check
from trainc.schema.shapes import ROOTS, Struct
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field

# A job's namespace and name.
JobKey: TypeAlias = tuple[str, str]
EVERY = "all"
_NAMED = 10
_DIGITS = 12
_RESTORE = "restore the file from git, or build the job again with --rebuild"
_LINE = pattern(r"# Built from TrainJob ([0-9a-f]{12}) by trainc (\S+) for Trainer (\S+)\.\n")


def digest_of(trainjob: Mapping[str, Any]) -> str:
    """Return the digest of a TrainJob after overlays. It does not depend on comments or on the order of keys."""
    text = json.dumps(trainjob, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class BuildLine:
    """The second line of a rendered file: the TrainJob, and the trainc and the Trainer release that made the body."""

    digest: str
    trainc: str
    release: str

    def __str__(self) -> str:
        return f"# Built from TrainJob {self.digest} by trainc {self.trainc} for Trainer {self.release}.\n"


def split(text: str) -> tuple[BuildLine | None, str] | None:
    """Return the build line and the body of a rendered file, or None if the file is not trainc's."""
    if not is_marked(text):
        return None
    unmarked = text.partition("\n")[2]
    match = _LINE.match(unmarked)
    return (None, unmarked) if match is None else (BuildLine(*match.groups()), unmarked[match.end() :])


@dataclass(frozen=True, slots=True)
class Choices:
    """The jobs to build again and to keep whatever has changed: names, NAMESPACE/NAME, globs, or `all`."""

    rebuild: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def unused(self, jobs: Iterable[JobKey]) -> list[str]:
        """Return the choices that name no job."""
        job_keys = list(jobs)
        return [
            choice for choice in (*self.rebuild, *self.keep) if not any(_is_chosen((choice,), *job) for job in job_keys)
        ]

    def needs_file(self, namespace: str, name: str) -> bool:
        """Return whether a job is to be kept under its own name; globs and `all` are about the files that there are."""
        return _is_chosen(
            (choice for choice in self.keep if choice != EVERY and not {*"*?"} & {*choice}), namespace, name
        )

    def keeps(self, namespace: str, name: str) -> bool:
        """Return whether a job is to be kept in any case."""
        return _is_chosen(self.keep, namespace, name)

    def rebuilds(self, namespace: str, name: str) -> bool:
        """Return whether a job is to be built again in any case. What is to be kept wins."""
        return _is_chosen(self.rebuild, namespace, name) and not self.keeps(namespace, name)


def _is_chosen(choices: Iterable[str], namespace: str, name: str) -> bool:
    full = f"{namespace}/{name}" if namespace else name
    return any(choice == EVERY or matches(full if "/" in choice else name, choice) for choice in choices)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the file of one job is to contain.

    `path` is relative to the output folder, and `body` what follows the build line. `compiled` is what compiling gives,
    None if it fails.
    """

    namespace: str
    name: str
    path: str
    line: BuildLine
    body: str
    compiled: str | None

    @property
    def text(self) -> str:
        """The file from its second line on."""
        return f"{self.line}{self.body}"

    @property
    def job(self) -> str:
        """The job as people write it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def differs(self) -> bool:
        """Return whether the file is kept although compiling gives something else."""
        return self.body != self.compiled


# Reads a file of the output folder, by its path in it; None if there is none.
ReadText: TypeAlias = Callable[[str], "str | None"]


@dataclass(slots=True)
class Keeping:
    """Decides for each job of a build whether its file in one output folder is kept.

    `digests` are those of the TrainJobs after overlays, by namespace and name. `read_text` reads the folder, and `carry` the
    folder that it replaces, for jobs that are to be kept and have no file yet. `trainc` and `release` go into new build
    lines.
    """

    folder: str
    digests: Mapping[JobKey, str]
    trainc: str
    release: str
    read_text: ReadText
    carry: ReadText | None = None
    choices: Choices = Choices()
    limits: Limits = Limits()
    rendered: dict[JobKey, Rendered] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    nothing_to_keep: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    @property
    def kept_files(self) -> list[Rendered]:
        """The files that are kept although compiling gives something else."""
        return [file for file in self.rendered.values() if file.differs]

    def hold(self, namespace: str, name: str, manifests: Sequence[Manifest] | None) -> Sequence[Manifest] | None:
        """Decide about one job, given what it compiles to or None; return the objects of a file that is kept.

        Returns None if the file is to contain what the job compiles to.
        """
        digest = self.digests.get((namespace, name))
        if digest is None:
            return None
        path = file_name(namespace, name)
        compiled = None if manifests is None else text_of(manifests, "yaml").decode()
        keeps, rebuilds = self.choices.keeps(namespace, name), self.choices.rebuilds(namespace, name)
        text = self.read_text(path) or (self.carry(path) if keeps and self.carry else None) or ""
        line, body = split(text) or (None, None)
        if body is None and self.choices.needs_file(namespace, name):
            self.nothing_to_keep.append(path)
        stays = body is not None and (keeps or (not rebuilds and line is not None and line.digest == digest))
        if not stays and compiled is None:
            return None
        if not stays and not rebuilds and line is None and body not in (None, compiled):
            self.undecided.append(path)
        final = body if stays else compiled
        assert final is not None
        # The versions in the line are those of the build that last changed the body.
        last = line if line is not None and final == body else BuildLine(digest, self.trainc, self.release)
        line = BuildLine(digest, last.trainc, last.release)
        self.rendered[namespace, name] = Rendered(namespace, name, path, line, final, compiled)
        if not stays:
            return None
        return manifests if manifests is not None and final == compiled else self._objects(path, text)

    def _objects(self, path: str, text: str) -> list[Manifest]:
        """Read the objects of a kept file, and note what is wrong with them."""
        from trainc.schema.unknown_fields import without_nulls

        documents, problems = read_documents(text.encode(), f"{self.folder}/{path}", self.limits)
        manifests: list[Manifest] = []
        for document in documents:
            data = document.data
            findings = _problems(data, self.release)
            problems += [document.diagnose(finding) for finding in findings]
            if not findings:
                is_jobset = data["kind"] == "JobSet"
                manifests.append(without_nulls(data, Struct(ROOTS["JobSet"]), self.release) if is_jobset else data)
        if not problems and not any(_is_of(path, manifest) for manifest in manifests):
            message = f"the file has no JobSet of {job_in(path)}, whose rendered file it is"
            source = Source(f"{self.folder}/{path}", 1, 1)
            problems.append(Diagnostic("NotAnObject", "error", message, _RESTORE, source=source))
        self.problems += problems
        return manifests

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Return what prevents the build."""
        yield from self.problems
        if self.undecided:
            some = ", ".join(f"{self.folder}/{path}" for path in self.undecided[:_NAMED])
            more = f" and {len(self.undecided) - _NAMED} more" if len(self.undecided) > _NAMED else ""
            message = "not what compiling gives, and without the line that names the TrainJob of the build: "
            hint = "build again with `trainc build --rebuild NAME`, or keep with `trainc build --keep NAME` (a glob, or all)"
            yield Diagnostic("KeepOrRebuild", "error", message + some + more, hint)


def _problems(data: Json, release: str) -> list[Finding]:
    """Return what is wrong with an object of a kept file."""
    if not all(isinstance(data.get(key), str) for key in ("apiVersion", "kind")) or not identity_of(data)[1]:
        message = "a rendered file contains objects with apiVersion, kind and a name"
        return [Finding("NotAnObject", "error", message, _RESTORE)]
    if data["kind"] != "JobSet":
        return []
    findings = [finding for finding in check(data, "JobSet", release, prune=True)[1] if finding.severity == "error"]
    jobs = objects(mapping(data.get("spec")).get("replicatedJobs"))
    if not findings and not (jobs and all(map(pod_spec_of, jobs))):
        message = "a JobSet in a rendered file has replicatedJobs, each with a pod spec"
        return [Finding("NotAnObject", "error", message, _RESTORE, ("spec",))]
    return findings


def _is_of(path: str, manifest: Manifest) -> bool:
    """Return whether an object in a rendered file is the JobSet of its job."""
    namespace, name = identity_of(manifest)
    is_named = name_in_file(name, path) == job_in(path)
    return manifest["kind"] == "JobSet" and is_named and namespace == os.path.dirname(path)


# What a pull request proves: a rendered file is what compiling gives, or as it was at the base.


@dataclass(frozen=True, slots=True)
class Base:
    """An output folder at the revision that a change starts from, which messages call `name`.

    `read_bytes` reads a file of the folder there, by its path in it, and `digests` are those of the TrainJobs there.
    `adopted` are the globs of the trainc.yaml there for files that trainc did not compile; for them the folder is `folder`.
    """

    name: str
    folder: str
    read_bytes: Callable[[str], bytes | None]
    digests: Mapping[JobKey, str]
    adopted: tuple[str, ...] = ()

    def permits(self, path: str) -> bool:
        """Return whether a file that trainc did not compile may be new."""
        return any(matches(f"{self.folder}/{path}", glob) for glob in self.adopted)


def prove(
    folder: str, kept_files: Iterable[Rendered], foreign: Mapping[str, bytes], base: Base
) -> tuple[list[Diagnostic], list[str]]:
    """Compare kept files, and files that are not trainc's, with the base; both by their paths in `folder`.

    Returns an error for each that the base neither has nor permits, and the paths of those that it permits.
    """
    errors: list[Diagnostic] = []
    permitted: list[str] = []

    def refuse(code: str, path: str, message: str, hint: str, *, new: bool) -> None:
        if new and base.permits(path):
            permitted.append(path)
            return
        grant = f"; to let it in, first merge `adopted: [{base.folder}/{path}]` in trainc.yaml" if new else ""
        errors.append(Diagnostic(code, "error", message, hint + grant, source=Source(f"{folder}/{path}", 1, 1)))

    for file in kept_files:
        before = base.read_bytes(file.path)
        first, _, body = (before or b"").partition(b"\n")
        changed = ""
        if before is None:
            changed = "the file is new"
        elif body != file.text.encode() or not is_marked(first.decode(errors="replace") + "\n"):
            changed = "the file has changed"
        elif base.digests.get((file.namespace, file.name)) != file.line.digest:
            changed = "its TrainJob has changed"
        if changed:
            parts = split((before or b"").decode(errors="replace"))
            message = f"this is not what {file.job} compiles to, and {changed} since {base.name}"
            hint = f"compile it: trainc build --rebuild {file.job}"
            refuse("KeptNotProven", file.path, message, hint, new=before is None or (parts or ("", ""))[1] == file.body)
    for path, data in foreign.items():
        before = base.read_bytes(path)
        if before != data:
            changed, hint = ("is new", "remove it") if before is None else ("has changed", "restore it")
            message = f"trainc did not write this file, and it {changed} since {base.name}"
            refuse("ForeignFile", path, message, hint, new=before is None)
    return errors, permitted
