"""The HTML report: its data for each job, and the page itself."""

from __future__ import annotations

import os.path
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote
from zlib import compress

from trainc.api.explained import Explanation, Origin, describe_origin, format_value
from trainc.api.findings import Diagnostic, Source, counted, escape_line
from trainc.api.jobs import JobSet, ReplicatedJob
from trainc.api.kube import Json, Quantity, bounds, devices, documents, names, quantity
from trainc.api.records import dataclass, field

if TYPE_CHECKING:
    from trainc.features.gitops.report.overview import Overview

# The table of jobs on the report page: a row for each job, and totals by namespace, queue and runtime.

_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
_TEAM_LABELS = ("team", "app.kubernetes.io/part-of")


@dataclass(frozen=True, slots=True)
class Size:
    """The total requests of jobs: pods, devices by display name, cores and bytes."""

    jobs: int
    pods: int
    devices: Counter[str]
    cpu: Quantity
    memory: Quantity

    def __add__(self, other: Size) -> Size:
        jobs, pods, devices = self.jobs + other.jobs, self.pods + other.pods, self.devices + other.devices
        return Size(jobs, pods, devices, self.cpu + other.cpu, self.memory + other.memory)


NOTHING = Size(0, 0, Counter(), quantity.ZERO, quantity.ZERO)


@dataclass(frozen=True, slots=True)
class Row:
    """The table row of one job. `queue` and `priority` are Kueue's or Volcano's, empty if it has none.

    `team` is a label of the job, `image` that of the pods that train, and `types` are its devices by type of node.
    """

    namespace: str
    name: str
    runtime: str
    queue: str
    priority: str
    size: Size
    team: str = ""
    image: str = ""
    types: Counter[str] = field(default_factory=Counter)


def row_of(name: str, jobset: JobSet, runtime: str, manifests: Sequence[Json], types: Counter[str]) -> Row:
    """Build the row of a job, under the name of its TrainJob, from what it consists of and its manifests."""
    labels = jobset.document["metadata"].get("labels", {})
    main = bounds.main_step(jobset)
    group: Json = next((manifest["spec"] for manifest in manifests if manifest["kind"] == "PodGroup"), {})
    return Row(
        jobset.namespace,
        name,
        runtime,
        labels.get(names.QUEUE_LABEL) or group.get("queue", ""),
        labels.get(_PRIORITY_LABEL) or group.get("priorityClassName", ""),
        _size(jobset.jobs),
        next((str(labels[key]) for key in _TEAM_LABELS if labels.get(key)), ""),
        main.image if main else "",
        types,
    )


def _size(jobs: Sequence[ReplicatedJob]) -> Size:
    counts: Counter[str] = Counter()
    host = dict.fromkeys(("cpu", "memory"), quantity.ZERO)
    for job in jobs:
        for resource, amount in job.requests.items():
            if resource in host:
                host[resource] += amount * job.pods
            elif "/" in resource:
                counts[devices.accelerator(resource) or resource] += amount.units * job.pods
    return Size(1, sum(job.pods for job in jobs), counts, host["cpu"], host["memory"])


