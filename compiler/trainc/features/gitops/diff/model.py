"""The result of a comparison as data, for the reporters."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from trainc.api.command import compiling
from trainc.api.findings import Diagnostic, Source, first_of
from trainc.api.jobs import JobSet, ReplicatedJob
from trainc.api.kube import Manifest, Quantity, bounds, documents, quantity
from trainc.api.output import name_hash
from trainc.api.records import dataclass, field, pattern, replace
from trainc.features.gitops.diff.changes import Change, Move, normalize, strip_server_fields
from trainc.features.gitops.diff.delivery import LABELS, DeliveryMethod, Outcome, Verdict, group_size, groups_of

if TYPE_CHECKING:
    from trainc.features.gitops.diff.causes import Causes
    from trainc.features.gitops.diff.places import Why

# Match the objects of both sides by API version, kind, namespace and name.


class ObjectKey(NamedTuple):
    """The identity of an object; `name` omits the content hash if only the hash differs."""

    namespace: str
    name: str
    kind: str
    api_version: str

    def __str__(self) -> str:
        return f"{self.kind} {documents.qualified(self.namespace, self.name)}"


@dataclass(frozen=True, slots=True)
class Pair:
    """An object on one or both sides, as delivered. `plain` has the names without a hash that belong to its namespace."""

    key: ObjectKey
    before: Manifest | None
    after: Manifest | None
    plain: Mapping[str, str]

    @property
    def renamed(self) -> tuple[str, str] | None:
        """The names before and after, if only the content hash in them changed."""
        names = [str(side["metadata"]["name"]) for side in (self.before, self.after) if side is not None]
        return (names[0], names[1]) if len(set(names)) > 1 else None

    def comparable(self, side: Manifest) -> Manifest:
        """A side in the form that is compared: quantities in canonical form, names without a hash."""
        return replace_hashed_names(normalize(side), self.plain)


# The TrainJob's name of a JobSet, by its namespace and name.
Names: TypeAlias = Mapping[tuple[str, str], str]


def pair_objects(
    before: Sequence[Manifest], after: Sequence[Manifest], names: tuple[Names, Names] = ({}, {})
) -> tuple[Pair, ...]:
    """Pair the objects of both sides, ordered by namespace and name. Of duplicates, the last one counts.

    `names` are those of each side's jobs without a hash, as far as known. A manifest that both sides share, because its
    text is the same, is one object, and remains one.
    """
    stripped = {id(m): strip_server_fields(m) for m in {id(m): m for m in (*before, *after)}.values()}
    left, right = [stripped[id(m)] for m in before], [stripped[id(m)] for m in after]
    plain = _plain_by_namespace(left, right, names)
    was, becomes = _by_key(left, plain), _by_key(right, plain)
    return tuple(
        Pair(key, was.get(key), becomes.get(key), plain.get(key.namespace, {})) for key in sorted({*was, *becomes})
    )


def find_duplicates(manifests: Iterable[Manifest]) -> list[str]:
    """The display names of objects that occur more than once."""
    counts = Counter(_key(m, str(m["metadata"]["name"])) for m in manifests)
    return [str(key) for key, count in sorted(counts.items()) if count > 1]


def _plain_by_namespace(
    before: list[Manifest], after: list[Manifest], names: tuple[Names, Names]
) -> dict[str, dict[str, str]]:
    was, becomes = _jobsets(before), _jobsets(after)
    spaces: dict[str, tuple[list[str], list[str]]] = {}
    for index, side in enumerate((was, becomes)):
        for namespace, name in side:
            spaces.setdefault(namespace, ([], []))[index].append(name)
    plain = {namespace: plain_names(*sides) for namespace, sides in spaces.items()}
    for key, name in (*names[0].items(), *names[1].items()):
        namespace, hashed = key
        unchanged = key in was and key in becomes and was[key] == becomes[key]
        if not (unchanged or (namespace, name) in was or (namespace, name) in becomes):
            plain.setdefault(namespace, {})[hashed] = name
    return plain


def _jobsets(manifests: list[Manifest]) -> dict[tuple[str, str], Manifest]:
    return {(_namespace(m), m["metadata"]["name"]): m for m in manifests if m["kind"] == "JobSet"}


def _by_key(manifests: list[Manifest], plain: Mapping[str, Mapping[str, str]]) -> dict[ObjectKey, Manifest]:
    sides = {}
    for manifest in manifests:
        metadata = {"name": manifest["metadata"]["name"]}
        metadata = replace_hashed_names(metadata, plain.get(_namespace(manifest), {}))
        sides[_key(manifest, metadata["name"])] = manifest
    return sides


def _key(manifest: Manifest, name: str) -> ObjectKey:
    return ObjectKey(_namespace(manifest), name, manifest["kind"], manifest["apiVersion"])


def _namespace(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("namespace", ""))


# Names with a content hash: a job under a new hash and its objects are compared under their plain names.

_HASHED = pattern(rf"(?P<plain>.+)-[{name_hash.ALPHABET}]{{{name_hash.LENGTH}}}")


def plain_names(before: Iterable[str], after: Iterable[str]) -> dict[str, str]:
    """Map names that only one side has to their plain names, if both sides have exactly one job of that plain name."""
    was, becomes = set(before), set(after)
    gone, new = sorted(was - becomes), sorted(becomes - was)
    left, right = (Counter(map(_plain, names)) for names in (gone, new))
    return {name: _plain(name) for name in (*gone, *new) if left[_plain(name)] == right[_plain(name)] == 1}


def _plain(name: str) -> str:
    match = _HASHED.fullmatch(name)
    return match["plain"] if match else name


def replace_hashed_names(manifest: Manifest, plain: Mapping[str, str]) -> Manifest:
    """Replace each hashed name in the manifest, alone or as a prefix of a longer name, by its plain name."""
    if not plain:
        return manifest

    def shorten(word: re.Match[str]) -> str:
        # The longest first, so that no name is mistaken for a prefix of another.
        text = word[0]
        end = len(text) if len(text) <= _LONGEST_NAME else text.rfind("-", 0, _LONGEST_NAME + 1)
        while end > 0:
            if text[:end] in plain:
                return plain[text[:end]] + text[end:]
            end = text.rfind("-", 0, end)
        return text

    renamed: Manifest = _replace_words(manifest, shorten)
    return renamed


_WORD = pattern(r"(?<![a-z0-9-])[a-z0-9-]+")
# Of an object in Kubernetes.
_LONGEST_NAME = 253


def _replace_words(value: Any, shorten: Callable[[re.Match[str]], str]) -> Any:
    if isinstance(value, dict):
        return {key: _replace_words(inner, shorten) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replace_words(item, shorten) for item in value]
    if isinstance(value, str):
        return _WORD.sub(shorten, value)
    return value


# Objects that belong together: a JobSet, its PodGroup, and what its pods mount.


@dataclass(frozen=True, slots=True)
class JobPairs:
    """The objects of one job on both sides, with the JobSet last; or a single object that belongs to no job."""

    namespace: str
    name: str
    pairs: tuple[Pair, ...]

    @property
    def jobset(self) -> Pair | None:
        """The JobSet; None for an object that belongs to no job."""
        return self.pairs[-1] if self.pairs[-1].key.kind == "JobSet" else None

    def manifests(self, side: str) -> list[Manifest]:
        """The objects of one side ("before" or "after") as delivered."""
        manifests = [getattr(pair, side) for pair in self.pairs]
        return [manifest for manifest in manifests if manifest is not None]


def group_by_job(pairs: Sequence[Pair]) -> tuple[JobPairs, ...]:
    """Group the pairs by job, ordered by namespace and name."""
    owners: dict[tuple[str, str, str], Pair] = {}
    for jobset in (pair for pair in pairs if pair.key.kind == "JobSet"):
        for kind, name in _mentions(jobset):
            owners.setdefault((jobset.key.namespace, kind, name), jobset)
    members: dict[ObjectKey, list[Pair]] = {}
    for pair in pairs:
        kind = pair.key.kind
        # An object that generates a Secret counts as that Secret.
        role = kind if kind in ("PodGroup", "Workload", "ConfigMap") else "Secret"
        owner = pair if kind == "JobSet" else owners.get((pair.key.namespace, role, pair.key.name), pair)
        members.setdefault(owner.key, []).append(pair)
    return tuple(
        JobPairs(key.namespace, key.name, tuple(sorted(group, key=lambda p: (p.key == key, p.key.kind, p.key.name))))
        for key, group in members.items()
    )


def _mentions(jobset: Pair) -> Iterator[tuple[str, str]]:
    yield "PodGroup", jobset.key.name
    yield "Workload", jobset.key.name
    for side in (jobset.before, *(() if jobset.after is jobset.before else (jobset.after,))):
        manifest = replace_hashed_names(side or {}, jobset.plain)
        for replicated_job in manifest.get("spec", {}).get("replicatedJobs") or ():
            template = replicated_job.get("template", {}).get("spec", {}).get("template", {})
            yield from (("PodGroup", name) for name in groups_of(template))
            pod = template.get("spec", {})
            for volume in pod.get("volumes") or ():
                yield from _sources(volume)
                for source in volume.get("projected", {}).get("sources") or ():
                    yield from _sources(source)


def _sources(volume: Manifest) -> Iterator[tuple[str, str]]:
    if "configMap" in volume:
        yield "ConfigMap", volume["configMap"].get("name", "")
    if "secret" in volume:
        yield "Secret", volume["secret"].get("secretName") or volume["secret"].get("name", "")


# What jobs request while they train.


@dataclass(frozen=True, slots=True)
class Totals:
    """The resources a job requests while it trains. `gang` is None without a PodGroup.

    Steps that others await with `dependsOn: Complete` do not count: they have finished by the time the others run.
    """

    nodes: int = 0
    gpus: int = 0
    cpu: Quantity = quantity.ZERO
    memory: Quantity = quantity.ZERO
    gang: int | None = None

    def __add__(self, other: Totals) -> Totals:
        gangs = [gang for gang in (self.gang, other.gang) if gang is not None]
        return Totals(
            self.nodes + other.nodes,
            self.gpus + other.gpus,
            self.cpu + other.cpu,
            self.memory + other.memory,
            sum(gangs) if gangs else None,
        )


def totals_of(jobset: JobSet, pod_groups: Sequence[Manifest] = ()) -> Totals:
    """The sum over the steps that run at the same time, and the gang size that the PodGroups request."""
    sizes = [size for group in pod_groups if (size := group_size(group)) is not None]
    total = Totals(gang=sum(sizes) if sizes else None)
    for job in jobset.jobs:
        if job.name not in jobset.awaited:
            cpu, memory = (job.requests.get(name, quantity.ZERO) * job.pods for name in ("cpu", "memory"))
            total += Totals(job.pods, bounds.devices_of(job), cpu, memory)
    return total


Status: TypeAlias = Literal["added", "removed", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the comparison: its display name and its manifests.

    `names` has the TrainJobs' names of JobSets with a hash in their name, as far as known, by their namespace and name.
    """

    label: str
    manifests: Sequence[Manifest]
    names: Names = field(default_factory=dict)
    # JobSets that are sources: no build gives them another name.
    raw: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Versions:
    """A value on both sides; None on a side where the object does not exist."""

    before: Totals | None
    after: Totals | None


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """A changed object. `verdicts` is by delivery method; `renamed` is (before, after) if only the hash changed."""

    key: ObjectKey
    status: Status
    changes: tuple[Change, ...]
    moves: tuple[Move, ...]
    verdicts: Mapping[str, Verdict]
    renamed: tuple[str, str] | None = None

    def outcomes(self, index: int) -> dict[str, Outcome]:
        """The outcome of one change, by delivery method."""
        return {method: verdict.per_change[index] for method, verdict in self.verdicts.items()}


