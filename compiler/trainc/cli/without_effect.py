"""What of trainc.yaml is about nothing: names and globs that nothing here has, and folders that nobody reads."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from trainc.cli.compiling import Run
from trainc.cli.revisions import here
from trainc.features import added
from trainc.findings import CompileError, Diagnostic, Finding, Path, Severity, Source, has_errors
from trainc.findings.policy import matches
from trainc.findings.text import did_you_mean, near_names
from trainc.knowledge.software import is_like
from trainc.kube.documents import identity_of, mapping, qualified, value_at
from trainc.kube.names import is_subdomain, split_image
from trainc.options import Limits
from trainc.project.configuration import Configuration
from trainc.reading.files import OVERLAY_FILE, read_paths
from trainc.reading.git import run_git
from trainc.reading.opening import CONFIGURATION_FILE, is_below
from trainc.startup.typing import TypeAlias

# Where settings are about nothing, the word, how sure that is a mistake, and what to say of it.
_Nothing: TypeAlias = "tuple[Path, str, Severity, str, str]"
_WILD = frozenset("*?")
_BOUNDS = ("ResourceQuota", "LimitRange")
# Of how many globs that nothing matches a name that may be meant is looked for.
_MOST_CORRECTED = 100


def without_effect(
    runs: Sequence[Run], images: Collection[str], base: Callable[[], str | None]
) -> tuple[list[Diagnostic], set[str]]:
    """Return what to say of settings that are about nothing, and the globs of files among them; `base` finds the commit there."""
    configuration = runs[0].settings.configuration
    file, found, globs = configuration.file, dict[tuple[Path, str], Diagnostic](), set[str]()
    # Where something does not compile, what is there is not known.
    is_whole = not any(has_errors(run.diagnostics) for run in runs)
    left = {identity_of(d.data)[0] for run in runs for d in run.inputs.unselected}
    spaces = left.union(job.key[0] for run in runs for job in run.session.jobs)
    for document in read_paths([file], Limits(), everything=True)[0] if file else ():
        parts: list[Path] = [(), *(("environments", name) for name in document.data.get("environments", ()))]
        for above in parts:
            settings, mine = mapping(value_at(document.data, above)), runs
            if above:
                mine = [run for run in runs if run.settings.configuration.environment == above[1]]
            keys = [job.key for run in mine for job in run.session.jobs]
            keys += [identity_of(jobset.data) for run in mine for jobset in run.inputs.jobsets]
            jobs = [qualified(*key) for key in keys]
            about_files = list(_globs_of_nothing(settings, file or "", configuration))
            globs |= {word for _, word, *_ in about_files}
            named = [*_images_of_nothing(settings, images), *_of_nothing(settings, file or "", jobs)]
            named += _selected_of_nothing(settings, spaces)
            for path, word, severity, about, hint in (*about_files, *(named if is_whole else ())):
                finding = Finding("SettingsNotUsed", severity, f"{word} {about}".lstrip(), hint, (*above, *path))
                found[above, word] = document.diagnose(finding, CONFIGURATION_FILE)
    others = [*_overlays_of_nobody(runs), *_delivered(runs, base), *ignored_outputs(runs)] if file else []
    others += _quotas_of_nobody(runs) if is_whole else ()
    return [*found.values(), *others], globs


def _globs_of_nothing(settings: Mapping[str, Any], file: str, configuration: Configuration) -> Iterator[_Nothing]:
    """Yield globs of files that begin with a folder which is not there: what comes after the first `*` may come yet."""
    home = os.path.dirname(file)
    named: list[tuple[Path, str]] = [
        *((("namespaces", glob), glob) for glob in settings.get("namespaces", ())),
        *((("rules", key), key) for key in settings.get("rules", ()) if not {*"/*."}.isdisjoint(key)),
        *((("exclude", i), glob) for i, glob in enumerate(settings.get("exclude", ()))),
        *((("adopted", i), glob) for i, glob in enumerate(settings.get("adopted", ()))),
        *((("select", "paths", i), glob) for i, glob in enumerate(value_at(settings, ("select", "paths")) or ())),
    ]
    there, gone = _followed(named, home, configuration)
    for number, (path, glob, above, parts, i) in enumerate(gone):
        with suppress(OSError):
            here = os.listdir(above or os.curdir) if number < _MOST_CORRECTED else ()
            below = [*itertools.takewhile(lambda part: part and not _WILD & {*part}, parts[i + 1 :])]
            left = {name for name in here if not name.startswith(".")}.difference(there.get((path[0], above), ()))
            if below:  # Of a folder that another glob names, a folder that none does.
                inside = {name: os.path.join(above, name, *below) for name in here}
                taken = {
                    name
                    for name, folder in inside.items()
                    if below[-1] in there.get((path[0], os.path.dirname(folder)), ())
                }
                left |= {name for name, folder in inside.items() if os.path.lexists(folder)} - taken
            near = near_names(parts[i], left, 1, 0.75)
            meant = "/".join([*parts[:i], *near, *parts[i + 1 :]])
            about = "matches no file here"
            if near:
                yield path, glob, "warning", about, f"did you mean {meant}?"
            elif path[0] in ("exclude", "rules"):
                yield path, glob, "info", about, "correct it, or remove it here"


def _followed(
    named: Sequence[tuple[Path, str]], home: str, configuration: Configuration
) -> tuple[dict[tuple[Any, str], set[str]], list[tuple[Path, str, str, list[str], int]]]:
    """Return what globs name of each folder, and those whose folder is not there: where they end, and their parts."""
    anywhere: set[str] = set()
    there, gone = dict[tuple[Any, str], set[str]](), list[tuple[Path, str, str, list[str], int]]()
    for path, glob in named:
        parts, above = glob.removeprefix("./").strip("/").split("/"), home
        if len(parts) == 1 and not glob.startswith(("/", "./")) and not _WILD & {*glob}:
            if not anywhere:
                read = [*(configuration.sources or [home or os.curdir]), *(configuration.runtimes or ())]
                anywhere = {n for top in read for _, folders, files in os.walk(top) for n in (*folders, *files)}
            if glob in anywhere:
                there.setdefault((path[0], home), set()).add(glob)
                continue
        for i, part in enumerate(parts):
            if _WILD & {*part} or not part:
                break
            if not os.path.lexists(os.path.join(above, part)):
                gone.append((path, glob, above, parts, i))
                break
            there.setdefault((path[0], above), set()).add(part)
            above = os.path.join(above, part)
    return there, gone


def _quotas_of_nobody(runs: Sequence[Run]) -> Iterator[Diagnostic]:
    """Yield quotas and limits of a namespace that nothing else is in, next to one with jobs and without any."""
    for run in runs:
        documents = run.court.snapshot[0] if run.court.snapshot else []
        bounds = [d for d in documents if d.data.get("kind") in _BOUNDS]
        of_jobs = {job.key[0] for job in run.session.jobs}
        rules = read_paths([*filter(os.path.exists, run.settings.configuration.policies)], Limits(), everything=True)[0]
        others = {
            word for d in (*documents, *rules) if d.data.get("kind") not in _BOUNDS for word in identity_of(d.data)
        }
        of_kind = {kind: {identity_of(d.data)[0] for d in bounds if d.data["kind"] == kind} for kind in _BOUNDS}
        for bound in bounds:
            space = identity_of(bound.data)[0]
            near = "" if space in of_jobs | others else did_you_mean(space, of_jobs - of_kind[bound.data["kind"]], 0.75)
            if near:
                message = f"no job is in namespace {space}, so this bounds nothing"
                finding = Finding("SettingsNotUsed", "warning", message, near, ("metadata", "namespace"))
                yield bound.diagnose(finding)


def _images_of_nothing(settings: Mapping[str, Any], images: Collection[str]) -> Iterator[_Nothing]:
    for glob in settings.get("software", ()) if images else ():
        if not any(is_like(image, glob) for image in images):
            message = f"no job here has an image like {glob}"
            hint = did_you_mean(glob.partition(":")[0], {split_image(image)[0] for image in images})
            yield ("software", glob), "", "warning", message, hint or "write a glob such as ghcr.io/team/train:*"


def _selected_of_nothing(settings: Mapping[str, Any], spaces: Collection[str]) -> Iterator[_Nothing]:
    """Yield namespaces of `select` in which there is no job, and that are almost one in which there are some."""
    globs = value_at(settings, ("select", "namespaces"))
    globs = globs if isinstance(globs, list) else []
    left = {space for space in spaces if not any(matches(space, str(glob)) for glob in globs)}
    for i, glob in enumerate(map(str, globs)):
        if left and not any(matches(space, glob) for space in spaces) and (near := did_you_mean(glob, left)):
            yield ("select", "namespaces", i), glob, "warning", "is a namespace without jobs", near


def _overlays_of_nobody(runs: Sequence[Run]) -> Iterator[Diagnostic]:
    """Yield overlays beside those of environments that no environment has and no overlay builds on."""
    loaded = [each for run in runs for overlay in run.settings.overlays for each in overlay.in_order]
    used = {os.path.realpath(path) for run in runs for each in run.settings.overlays for path, _ in each.texts}
    used |= {os.path.realpath(each.overlay.document.file) for each in loaded}
    siblings = {os.path.dirname(each.folder.rstrip("/")) for run in runs for each in run.settings.overlays}
    for above in sorted(siblings) if len(runs) > 1 else ():
        with suppress(OSError):
            for name in sorted(os.listdir(above)) if above else ():
                file = os.path.join(above, name, OVERLAY_FILE)
                if os.path.isfile(file) and os.path.realpath(file) not in used:
                    for document in read_paths([file], Limits(), everything=True)[0]:
                        message = "no environment of trainc.yaml has this overlay, so it changes nothing"
                        hint = f"name it there, as `overlay: {os.path.join(above, name)}`, or remove it"
                        yield document.diagnose(Finding("SettingsNotUsed", "info", message, hint, ()))


def ignored_outputs(runs: Sequence[Run]) -> Iterator[Diagnostic]:
    """Yield the lines by which git ignores what a build writes, so that nobody commits it."""
    for output in dict.fromkeys(filter(None, (run.settings.configuration.output for run in runs))):
        with suppress(CompileError):
            top, above = os.path.realpath(here().top), os.path.realpath(output)
            while above != top and is_below(above, top) and not os.path.isfile(os.path.join(above, ".gitignore")):
                above = os.path.dirname(above)
            if not os.path.isfile(os.path.join(above, ".gitignore")):
                continue
            # Fails if nothing is ignored.
            words = ("--no-literal-pathspecs", "check-ignore", "-v", "--no-index")
            answer = run_git(top, [*words, f"{os.path.realpath(output)}/job.yaml"]).decode()
            file, line, glob = answer.partition("\t")[0].split(":", 2)
            if line.isdecimal() and not glob.startswith("!"):
                message = f"git ignores what a build writes to {output}: a new file there is never committed"
                hint = f"remove {glob}, or add a line !{glob} after it"
                source = Source(os.path.relpath(os.path.join(top, file)), int(line), 1)
                yield Diagnostic("SettingsNotUsed", "warning", message, hint, source=source)


def _delivered(runs: Sequence[Run], base: Callable[[], str | None]) -> list[Diagnostic]:
    found = [d for findings in added("findings of outputs") for d in findings(runs, base)]
    return runs[0].session.rules(found, False)


def _of_nothing(settings: Any, file: str, jobs: Sequence[str]) -> Iterator[tuple[Path, str, Severity, str, str]]:
    """Yield where settings are about nothing, the word, how sure that is a mistake, and what to say of it."""
    named: dict[str, list[tuple[Path, str]]] = {
        "budgets": [(("budgets", glob), glob) for glob in settings.get("budgets", ())]
    }
    frozen = [entry["jobs"] for entry in settings.get("frozen", ())]
    named["frozen"] = [
        (("frozen", i, "jobs", j), glob) for i, globs in enumerate(frozen) for j, glob in enumerate(globs)
    ]
    for kind, globs in named.items():
        names = {job.partition("/")[0] for job in jobs} if kind == "budgets" else {*jobs}
        by_part: dict[str, set[str]] = {}
        for name in names:
            for part in (name, *name.split("/")):
                by_part.setdefault(part, set()).add(name)
        matched = {
            glob: {n for n in names if matches(n, glob)}
            if _WILD & {*glob} or glob != glob.strip("./") else by_part.get(glob, set())
            for _, glob in globs
        }  # fmt: skip
        left = names.difference(*matched.values())
        left |= {f"{name.rpartition('/')[0]}/*" for name in names if kind == "frozen"}
        for number, (path, glob) in enumerate((path, glob) for path, glob in globs if not matched[glob]):
            near = did_you_mean(glob, left if number < _MOST_CORRECTED else (), 0.6 if kind == "budgets" else 0.8)
            if kind == "budgets" and not near and is_subdomain(glob.replace("*", "x").replace("?", "x")):
                continue  # Jobs may come.
            hint = near or (
                "write a namespace or a glob" if kind == "budgets" else "remove it, now that the job is gone"
            )
            yield path, glob, "warning" if near or kind == "budgets" else "info", "is the name of nothing here", hint
    if folder := str(mapping(settings.get("live")).get("dump") or ""):
        dump, problems = read_paths([os.path.join(os.path.dirname(file), folder)], Limits(), everything=True)
        jobsets = [qualified(*identity_of(d.data)) for d in dump if d.data.get("kind") == "JobSet"]
        if problems and problems[0].code == "NoSuchPath":
            near, hint = problems[0].hint, "let CI publish it (`trainc init --only dump`), or remove it here"
            is_near = near.startswith("did you mean")
            about = "is not there, so no job is known to have finished"
            yield ("live", "dump"), folder, "warning" if is_near else "info", about, near if is_near else hint
        elif (
            not problems
            and jobsets
            and {*jobs}.isdisjoint(begin for jobset in jobsets for begin in _beginnings(jobset))
        ):
            about = "has JobSets, but none of a job here"
            yield ("live", "dump"), folder, "info", about, "name the dump of the cluster in which these jobs run"


def _beginnings(name: str) -> Iterator[str]:
    """Yield a name and all that it may be a derived name of: what is before one of its dashes."""
    yield name
    yield from (name[:place] for place, letter in enumerate(name) if letter == "-")
