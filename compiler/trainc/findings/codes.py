"""All diagnostic codes, with the severity and the compiler stage of each, and the page about each.

The codes are listed in codes.txt and the pages are rules/<Code>.md, here and in the folders of features.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache

from trainc.features import features
from trainc.findings import Severity
from trainc.startup.records import dataclass
from trainc.startup.typing import TYPE_CHECKING, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Stage: TypeAlias = Literal[
    "settings", "read", "template", "overlay", "dialect", "schema", "resolve", "validate",
    "lint", "admission", "policy", "emit", "output", "migrate", "diff", "fits", "doctor", "run", "sweep"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Code:
    """Metadata of a diagnostic code.

    `severity` is the severity with `semantics="gitops"`, or the highest one if it varies.
    """

    severity: Severity
    stage: Stage


# Where the site that `make site` builds is published, such as https://docs.example.com/trainc/latest; empty if nowhere.
# This is the only place that says it. TRAINC_DOCS_URL and `docsUrl` in trainc.yaml name another copy.
DOCS_URL = ""

# The entry points of plugins' codes.
GROUP = "trainc.codes"
_SUFFIX = ".md"
_CODES = "codes.txt"
# Codes that came in pairs and had one fix: the names of older releases, in comments and settings, mean the new ones.
_FORMER: Mapping[str, str] = {
    **dict.fromkeys(("AmbiguousTrainerContainer", "AmbiguousTrainerJob"), "AmbiguousTrainer"),
    **dict.fromkeys(("TooFew", "TooShort"), "EmptyField"),
    "PodNameTooLong": "JobNameTooLong",
    **dict.fromkeys(("PodSpecInsteadOfJobSetSpec", "PodSpecInsteadOfJobSpec"), "MisplacedPodSpec"),
    **dict.fromkeys(("StaleAddress", "StaleConfigMap", "StaleGroup", "StaleHost"), "StaleReference"),
    **dict.fromkeys(("UnknownPatchedContainer", "UnknownPatchedJob"), "UnknownPatchTarget"),
}


def current_code(code: str) -> str:
    """Return what a code is called now."""
    return _FORMER.get(code, code)


# Errors of these stages do not prevent compilation, so `rules:` and comments may ignore them.
_IGNORABLE = ("lint", "admission", "policy", "fits")


# Where codes are listed and have their pages: here, and in the folders of features.
_HERE = os.path.dirname(__file__)


@cache
def codes() -> Mapping[str, Code]:
    """Return all codes, those of features among them, sorted by name."""
    return dict(sorted(entry for home in _homes() for entry in _codes_in(home)))


def stage_of(code: str) -> Stage | Literal[""]:
    """Return the stage of a code; empty for a code of a plugin."""
    return codes()[code].stage if code in codes() else ""


@cache
def codes_of_plugins() -> Mapping[str, EntryPoint]:
    """Return the codes that installed plugins declare: names of entry points to their pages, so that nothing is imported."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in codes()}


def _homes() -> list[str]:
    return [home for home in (_HERE, *(f.folder for f in features())) if os.path.isfile(os.path.join(home, _CODES))]


def _codes_in(home: str) -> Iterator[tuple[str, Code]]:
    """Read a list of codes: lines with a stage and a severity, and below each, indented, the codes of both."""
    with open(os.path.join(home, _CODES), encoding="utf-8") as file:
        for line in file:
            if not line.startswith(" "):
                stage, severity = line.split()
                code = Code(cast("Severity", severity), cast("Stage", stage))
            else:
                yield from ((name, code) for name in line.split())


@cache
def _pages() -> Mapping[str, str]:
    """Return the file of each page, by its code."""
    folders = [os.path.join(home, "rules") for home in _homes()]
    files = (os.path.join(folder, name) for folder in folders for name in os.listdir(folder))
    return {os.path.basename(file).removesuffix(_SUFFIX): file for file in files if file.endswith(_SUFFIX)}


def page(code: str) -> str | None:
    """Return the page of a code as Markdown, or None if there is no such code."""
    if (path := _pages().get(code)) is not None:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        # The codes of features are read only if it is one of them.
        entry = dict(_codes_in(_HERE)).get(code) or codes()[code]
    elif code in codes_of_plugins():
        text, entry = _page_of_plugin(code), Code("warning", "lint")
    else:
        return None
    sure, silence = _how_sure(entry.severity, entry.stage), _how_to_silence(code, entry)
    return f"{text}\n## How sure it is\n\n{sure}\n\n## How to silence it\n\n{silence}\n"


def _page_of_plugin(code: str) -> str:
    try:
        return f"# {code}\n\n{str(codes_of_plugins()[code].load()).strip()}\n"
    except Exception as error:  # noqa: BLE001 - whatever another distribution raises while it is imported
        return f"# {code}\n\nThe page of the plugin cannot be read: {type(error).__name__}: {error}\n"


def rule_url(code: str, docs_url: str) -> str | None:
    """Return the URL of the page of a code, or None if the documentation is not published."""
    return f"{docs_url.rstrip('/')}/rules/{code}.html" if docs_url else None


def _how_sure(severity: Severity, stage: Stage) -> str:
    """Return how often a finding is right, which its severity says."""
    if severity == "error" and stage == "admission":
        return "**Certain.** The cluster refuses the object, or the pods made from it."
    if severity == "error" and stage == "policy":
        return "**Certain.** A policy or quota of the cluster refuses the object or its pods, or a rule of your trainc.yaml does."
    if severity == "error" and stage in ("lint", "fits"):
        return "**Certain.** The job cannot do what it is for, whatever its program does. A false alarm is a bug in trainc. If it is reported as a warning, trainc is less sure."
    if severity == "error":
        return "**Certain.** Without a fix there is nothing to compile or to write."
    if severity == "warning":
        return "**Likely.** Usually a mistake, but there are jobs for which it is intended."
    return "**Advice.** Nothing is wrong, but the result surprises people."


def _how_to_silence(code: str, entry: Code) -> str:
    """Return the section on silencing a code, which only depends on its severity and stage."""
    if entry.severity == "error" and entry.stage not in _IGNORABLE:
        return "This error cannot be silenced: nothing can be compiled until it is fixed."
    comment = f"# trainc: ignore[{code}] why this is fine here"
    rule = f"rules: {{{code}: {{level: ignore, reason: why this is fine}}}}"
    needed = "An error can only be ignored with a reason. " if entry.severity == "error" else ""
    return (
        f"{needed}For one line, add a comment at its end or on the line above:\n\n    {comment}\n\n"
        f"For the whole repository, add a rule to trainc.yaml (`level: error`, `warning` or `info` changes the severity):"
        f"\n\n    {rule}"
    )


def summary_of(code: str) -> str:
    """Return the first paragraph of a page, or an empty string if there is no such code."""
    return (page(code) or "").partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")