@dataclass(frozen=True, slots=True)
class Facts:
    """A new job. `hours` bounds its GPUs' time, and `gpu_hours` their cost; None without a deadline or a GPU."""

    image: str
    program: str
    queue: str
    hours: float | None
    gpu_hours: float | None
    fits: str = ""

    def named(self) -> dict[str, str]:
        """The facts as people read them, without those that the table has anyway."""
        some = {"image": self.image, "runs": self.program, "queue": self.queue or "none", "cluster": self.fits}
        some["for"] = "no deadline" if self.hours is None else f"at most {bounds.decimal(self.hours)} h"
        some["at most"] = "" if self.gpu_hours is None else f"{bounds.decimal(self.gpu_hours)} GPU-hours"
        return {name: text for name, text in some.items() if text}


@dataclass(frozen=True, slots=True)
class JobDiff:
    """A job with its changed objects, or a single object that belongs to no job (`kind` is then not JobSet).

    `outcomes` maps each delivery method to the worst outcome among the objects. `notes` are full sentences. `facts` are
    those of a new job. `finished` says that the JobSet of before has ended by itself. `aside` is for the row of the job:
    where it moves, or what to do first.
    """

    kind: str
    namespace: str
    name: str
    status: Status
    objects: tuple[ObjectDiff, ...]
    outcomes: Mapping[str, Outcome]
    totals: Versions
    steps_before: tuple[ReplicatedJob, ...]
    steps_after: tuple[ReplicatedJob, ...]
    notes: tuple[str, ...]
    facts: Facts | None = None
    finished: bool = False
    aside: str = ""

    @property
    def label(self) -> str:
        """The display name: "team-a/llm", with the kind unless it is JobSet."""
        name = documents.qualified(self.namespace, self.name)
        return name if self.kind == "JobSet" else f"{self.kind} {name}"


