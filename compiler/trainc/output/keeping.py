"""Kept as built: a rendered file stays as it is while its TrainJob does, and a pull request proves that it did.

Trainer 2.3 takes a snapshot of the runtime for each TrainJob, so that a changed runtime reaches new jobs only. With
`rebuild: changed-jobs` the same is true in git. The second line of a rendered file has the digest of the TrainJob that
it was built from; while the digest is the same, a build leaves everything from that line on as it is. A build believes
the line. A check in a pull request does not: it compares files and TrainJobs with those of a base revision.

What a file may be beside what compiling gives is its standing:

- kept: the base's file, of the same TrainJob;
- in place: the base's file with the labels, annotations and `suspend` of a TrainJob that differs in nothing else;
- back: a file that the base's history held for the same TrainJob.

Everything here is a function of texts and documents; the caller reads files and git.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

from trainc.emit.name_hash import job_in, name_in_file
from trainc.emit.yaml_writer import text_of
from trainc.findings import Diagnostic, Finding, Source
from trainc.findings.policy import matches
from trainc.ir.trainjob import jobset_metadata
from trainc.kube.documents import (
    Json,
    Manifest,
    identity_of,
    mapping,
    objects,
    pod_spec_of,
    qualified,
    value_at,
    with_value,
    without_path,
)
from trainc.kube.names import QUEUE_LABEL
from trainc.kube.strategic_merge import Copies
from trainc.options import Limits
from trainc.output.choices import Choices, JobKey, is_chosen
from trainc.output.ownership import KUSTOMIZATIONS, file_name, is_marked
from trainc.output.refusals import notes_of
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_documents
from trainc.schema import check
from trainc.schema.shapes import ROOTS, Struct
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field, replace

Standing: TypeAlias = Literal["compiled", "kept", "in place", "back", "changed"]
_NAMED = 10
_DIGITS = 12
# The form of the digests that this trainc writes. Those of another form cannot be compared with them.
_FORM = "2:"
_RESTORE = "restore the file from git, or build the job again with --rebuild"
_LINE = pattern(r"# Built from TrainJob ((?:[0-9]+:)?[0-9a-z]+) by trainc (\S+) for Trainer (\S+)\.\n")
# What the cluster takes in place beside metadata.
_SUSPEND = ("spec", "suspend")


def own_trainjob(document: Document, *, name_hash: bool = False, config_maps: Mapping[str, Json] = {}) -> Json:
    """Return a TrainJob with what is its own: after overlays, but without what those set in all outputs alike.

    `config_maps` are its own, by name, which are a part of it.
    """
    data: Json = document.data
    copies = Copies()
    for path, before, after in reversed(document.held_back):
        if value_at(data, path) == after:
            data = _set(data, path, before, copies)
    for path in (("metadata", "labels"), ("metadata", "annotations")):
        if value_at(data, path) == {}:
            data = without_path(data, path)
    if config_maps:
        from trainc.emit.config_maps import content

        data = {**data, "configMaps": {name: content(own) for name, own in config_maps.items()}}
    return {**data, "nameHash": True} if name_hash else data


def _set(tree: Any, path: Sequence[str | int], value: Any, copies: Copies) -> Any:
    """Return a copy of documents and lists with a value at a path that exists, or without it for None."""
    step, *rest = path
    tree = copies.of(tree)
    if value is None and not rest:
        del tree[step]
    else:
        tree[step] = _set(tree[step], rest, value, copies) if rest else value
    return tree


def digest_of(trainjob: Json) -> str:
    """Return the digest of a TrainJob's own content. It does not depend on comments or on the order of keys."""
    text = json.dumps(trainjob, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return _FORM + hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class BuildLine:
    """The second line of a rendered file: the TrainJob, and the trainc and the Trainer release that made the body."""

    digest: str
    trainc: str
    release: str

    def __str__(self) -> str:
        return f"# Built from TrainJob {self.digest} by trainc {self.trainc} for Trainer {self.release}.\n"

    @property
    def is_of_other_form(self) -> bool:
        """Return whether the digest was made in another way, and thus says nothing."""
        return not self.digest.startswith(_FORM)


def split(text: str) -> tuple[BuildLine | None, str] | None:
    """Return the build line and the body of a rendered file, or None if the file is not trainc's."""
    if not is_marked(text):
        return None
    unmarked = text.partition("\n")[2]
    match = _LINE.match(unmarked)
    return (None, unmarked) if match is None else (BuildLine(*match.groups()), unmarked[match.end() :])


def with_changes_in_place(body: str, compiled: str | None, before: Json, after: Json, limits: Limits) -> str | None:
    """Return the objects of a file with what a changed TrainJob changes in place, as compiling gives it.

    A job that does not compile, because its runtime is gone, has what it sets itself. Returns None if the TrainJob, which
    was `before`, differs in something else or in nothing.
    """
    if before == after or _immutable(before) != _immutable(after):
        return None
    built, kept = ([d.data for d in read_documents((text or "").encode(), "", limits)[0]] for text in (compiled, body))
    jobset = next((one for one in built if one.get("kind") == "JobSet"), None)
    if compiled is None:
        jobset = {"metadata": {field: _moved(after, field) for field in ("labels", "annotations")}}
        if QUEUE_LABEL not in jobset["metadata"]["labels"]:  # In a queue, it is Kueue that suspends.
            jobset["spec"] = {"suspend": value_at(after, _SUSPEND)}
    index = next((index for index, one in enumerate(kept) if one.get("kind") == "JobSet"), None)
    if jobset is None or index is None:
        return None
    for path in _differing_fields(before, after):
        value = value_at(jobset, path)
        if value is not None:
            kept[index] = with_value(kept[index], path, value)
        elif value_at(kept[index], path) is not None:
            kept[index] = without_path(kept[index], path)
            if path[0] == "metadata" and not value_at(kept[index], path[:-1]):
                kept[index] = without_path(kept[index], path[:-1])
    return text_of(kept, "yaml").decode()


def _moved(trainjob: Json, field: str) -> Json:
    """Return the labels or annotations that a JobSet gets from its TrainJob's metadata."""
    values = mapping(mapping(trainjob.get("metadata")).get(field))
    return jobset_metadata({key: value for key, value in values.items() if isinstance(value, str)})


def _immutable(trainjob: Json) -> Json:
    """Return a TrainJob without what the cluster takes in place."""
    metadata = mapping(trainjob.get("metadata"))
    queue = mapping(metadata.get("labels")).get(QUEUE_LABEL)
    rest = {key: value for key, value in metadata.items() if key not in ("labels", "annotations")}
    spec = {key: value for key, value in mapping(trainjob.get("spec")).items() if key != "suspend"}
    return {**trainjob, "metadata": {**rest, "queue": queue}, "spec": spec}


def _differing_fields(before: Json, after: Json) -> Iterator[tuple[str, ...]]:
    for kind in ("labels", "annotations"):
        was, now = (mapping(mapping(job.get("metadata")).get(kind)) for job in (before, after))
        yield from (("metadata", kind, key) for key in {**now, **was} if was.get(key) != now.get(key))
    if value_at(before, _SUSPEND) != value_at(after, _SUSPEND):
        yield _SUSPEND


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the file of one job is to contain, and why.

    `path` is relative to the output folder, and `body` what follows the build line. `compiled` is what compiling gives,
    None if it fails.
    """

    namespace: str
    name: str
    path: str
    line: BuildLine
    body: str
    compiled: str | None
    standing: Standing = "compiled"

    @property
    def text(self) -> str:
        """The file from its second line on."""
        return f"{self.line}{self.body}"

    @property
    def job(self) -> str:
        """The job as people write it."""
        return qualified(self.namespace, self.name)

    @property
    def key(self) -> JobKey:
        """The job's namespace and name."""
        return self.namespace, self.name

    @property
    def differs(self) -> bool:
        """Return whether the file is kept although compiling gives something else."""
        return self.body != self.compiled


# Reads a file of the output folder, by its path in it; None if there is none.
ReadText: TypeAlias = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class Base:
    """An output folder at the revision that a change starts from, which messages call `name`.

    `read_bytes` reads a file of the folder there, by its path in it, `trainjobs` are the TrainJobs there with what is their
    own, and `history` has the commits and texts that a file had before, the latest first. `adopted` are the globs of the trainc.yaml
    there for files that trainc did not compile, and `frozen` those for jobs; for them the folder is `folder`.
    """

    name: str
    folder: str
    read_bytes: Callable[[str], bytes | None]
    read_trainjobs: Callable[[], Mapping[JobKey, Json]] = dict
    history: Callable[[str], Iterable[tuple[str, str]]] = lambda _: ()
    adopted: tuple[str, ...] = ()
    frozen: Mapping[str, str] = field(default_factory=dict)
    # What the cluster was doing with the JobSet of a file, as far as the base's trainc.yaml names a dump that counts.
    read_state: Callable[[str], str] = lambda _: ""
    # Why that dump does not count.
    dump_problem: Callable[[], Diagnostic | None] = lambda: None
    # Reads a file of the repository at another commit.
    text_at: Callable[[str, str], str | None] = lambda _, __: None
    # The files that `read_bytes` has.
    paths: Collection[str] = ()

    def permits(self, path: str) -> bool:
        """Return whether a file that trainc did not compile may be new."""
        return any(matches(f"{self.folder}/{path}", glob) for glob in self.adopted)

    def read_text(self, path: str) -> str:
        """Return the text of a file; empty if there is none."""
        return (self.read_bytes(path) or b"").decode(errors="replace")

    def edited(self, folder: str, file: Rendered) -> tuple[Source, str]:
        """Return the first line of a kept file that is another one here, and how to mend an edit by hand."""
        sides = zip_longest(self.read_text(file.path).split("\n")[1:], file.text.split("\n"))
        line = next((n for n, (was, now) in enumerate(sides, 2) if was != now), 1)
        path, commit = f"{folder}/{file.path}", self.name.rpartition("(")[2].rstrip(")")
        return Source(path, line, 1), f"change the job instead; restore the file: git checkout {commit} -- {path}"

    def frozen_since(self, namespace: str, name: str) -> str | None:
        """Return why a job is not built again, None if it may be."""
        return next((why for glob, why in self.frozen.items() if is_chosen((glob,), namespace, name)), None)


@dataclass(slots=True)
class Keeping:
    """Decides for each job of a build whether its file in one output folder is kept.

    `trainjobs` are those of the input with what is their own, by namespace and name. `read_text` reads the folder, and
    `carry` the folder that it replaces, for jobs that are to be kept and have no file yet. `read_base` reads the base, if
    there is one. `trainc` and `release` go into new build lines.
    """

    folder: str
    trainjobs: Mapping[JobKey, Json]
    trainc: str
    release: str
    read_text: ReadText
    read_base: Callable[[], Base | None] = lambda: None
    carry: ReadText | None = None
    choices: Choices = Choices()
    # What the cluster was doing with the JobSet of a file: one of `choices.STATES`, or empty.
    state_of: Callable[[str], str] = lambda _: ""
    limits: Limits = Limits()
    environment: str = ""
    rendered: dict[JobKey, Rendered] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    nothing_to_keep: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    # Why jobs that stay as they are could not be built again, and their objects if they were.
    refused: dict[JobKey, list[Diagnostic]] = field(default_factory=dict)
    rebuilt: dict[JobKey, Sequence[Manifest]] = field(default_factory=dict)
    _standings: dict[JobKey, Standing] = field(default_factory=dict)
    # The texts of objects, by their ids, which sides with the same objects share.
    texts: dict[int, tuple[Sequence[Manifest], str]] = field(default_factory=dict)

    @property
    def all_refused(self) -> list[Diagnostic]:
        """The note about all jobs that could not be built again, for commands that judge nothing."""
        return notes_of((key, d) for key, errors in self.refused.items() for d in errors)

    @property
    def kept_files(self) -> list[Rendered]:
        """The files that are kept although compiling gives something else."""
        return [file for file in self.rendered.values() if file.differs]

    @property
    def waiting(self) -> list[Rendered]:
        """Those of them that are not frozen."""
        base = self.read_base() if (kept := self.kept_files) else None
        return [file for file in kept if base is None or base.frozen_since(*file.key) is None]

    def not_of_kept(
        self, found: Iterable[Diagnostic], job_of: Callable[[Diagnostic], JobKey | None], same: Iterable[Json] = ()
    ) -> list[Diagnostic]:
        """Return what was found without what rules of trainc.yaml refuse of jobs that stay, and of the `same` JobSets: that is noted."""
        rest = list[Diagnostic]()
        stays = {
            *map(identity_of, same),
            *(key for key, rendered in self.rendered.items() if rendered.standing == "kept"),
        }
        for d in found:
            key = job_of(d)
            if d.code == "ForeignNamespace" and d.severity == "error" and key is not None and key in stays:
                self.refused.setdefault(key, []).append(d)
            else:
                rest.append(d)
        return rest

    def text(self, manifests: Sequence[Manifest]) -> str:
        """Return the text of the objects of a job, written once."""
        if id(manifests) not in self.texts:
            self.texts[id(manifests)] = manifests, text_of(manifests, "yaml").decode()
        return self.texts[id(manifests)][1]

    def hold(self, namespace: str, name: str, manifests: Sequence[Manifest] | None) -> Sequence[Manifest] | None:
        """Decide about one job, given what it compiles to or None; return the objects of a file that is not compiled now.

        Returns None if the file is to contain what the job compiles to.
        """
        trainjob = self.trainjobs.get((namespace, name))
        if trainjob is None:
            return None
        path, digest = file_name(namespace, name), digest_of(trainjob)
        compiled = None if manifests is None else self.text(manifests)
        new = BuildLine(digest, self.trainc, self.release)
        rendered = self._decide(Rendered(namespace, name, path, new, compiled or "", compiled), trainjob)
        self._refuse_frozen(rendered)
        if rendered.standing == "compiled" and compiled is None:
            return None
        self.rendered[namespace, name] = rendered
        if rendered.standing == "compiled":
            return None
        return manifests if manifests is not None and rendered.body == compiled else self._objects(rendered)

    def _decide(self, built: Rendered, trainjob: Json) -> Rendered:
        """Return what the file is to contain, given what it would with everything compiled."""
        job = built.namespace, built.name
        keeps = self.choices.keeps(*job)
        text = self.read_text(built.path) or (self.carry(built.path) if keeps and self.carry else None) or ""
        line, body = split(text) or (None, None)
        rebuilds = not keeps and self._rebuilds(built, body)
        if body is None and self.choices.needs_file(*job):
            self.nothing_to_keep.append(built.path)
        if not rebuilds:
            if (kept := self._kept(built, line, body, trainjob)) is not None:
                return kept
            if keeps and body is not None:
                return replace(built, line=self._line_at_base(built, body), body=body, standing="kept")
            # Without a base, a digest of another form is as good as none.
            is_known = line is not None and not (line.is_of_other_form and self.read_base() is None)
            if is_known or body is None:
                for standing, file in self._without_compiling(built, trainjob):
                    return replace(built, line=file[0], body=file[1], standing=standing)
            elif body != built.compiled and built.compiled is not None:
                self.undecided.append(built.path)
        # The versions in the line are those of the build that last changed the body.
        if line is not None and body == built.compiled:
            return replace(built, line=replace(line, digest=built.line.digest))
        return built

    def _line_at_base(self, built: Rendered, body: str) -> BuildLine:
        """Return the second line that a file lost, if the base has it before the same objects; else a new one."""
        base = self.read_base()
        line, there = (None, None) if base is None else split(base.read_text(built.path)) or (None, None)
        return line if line is not None and there == body and line.digest == built.line.digest else built.line

    def _rebuilds(self, built: Rendered, body: str | None) -> bool:
        """Return whether a job is to be built again whatever has changed."""
        job = built.namespace, built.name
        state = self.state_of(body) if body is not None and self.choices.asks_states else ""
        if not self.choices.rebuilds(*job, state):
            return False
        if not self.choices.names(*job) and (base := self.read_base()) is not None and base.frozen_since(*job):
            return False
        wave = self.choices.wave
        if wave is None or body is None or body == built.compiled:
            return True
        return built.compiled is not None and wave.takes(self._manifests(built.compiled))

    def _manifests(self, body: str) -> list[Manifest]:
        return [document.data for document in read_documents(body.encode(), "", self.limits)[0]]

    def _refuse_frozen(self, rendered: Rendered) -> None:
        """Note that a job is frozen whose file is to be another one than the base's."""
        base = self.read_base()
        if base is None or not (reason := base.frozen_since(*rendered.key)) or self.read_text(rendered.path) is None:
            return
        if base.read_text(rendered.path).partition("\n")[2] != rendered.text:
            message = f"{rendered.job} is frozen in trainc.yaml, and this change would build it again: {reason}"
            hint = "undo the change at this line, or first merge a trainc.yaml without it under `frozen`"
            self.problems.append(Diagnostic("FrozenJob", "error", message, hint, f"TrainJob {rendered.job}"))

    def refuse_frozen(self, job: JobKey, manifests: Sequence[Manifest]) -> None:
        """Note that a job is frozen whose objects are to be others than the base's, where none is kept."""
        path, base = file_name(*job), self.read_base()
        if base is not None and (line := (split(base.read_text(path)) or (None, ""))[0]) is not None:
            self._refuse_frozen(Rendered(*job, path, line, self.text(manifests), None))

    def _kept(self, built: Rendered, line: BuildLine | None, body: str | None, trainjob: Json) -> Rendered | None:
        """Return the file as it is, if it is of the same TrainJob; say so if one of another is to be kept."""
        is_same, keeps = line is not None and line.digest == built.line.digest, self.choices.keeps(*built.key)
        if (line is not None and line.is_of_other_form) or (keeps and not is_same and body is not None):
            base = self.read_base()
            was = None if base is None else base.read_trainjobs().get(built.key)
            if line is not None and line.is_of_other_form:
                is_same = was == trainjob or (base is None and body == built.compiled)
            if keeps and not is_same and (line is not None or was not in (None, trainjob)):
                file = f"{self.folder}/{built.path}"
                message = f"the TrainJob {built.job} has changed since {file} was built, which cannot be kept"
                hint = "build it without --keep, or undo the change of the TrainJob"
                self.problems.append(Diagnostic("KeepOrRebuild", "error", message, hint, f"TrainJob {built.job}"))
        return replace(built, line=line, body=body, standing="kept") if is_same and line and body is not None else None

    def _without_compiling(self, built: Rendered, trainjob: Json) -> Iterator[tuple[Standing, tuple[BuildLine, str]]]:
        """Yield what a changed job's file may be beside what compiling gives."""
        if (base := self.read_base()) is None:
            return
        was = base.read_trainjobs().get(built.key)
        line, body = split(base.read_text(built.path)) or (None, "")
        if line is not None and was is not None:
            changed = with_changes_in_place(body, built.compiled, was, trainjob, self.limits)
            if changed is not None:
                yield "in place", (replace(line, digest=built.line.digest), changed)
        for _, text in base.history(built.path):
            line, body = split(text) or (None, "")
            if line is not None and line.digest == built.line.digest:
                yield "back", (line, body)

    def is_as_at_base(self, namespace: str, name: str, manifests: Sequence[Manifest]) -> bool:
        """Return whether the base has the file of a job that no TrainJob makes with the same objects."""
        base = self.read_base()
        text = "" if base is None else base.read_text(file_name(namespace, name))
        return is_marked(text) and text.partition("\n")[2] == text_of(manifests, "yaml").decode()

    def standing(self, job: JobKey) -> Standing:
        """Return how a file that stays as it is stands to the base; `changed` if it is neither of what it may be."""
        rendered, base = self.rendered[job], self.read_base()
        if rendered.standing != "kept" or base is None:
            return rendered.standing
        if job not in self._standings:
            self._standings[job] = self._standing(rendered, base)
        return self._standings[job]

    def _standing(self, rendered: Rendered, base: Base) -> Standing:
        trainjob = self.trainjobs[rendered.key]
        before = base.read_text(rendered.path)
        is_same = is_marked(before) and before.partition("\n")[2] == rendered.text
        if is_same and base.read_trainjobs().get(rendered.key) == trainjob:
            return "kept"
        built = replace(rendered, line=replace(rendered.line, digest=digest_of(trainjob)))
        file = rendered.line, rendered.body
        return next((way for way, other in self._without_compiling(built, trainjob) if other == file), "changed")

    def is_by_hand(self, rendered: Rendered) -> bool:
        """Return whether a kept file has the base's second line before another body, which no build gives."""
        base = self.read_base()
        line, body = (None, "") if base is None else split(base.read_text(rendered.path)) or (None, "")
        return line == rendered.line and body != rendered.body and self.standing(rendered.key) == "changed"

    def other_trainc(self, rendered: Rendered) -> str:
        """Return the version of trainc that built a file since the base, empty if it is this one."""
        base = self.read_base()
        before, _ = (None if base is None else split(base.read_text(rendered.path))) or (None, "")
        version = rendered.line.trainc
        return "" if version in {self.trainc, before and before.trainc} else version

    def commit_of(self, rendered: Rendered) -> str:
        """Return the commit of the base's history that first had a file with this content, empty if none had."""
        base = self.read_base()
        pairs = () if base is None else base.history(rendered.path)
        return next((commit[:9] for commit, text in pairs if split(text) == (rendered.line, rendered.body)), "")

    def _objects(self, rendered: Rendered) -> list[Manifest]:
        """Read the objects of a kept file, and note what is wrong with them."""
        from trainc.schema.unknown_fields import without_nulls

        # Problems are reported at lines of the file, which has one more.
        path, text = rendered.path, f"\n{rendered.text}"
        documents, problems = read_documents(text.encode(), f"{self.folder}/{path}", self.limits)
        merged = f"take either side, as with git checkout --theirs {self.folder}/{path}, then `trainc build --rebuild {rendered.job}`"
        problems = [replace(d, hint=merged) if "merge conflict" in d.message else d for d in problems]
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


def prove(
    keeping: Keeping | None, folder: str, foreign: Mapping[str, bytes], base: Base
) -> tuple[list[Diagnostic], list[str]]:
    """Compare kept files, and files that are not trainc's, with the base; both by their paths in `folder`.

    Returns an error for each that is not proven and that the base does not permit, and the paths of those that it permits.
    """
    errors: list[Diagnostic] = []
    permitted: list[str] = []

    def refuse(path: str, message: str, hint: str, *, new: bool, kept: Source | None = None) -> None:
        if new and base.permits(path):
            permitted.append(path)
            return
        may_be = new and os.path.basename(path) not in KUSTOMIZATIONS
        grant = f"; to let it in, first merge `adopted: [{base.folder}/{path}]` in trainc.yaml" if may_be else ""
        code, source = "KeptNotProven" if kept else "ForeignFile", kept or Source(f"{folder}/{path}", 1, 1)
        errors.append(Diagnostic(code, "error", message, hint + grant, source=source))

    for file in keeping.kept_files if keeping else ():
        if keeping is not None and keeping.standing((file.namespace, file.name)) == "changed":
            before = base.read_text(file.path)
            line, body = split(before) or (None, None)
            changed = "its TrainJob has changed" if (line, body) == (file.line, file.body) else "the file has changed"
            changed = changed if before else "the file is new"
            message = f"this is not what {file.job} compiles to, and {changed} since {base.name}"
            hint = f"compile it: trainc build --rebuild {file.job}"
            if other := keeping.other_trainc(file):
                hint = f"it was built by trainc {other}, and this is {keeping.trainc}: with the version that CI has, {hint}"
            place = Source(f"{folder}/{file.path}", 1, 1)
            if line == file.line and body != file.body:
                message = f"this file was changed by hand since {base.name}, or built from what is gone: it is neither that nor what {file.job} compiles to"
                place, hint = base.edited(folder, file)
            refuse(file.path, message, hint, new=not before or body == file.body, kept=place)
    for path, data in foreign.items():
        before_bytes, read = base.read_bytes(path), data.replace(b"\r\n", b"\n")
        is_ours = before_bytes == read and is_marked(read.decode(errors="replace"))
        if before_bytes != data and not is_ours:
            changed, hint = "has changed", f"restore it: git checkout {base.name} -- {folder}/{path}"
            changed, hint = ("is new", "remove it") if before_bytes is None else (changed, hint)
            message = f"trainc did not write this file, and it {changed} since {base.name}"
            if os.path.basename(path) in KUSTOMIZATIONS:
                hint += "; with it, Argo CD and Flux apply only what it lists, and end the other jobs"
            refuse(path, message, hint, new=before_bytes is None)
    return errors, permitted