def device_columns(rows: Sequence[Row]) -> list[str]:
    """All device types of any job, most frequent first."""
    counts = sum((row.size.devices for row in rows), Counter[str]())
    return [device for device, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def totals(rows: Sequence[Row]) -> list[tuple[str, list[tuple[str, Size]]]]:
    """Sums by namespace, by queue and by runtime, where there are two to tell apart or one with a name."""
    result = []
    for title in ("namespace", "queue", "runtime"):
        names = sorted({getattr(row, title) for row in rows})
        sums = [(name, sum((row.size for row in rows if getattr(row, title) == name), NOTHING)) for name in names]
        if names not in ([], [""]):
            result.append((title, sums))
    return result


def readable(amount: Quantity) -> str:
    """An amount for people: `1,536`, `29.7Ti`; as Kubernetes writes it where it is neither whole nor in bytes."""
    if amount.family == "binary":
        units = amount.units
        power = min((units.bit_length() - 1) // 10, len(_BINARY) - 1)
        return f"{units / 1024**power:,.4g}{_BINARY[power]}"
    return f"{amount.units:,}" if amount.is_whole else str(amount)


_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


# Links on the report page: to lines of source files, and inside descriptions of origins.


# A piece of text and its link target, empty for none.
Piece: TypeAlias = tuple[str, str]
Link: TypeAlias = Callable[[Source | None], str]


def link_into(base: str, folder: str) -> Link:
    """Build links to source lines, relative to the URL `base` of a forge if given, else relative to `folder`.

    Standard input and the catalog are not files and get no link.
    """

    @cache  # A job has many fields from one file.
    def address(file: str) -> str:
        target = file if base else os.path.relpath(file, folder or os.curdir)
        path = quote(os.path.normpath(target).replace(os.sep, "/"))
        return f"{base.rstrip('/')}/{path}" if base else path

    def link(source: Source | None) -> str:
        if source is None or not source.file or source.file == "-" or source.file.startswith("catalog:"):
            return ""
        return f"{address(source.file)}#L{source.line}"

    return link


def file_and_line(source: Source | None) -> str:
    """`file:line`, or an empty string."""
    return f"{escape_line(source.file)}:{source.line}" if source and source.file else ""


def linked(origin: Origin, link: Link) -> list[Piece]:
    """Describe an origin, with each `file:line` as a separate linked piece."""
    text, pieces = describe_origin(origin), list[Piece]()
    for origin_input in origin.inputs:
        location, address = file_and_line(origin_input.source), link(origin_input.source)
        before, separator, after = text.partition(location) if location and address else (text, "", "")
        if separator:
            pieces += [(before, ""), (location, address)]
            text = after
    return [*pieces, (text, "")]


@dataclass(frozen=True, slots=True)
class Earlier:
    """A replaced value and its origin."""

    value: str
    origin: list[Piece]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its value, a description of its latest origin, and its earlier values."""

    path: str
    value: str
    kind: str
    origin: list[Piece]
    earlier: tuple[Earlier, ...]


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a job with all its fields, and as YAML."""

    kind: str
    name: str
    yaml: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Details:
    """What is shown of a job if there are few. The pictures are SVG documents, empty if they could not be drawn.

    `tree` is the text version of the picture, and `tall` the picture for narrow screens.
    """

    picture: str
    tall: str
    tree: str
    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `fit` describes whether the cluster configured in trainc.yaml can admit the job, after one word for it.

    `environment` is the one the job is compiled for, and `state` that of a dump. `denied` says whether policies deny it;
    None without policies. Of many jobs there are no `details`, and their `yaml` is compressed on the page; `picture` is that
    of one that changes.
    """

    anchor: str
    row: Row
    label: str
    runtime: str
    release: str
    source: Source | None
    jobset: str
    steps: JobSet
    yaml: str
    diagnostics: tuple[Diagnostic, ...]
    fit: tuple[str, str] = ("", "")
    environment: str = ""
    state: str = ""
    denied: bool | None = None
    details: Details | None = None
    picture: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """Its namespace and name, as comparisons of one environment and of several have it."""
        name = documents.qualified(self.row.namespace, self.row.name)
        return name, f"{name} in {self.environment}"

    @property
    def drawn(self) -> str:
        """The picture of the job, as SVG; empty if there is none."""
        return self.details.picture if self.details is not None else self.picture

    @property
    def findings(self) -> str:
        """`1 warning, 2 infos`; empty if there are none."""
        return severities(self.diagnostics)

    @property
    def rank(self) -> int:
        """The sort key for findings: one warning counts more than any number of infos."""
        counts = Counter(diagnostic.severity for diagnostic in self.diagnostics)
        return counts["error"] * 100_000_000 + counts["warning"] * 10_000 + counts["info"]


@dataclass(frozen=True, slots=True)
class Heading:
    """What the page is about: its title, the revision and date as given, and the changes since another revision."""

    title: str
    revision: str = ""
    date: str = ""
    changes: Mapping[str, Any] | None = None


def severities(diagnostics: Sequence[Diagnostic]) -> str:
    """`1 warning, 2 infos`."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    return ", ".join(counted(counts[name], name) for name in ("error", "warning", "info") if counts[name])


def objects_of(explanation: Explanation, yaml: Sequence[str], link: Link) -> tuple[Object, ...]:
    """The objects of a job with descriptions of their origins; `yaml` has the text of each, in the same order."""
    objects = []
    for explained, text in zip(explanation.objects, yaml, strict=True):
        fields = []
        for item in explained.fields:
            earlier = tuple(Earlier(format_value(origin.value), linked(origin, link)) for origin in item.origins[1:])
            path, value, origin = documents.format_field(item.path), format_value(item.value), item.origin
            fields.append(Field(path, value, origin.kind, linked(origin, link), earlier))
        objects.append(Object(explained.name.kind, explained.name.name, text, tuple(fields)))
    return tuple(objects)


def page(
    jobs: Sequence[Job], other_diagnostics: Sequence[Diagnostic], overview: Overview, heading: Heading, link: Link
) -> str:
    """Return the HTML document. It is complete without JavaScript, which adds sorting, filters, copying and YAML.

    `other_diagnostics` are findings about runtimes and about the input as a whole.
    """
    # Imported here because nothing else in a report needs a template.
    from jinja2 import Environment, StrictUndefined, select_autoescape
    from markupsafe import Markup

    environment = Environment(
        autoescape=select_autoescape(default=True), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_resource("page.html.j2"))
    optional = ("team", "priority", "state", "queue")
    has = {name: any(getattr(job, name, "") or getattr(job.row, name, "") for job in jobs) for name in optional}
    environments, releases = sorted({job.environment for job in jobs}), sorted({job.release for job in jobs})
    outcomes: Mapping[str, str] = (heading.changes or {}).get("outcomes", {})
    has |= {"environment": len(environments) > 1, "release": len(releases) > 1, "change": bool(outcomes)}
    has |= {
        "cluster": any(job.fit[0] for job in jobs),
        "policies": any(job.denied is not None for job in jobs),
    }
    types = device_columns([job.row for job in jobs])
    numbers = ["Pods", *(f"{device}{'' if '/' in device else 's'}" for device in types), "CPUs", "Memory"]
    named = ("Job", "Environment", "Namespace", "Team", "Runtime", "Queue", "Priority", *numbers, "Image")
    named = (*named, "Change", "Release", "State", "Cluster", "Policies", "Findings")
    packed = b""
    if any(job.details is None for job in jobs):  # Texts that repeat each other, as browsers can read them.
        packed = compress("\0".join(job.yaml for job in jobs).encode("utf-8", "backslashreplace"), 9)
    return template.render(
        jobs=jobs,
        other_diagnostics=other_diagnostics,
        overview=overview,
        changes=heading.changes,
        by_name={name: job for job in jobs for name in job.names},
        heading=heading,
        has=has,
        environments=environments,
        releases=releases,
        columns=[name for name in named if has.get(name.lower(), True)],
        numbers=numbers,
        outcome_of=lambda job: next((outcomes[name] for name in job.names if name in outcomes), ""),
        packed=b64encode(packed).decode(),
        counted=counted,
        devices=types,
        link=link,
        file_and_line=file_and_line,
        readable=readable,
        severities=severities,
        short=_short,
        sum=sum((job.row.size for job in jobs), NOTHING),
        totals=totals([job.row for job in jobs]),
        # These are trainc's own files and contain no input.
        style=Markup(_resource("style.css")),  # noqa: S704
        script=Markup(_resource("page.js")),  # noqa: S704
        # A data URL, in which scripts would not run.
        picture=lambda svg: f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}",
    )


def _short(image: str) -> str:
    """The end of an image's name with its tag, or the first characters of its digest."""
    name, separator, digest = image.rpartition("/")[2].partition("@")
    return f"{name}@{digest.partition(':')[2][:8]}" if separator else name


def _resource(name: str) -> str:
    return files("trainc.features.gitops.report").joinpath(name).read_text(encoding="utf-8")