@dataclass(frozen=True, slots=True)
class Cause:
    """A line because of which jobs change, where it is now or, if it is gone, where it was before."""

    source: Source
    side: Literal["after", "before"] = "after"
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Group:
    """Jobs that change in the same way, each with its environment, and the outcome of one delivery method.

    `causes` are the lines because of which they change, `reason` is what is no line. `pending` are lines that had changed
    before, and take effect now because the jobs had been kept as built. If `varies`, the same fields change because of the
    same lines, to values that differ by job.
    """

    method: DeliveryMethod
    members: tuple[tuple[str, JobDiff], ...]
    causes: tuple[Cause, ...] = ()
    reason: str = ""
    pending: tuple[Source, ...] = ()
    varies: bool = False

    @property
    def first(self) -> JobDiff:
        """The job that stands for the others."""
        return self.members[0][1]

    @property
    def outcome(self) -> Outcome:
        """What happens to each of the jobs."""
        return self.first.outcomes[self.method.id]


@dataclass(frozen=True, slots=True)
class Review:
    """What reviewers of a change need to know beside the objects, in full sentences.

    `errors` are those of each side, with its label: the jobs that have them are not compared. Those without a label are
    what a comparison raised. `loosened` says what is checked less strictly than before.
    """

    errors: tuple[tuple[str, tuple[Diagnostic, ...]], ...] = ()
    loosened: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()
    sweeps: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()

    @property
    def failures(self) -> list[Diagnostic]:
        """What a comparison raised."""
        return [failure for label, failures in self.errors if not label for failure in failures]

    @property
    def sections(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The sentences by their headings, without the errors."""
        yield "trainc.yaml is less strict", self.loosened
        yield "Policies", self.policies
        yield "Cluster", self.cluster
        yield "Sweeps", self.sweeps
        yield "Budgets", self.budgets


def finding_line(found: Diagnostic) -> str:
    """A finding with its place, its environments and its help, on one line."""
    line = error_line(replace(found, message=compiling.full_message(replace(found, path=""))))
    return f"{line}; help: {found.hint}" if found.hint else line


def error_line(error: Diagnostic) -> str:
    """An error with its place, on one line."""
    location = "" if error.source is None else f"{error.source.file}:{error.source.line}: "
    about = " ".join(filter(None, (error.object, error.path)))
    return f"{location}{error.code} {f'({about}) ' if about else ''}{error.message}"


@dataclass(frozen=True, slots=True)
class Diff:
    """The comparison of two sets of manifests.

    `jobs` are the changed jobs, ordered by namespace and name; `unchanged` counts the others. `method` is the one
    selected by the options, and `deliveries` are those to show. `totals` covers all jobs, including unchanged ones.
    `groups` are `jobs`, each kind of change once.
    """

    before: str
    after: str
    release: str
    method: DeliveryMethod
    deliveries: tuple[DeliveryMethod, ...]
    jobs: tuple[JobDiff, ...]
    unchanged: int
    totals: Versions
    notes: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    review: Review = Review()

    @property
    def has_changes(self) -> bool:
        """Return whether any field differs; reordered lists do not count."""
        return any(job.status != "unchanged" for job in self.jobs)


GONE = {"after": "", "before": " (gone)"}
_LETTERS = frozenset(string.ascii_lowercase + string.digits)


def group_jobs(jobs: Sequence[JobDiff], method: DeliveryMethod) -> tuple[Group, ...]:
    """Group jobs that change in the same way, the most harmful first. Values are compared without the job's own name."""
    by_content: dict[str, list[JobDiff]] = {}
    for job in jobs:
        by_content.setdefault(_content(job), []).append(job)
    return _sort(Group(method, tuple(("", job) for job in members)) for members in by_content.values())


def explain_groups(groups: Sequence[Group], causes: Causes) -> tuple[Group, ...]:
    """Add the causes. A group has the jobs with the same causes, or with the same edit in each job's own file.

    Groups with the same fields, outcome and causes become one, in which values differ by job.
    """
    explained: list[Group] = []
    for group in groups:
        content = _content(group.first)
        by_causes: dict[object, list[tuple[tuple[str, JobDiff], Why]]] = {}
        for member in group.members:
            why = causes.of(member[1], content)
            by_causes.setdefault((causes.shared(member[1], why), why.reasons), []).append((member, why))
        for members in by_causes.values():
            lines = dict.fromkeys(cause for _, why in members for cause in why.lines)
            pending = dict.fromkeys(source for _, why in members for source in why.pending)
            reason = "; ".join(members[0][1].reasons)
            found = tuple(member for member, _ in members)
            values = [([o.changes for o in job.objects], job.facts) for (_, job), _ in members]
            varies = any(of_job != values[0] for of_job in values)
            explained.append(Group(group.method, found, tuple(lines), reason, tuple(pending), varies))
    by_key: dict[object, list[Group]] = {}
    for number, group in enumerate(explained):
        fields = [(o.key.kind, o.status, c.path, c.kind) for o in group.first.objects for c in o.changes]
        key = (group.outcome, str(fields), group.causes, group.reason) if fields and group.causes else number
        by_key.setdefault(key, []).append(group)
    return _sort(_merge(members, varies=len(members) > 1) for members in by_key.values())


def across(environments: Iterable[tuple[str, Sequence[Group]]]) -> tuple[Group, ...]:
    """The groups of several environments: what changes everywhere in the same way is one group."""
    by_key: dict[object, list[Group]] = {}
    for name, groups in environments:
        for group in groups:
            in_environment = replace(group, members=tuple((name, job) for _, job in group.members))
            key = _content(group.first), group.outcome, group.causes, group.reason, group.varies
            by_key.setdefault(key, []).append(in_environment)
    return _sort(map(_merge, by_key.values()))


def _merge(groups: Sequence[Group], *, varies: bool = False) -> Group:
    members = tuple(member for group in groups for member in group.members)
    pending = tuple(dict.fromkeys(source for group in groups for source in group.pending))
    return replace(groups[0], members=members, pending=pending, varies=varies or groups[0].varies)


def _sort(groups: Iterable[Group]) -> tuple[Group, ...]:
    harm = list(LABELS)
    return tuple(sorted(groups, key=lambda group: (-harm.index(group.outcome), -len(group.members))))


def sum_of(groups: Iterable[Versions]) -> Versions:
    """The sizes of several jobs; None on a side where there is none of them."""
    versions = list(groups)
    before = [v.before for v in versions if v.before is not None]
    after = [v.after for v in versions if v.after is not None]
    return Versions(reduce(add, before) if before else None, reduce(add, after) if after else None)


def reason_of(group: Group, most: int = 3) -> str:
    """The causes: `runtimes/torch.yaml:30`, several of them, or the reason."""
    locations = dict.fromkeys(f"{cause.source.file}:{cause.source.line}{GONE[cause.side]}" for cause in group.causes)
    return first_of([*locations, *filter(None, (group.reason,))], most)


def status_word(job: JobDiff) -> str:
    """What happened to a job in the input."""
    return "same fields in a different order" if job.status == "unchanged" else job.status


def notes_of(group: Group) -> Iterator[str]:
    """The notes on the jobs of a group; those that name a job are those of the first."""
    _, last = group.members[-1]
    for note in group.first.notes:
        yield note if note in last.notes else f"{group.first.label}: {note}"


def _content(job: JobDiff) -> str:
    """What changes in a job, without its own names, as text."""
    objects = [
        (
            o.key.kind,
            o.status,
            [(str(c.path), c.before, c.after) for c in o.changes],
            [(str(m.path), m.before, m.after) for m in o.moves],
            [verdict.outcome for verdict in o.verdicts.values()],
        )
        for o in job.objects
    ]
    outcomes: dict[str, Outcome] = dict(job.outcomes)
    # Jobs that are new are alike apart from the program, which differs between the trials of a sweep.
    facts = None if job.facts is None else (job.facts.image, job.facts.queue, job.facts.hours, job.facts.gpu_hours)
    text = json.dumps([job.kind, job.status, outcomes, objects, job.notes, facts], default=str)
    names = {name for o in job.objects for name in (*(o.renamed or ()), o.key.name)} | {job.name}
    for name in sorted(filter(None, names), key=lambda name: (-len(name), name)):
        text = _without(name, text)
    return text


def _without(name: str, text: str) -> str:
    """The text with a star for each mention of the name that is not part of a longer word."""
    # A regular expression would be compiled for each job, which takes longer than all the rest.
    parts, start, at = [], 0, text.find(name)
    while at >= 0:
        end = at + len(name)
        if _LETTERS.isdisjoint((text[at - 1 : at], text[end : end + 1])):
            parts.append(text[start:at])
            start = end
        at = text.find(name, max(start, at + 1))
    return "*".join((*parts, text[start:]))
