"""What Argo CD and Flux apply of the outputs, by the files for them in the repository, of which several may meet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from trainc.api.command import compiling
from trainc.api.documents import Document, files, opening
from trainc.api.findings import Diagnostic, Finding, Severity, Source, counted, did_you_mean, first_of, suggest
from trainc.api.kube import documents, mapping, objects, value_at
from trainc.api.output import ownership
from trainc.api.settings import Limits
from trainc.features.gitops.applying.argocd import misspelt_annotations, of_application
from trainc.features.gitops.applying.documents import (
    TOOLS,
    Applier,
    Around,
    Folders,
    Output,
    Reported,
    appliers,
    delivery_documents,
    files_below,
    identity,
    is_at_or_below,
    source_of,
)
from trainc.features.gitops.applying.flux import of_kustomization

CODE = "AppliedDifferently"


def below_root(home: str) -> str:
    """Return where a folder is in its repository, from whose root both tools count."""
    real = os.path.realpath(home or os.curdir)
    return os.path.relpath(real, opening.repository_above(real) or real)


class Delivery:
    """The files for Argo CD and Flux of a repository, and what they do to the outputs of `runs`."""

    def __init__(self, runs: Sequence[compiling.Run], base: Callable[[], str | None]) -> None:
        """Read them, and which files of outputs are there; `base` finds the commit to compare with."""
        configuration = runs[0].settings.configuration
        self.home = os.path.dirname(configuration.file or "")
        self.prefix = below_root(self.home)
        up = [os.pardir] * len(self.prefix.split("/")) if self.prefix != os.curdir else []
        self.root = os.path.normpath(os.path.join(self.home, *up))
        self.outputs = dict[str, Output]()
        for run in runs:
            if written := run.settings.configuration.output:
                folder = os.path.relpath(written, self.home or os.curdir)
                name = run.settings.configuration.environment
                self.outputs[folder] = Output(folder, name, self.home, run.settings.options)
        argo = [run for run in runs if run.settings.options.delivery == "argocd"]
        self._jobs = {id(d.data): d for run in argo for d in run.inputs.documents}.values()
        self.documents = delivery_documents(self.home, self.outputs) if self.outputs else []
        self._folders = Folders(self.root)
        self.all = [*appliers(self.documents, self.prefix, self._folders)]
        self._own = [os.path.normpath(os.path.join(self.home, tool)) + os.sep for tool in TOOLS]
        self._fill(self.all)
        self.around = Around(self.documents, self.prefix, self.root, base)
        self.ours = [applier for applier in self.all if applier.files]

    def _fill(self, found: Sequence[Applier]) -> None:
        """Note which files of outputs each applies."""
        inside = {id(a): a for a in found if any(is_at_or_below(a.path, folder) for folder in self.outputs)}
        sources = {(a.tool, source_of(a)) for a in inside.values()}
        known = dict[object, tuple[dict[str, tuple[Output, str]], list[Output]]]()
        for applier in found:
            # A folder above an output of ours may be one of another repository, unless it names the same.
            if id(applier) in inside or (applier.tool, source_of(applier)) in sources or self._is_own(applier):
                key = applier.path, applier.tool, applier.recurses
                if key not in known:
                    below = [(output, files_below(applier, output, self.home)) for output in self.outputs.values()]
                    files = {name: file for _, found in below for name, file in found.items()}
                    known[key] = files, [output for output, found in below if found]
                applier.files, applier.outputs = known[key]

    def findings(self) -> Iterator[Diagnostic]:
        """Yield what these files make of the outputs that is not what is rendered there."""
        yield from (self._contested(*pair) for pair in self._rivals.values())
        for applier in self.ours:
            if id(applier.document) in self._rivals:
                continue  # What it lacks to apply that folder is not to be added.
            guard, found = Finding.Guard("what is applied", "the comparison"), list[Diagnostic]()
            with guard:
                found += self._of(applier)
            yield from (*found, *map(applier.document.diagnose, guard.failures))
        for document in self._jobs:
            for severity, message, hint, path in misspelt_annotations(
                mapping(value_at(document.data, ("metadata", "annotations")))
            ):
                yield document.diagnose(Finding(CODE, severity, message, hint, path))
        yield from self._since()
        yield from self._twice()
        yield from self._names()
        yield from self._empty_generators()

    def _of(self, applier: Applier) -> Iterator[Diagnostic]:
        judge = of_application if applier.tool == "argocd" else of_kustomization
        for severity, message, hint, path in (*judge(applier, self.around), *self._above(applier)):
            document, tree, above, keys = applier.document, applier.spec, applier.above, path
            if path and isinstance(path[0], Source):
                yield Diagnostic(CODE, severity, message, hint, source=path[0])
                continue
            if path and isinstance(path[0], Document):
                document, tree, above, keys = path[0], path[0].data, (), path[1:]
            at = next(keys[:i] for i in range(len(keys), -1, -1) if not i or value_at(tree, keys[:i]) is not None)
            yield document.diagnose(Finding(CODE, severity, message, hint, (*above, *at)))

    def _above(self, applier: Applier) -> Iterator[Reported]:
        outputs = applier.outputs
        at = (*applier.source, "path")
        if len(outputs) > 1:
            names = first_of([self.around.prefixed(output.folder) for output in outputs])
            hint = "write the folder of the environment whose jobs this cluster gets"
            was = self._outputs_before.get(identity(applier)) or ()
            if len(was) == 1:
                hint = f"write `path: {self.around.prefixed(was[0].folder)}`, as before"
            message = f"{self.around.prefixed(applier.path)} has the outputs of {len(outputs)} environments, {names}: one cluster gets the jobs of all"
            yield "warning", message, hint, at
        elif applier.path not in self.outputs and not os.path.relpath(applier.path, outputs[0].folder).startswith(
            os.pardir
        ):
            applied = self._applied[applier.tool, outputs[0].folder]
            left = sorted({file.partition("/")[0] for file in outputs[0].files if file not in applied})
            if left:
                folder = self.around.prefixed(outputs[0].folder)
                message = f"this is a part of {folder}: nothing here applies {first_of(left)} in it"
                yield "warning", message, f"write `path: {folder}`, or apply the rest as well", at
        elif applier.path not in self.outputs:
            right = self.around.prefixed(outputs[0].folder)
            message = (
                f"{self.around.prefixed(applier.path)} has more than the output {right}: all that is in it is applied"
            )
            yield "warning", message, f"write `path: {right}`", at

    @cached_property
    def _applied(self) -> dict[tuple[str, str], set[str]]:
        """The files of each output that each tool applies."""
        found = dict[tuple[str, str], set[str]]()
        for applier in self.ours:
            for output, file in applier.files.values():
                found.setdefault((applier.tool, output.folder), set()).add(file)
        return found

    @cached_property
    def _before(self) -> list[Applier]:
        """What documents apply that the base has otherwise, or that are gone."""
        before = [*appliers(self.around.at_base(), self.prefix, Folders(self.root))] if self.outputs else []
        self._fill(before)
        return before

    @cached_property
    def _outputs_before(self) -> dict[object, Sequence[Output]]:
        """What each document of the base applied."""
        return {identity(applier): applier.outputs for applier in self._before}

    @cached_property
    def _rivals(self) -> dict[int, tuple[Applier, Applier]]:
        """Those that apply an output for another tool, which a document for that one applies, too, by the ids of documents."""
        found, right = dict[int, tuple[Applier, Applier]](), dict[str, Applier]()
        of_outputs = [(applier, self.outputs[applier.path]) for applier in self.ours if applier.path in self.outputs]
        for applier, output in of_outputs:
            if output.tool == applier.tool:
                right.setdefault(applier.path, applier)
        for applier, output in of_outputs:
            if output.tool != applier.tool and applier.path in right and not self._free(applier.tool):
                found.setdefault(id(applier.document), (applier, right[applier.path]))
        return found

    def _free(self, tool: str) -> list[str]:
        """Return the outputs for a tool that nothing here applies."""
        return [o.folder for o in self.outputs.values() if o.tool == tool and o.folder not in self._named]

    @cached_property
    def _named(self) -> set[str]:
        return {applier.path for applier in self.all}

    @cached_property
    def _used(self) -> set[str]:
        return {applier.path for applier in self.ours}

    def _is_own(self, applier: Applier) -> bool:
        """Return whether the document is in the folder beside trainc.yaml that is called like the tool."""
        return any(applier.document.file.startswith(folder) for folder in self._own)

    def _of_another(self, applier: Applier) -> tuple[Severity, str, str]:
        """Return what to say where trainc.yaml names another tool for a folder; without a hint, it does not."""
        path, delivery, mine = applier.path, applier.tool, self.outputs[applier.path].tool
        message = f"{TOOLS[delivery]} applies {path}, and trainc.yaml says `delivery: {mine}`"
        hint = f"once the other tool applies that folder, delete this {applier.kind} without pruning" * (
            mine != delivery
        )
        free = self._free(delivery)
        if hint and len(free) == 1:
            return (
                "warning",
                message,
                f"write `path: {self.around.prefixed(free[0])}`, which nothing here applies; or, {hint}",
            )
        if hint and delivery != "argocd":
            return "warning", message, f"write `delivery: {delivery}` for its environment; or, {hint}"
        return "info", message, hint  # Argo CD is what trainc.yaml says where it says nothing.

    def of_nobody(self) -> Iterator[Diagnostic]:
        """Yield what is applied although no build writes it, or one writes it for another tool."""
        moved = [output for output in self.outputs if output not in self._named]
        astray = {identity(applier) for applier in self._before if applier.files}
        ours = {(applier.tool, source_of(applier)) for applier in self.ours}
        for applier in self.all:
            path, kind = applier.path, applier.kind
            severity: Severity = "warning"
            there, message, hint = os.path.join(self.home, path), "", ""
            if path in self.outputs and id(applier.document) not in self._rivals:
                severity, message, hint = self._of_another(applier)
            elif applier.files or identity(applier) in astray:
                continue
            elif (self._is_own(applier) or (applier.tool, source_of(applier)) in ours) and ownership.marked_files(
                there
            ):
                message = f"no environment has `output: {path}` now, and what is there goes on in its cluster"
                hint = f"to end these jobs: git rm -r {path}, and delete this {kind} once it has pruned them"
                if len(moved) == 1:
                    hint = (
                        f"write `path: {self.around.prefixed(moved[0])}`, which nothing else here applies; or, {hint}"
                    )
            elif not os.path.lexists(there):
                message = f"there is no {self.around.prefixed(path)}: this {kind} has nothing to apply"
                near = (self.outputs, 0.8) if self._is_own(applier) else (moved, 0.9)
                hint = did_you_mean(self.around.prefixed(path), map(self.around.prefixed, near[0]), near[1], 1)
            if hint:
                at = (*applier.above, *applier.source, "path")
                yield applier.document.diagnose(Finding("SettingsNotUsed", severity, message, hint, at))

    def _twice(self) -> Iterator[Diagnostic]:
        """Yield what two documents apply to one cluster, at the later one: the one that the last commit has not, if there is one."""
        ordered = sorted(self.ours, key=lambda a: a.document.file in self.around.changed) if len(self.ours) > 1 else []
        # Who was the first to apply a file, and a file of a name, to a cluster.
        taken = dict[object, Applier]()
        reported = set[int]()
        for second in ordered:
            where = second.tool, second.cluster()
            if len(second.outputs) > 1 or not where[1]:  # Several are reported where it is about folders.
                continue
            own = [((*where, output.folder, file), file) for output, file in second.files.values()]
            names = [((*where, file), file) for output, file in second.files.values() if not output.hashed]
            shared = _first_taken(taken, own)
            twins = _first_taken(taken, names) if shared is None else None
            for key, _ in (*own, *names):
                taken.setdefault(key, second)
            found = shared or twins
            if found is None or id(second.document) in reported:
                continue
            first, files = found
            is_same = first.document is second.document and first.document.data["kind"] != "ApplicationSet"
            if is_same or identity(first) == identity(second):  # Names are reported where it is about them.
                continue
            reported.add(id(second.document))
            yield self._claimed(first, second, files, is_shared=shared is not None)

    def _contested(self, second: Applier, first: Applier) -> Diagnostic:
        """Return what to say of an output that both tools apply: trainc.yaml says for which one it is made."""
        folder, (mine, other) = self.around.prefixed(first.path), (TOOLS[a.tool] for a in (first, second))
        message = f"{folder} is applied by {other} here and by {mine} at {first.place}: in one cluster, each undoes what the other changes and makes again what the other deletes"
        hint = f"remove this {second.kind}: trainc.yaml says `delivery: {first.tool}`; or, if {other} is to apply it, write `delivery: {second.tool}` and remove the other without pruning"
        at = (*second.above, *second.source, "path")
        return second.document.diagnose(Finding(CODE, "warning", message, hint, at))

    def _claimed(self, first: Applier, second: Applier, files: Sequence[str], *, is_shared: bool) -> Diagnostic:
        """Return what to say of files that two documents apply to one cluster, or of jobs of the same name there."""
        if not is_shared:
            message = f"{first.name} ({first.place}) has {counted(len(files), 'job')} of the same name in this cluster: {first_of(files, 3)}; each tool undoes what the other applies"
            hint = "name another cluster, or select the jobs of each environment in trainc.yaml"
            at: tuple[str | int, ...] = (*second.above, "destination" if second.tool == "argocd" else "path")
        else:
            message = f"{first.name} ({first.place}) applies {'the same folder' if len(files) == len(second.files) else first_of(files, 3)} to the same cluster: both claim these {counted(len(files), 'file')}, and what one deletes the other makes again"
            free = [o for o in self.outputs.values() if o.tool == second.tool and o.folder not in self._used]
            hint = f"remove one of the two {second.kind}s"
            if len(free) == 1:
                hint = f"write `path: {self.around.prefixed(free[0].folder)}`, which nothing here applies"
            at = (*second.above, *second.source, "path")
        return second.document.diagnose(Finding(CODE, "warning", message, hint, at))

    def _since(self) -> Iterator[Diagnostic]:
        """Yield what becomes of the jobs of a document that the base has with another name or cluster, or that is gone."""
        before = self._before
        known, applied = {identity(a): a for a in self.all}, {file for a in self.ours for file in a.files}
        alike = dict[object, dict[object, Applier]]()
        for one in self.ours:
            alike.setdefault((one.tool, *(output.folder for output in one.outputs)), {}).setdefault(identity(one), one)
        for old in (
            applier for applier in before if applier.files and applier.document.data["kind"] != "ApplicationSet"
        ):
            jobs, tool = counted(len(old.files), "file"), TOOLS[old.tool]
            same = alike.get((old.tool, *(output.folder for output in old.outputs)), {})
            now = same.get(identity(old))
            only = next(iter(same.values())) if len(same) == 1 else None
            if now and now.cluster() and now.cluster() != old.cluster():
                at = (*now.above, "destination" if now.tool == "argocd" else "kubeConfig")
                message = f"another cluster gets the {jobs} of {self.around.prefixed(now.path)}: in the one of before, their jobs go on"
                yield now.document.diagnose(Finding(CODE, "warning", message, "end them there, or change it back", at))
            elif not now and only and only.document.file == old.document.file:
                ends = (
                    old.get("prune") is True
                    if old.tool == "flux"
                    else bool(documents.items(value_at(old.document.data, ("metadata", "finalizers"))))
                )
                fate = (
                    "deleting the old one deletes all its jobs, which then start again"
                    if ends
                    else "the old one goes on until it is deleted, and both claim the same files"
                )
                message = f"this was {old.name}: {tool} takes it for a new {old.kind}; {fate}"
                yield only.document.diagnose(
                    Finding(CODE, "warning", message, f"write `name: {old.name}` again", ("metadata", "name"))
                )
            elif identity(old) not in known and applied.isdisjoint(old.files):
                for output in old.outputs:
                    yield self._left(old, output)
            elif applied.isdisjoint(old.files) and not known[identity(old)].files:
                yield self._astray(old, known[identity(old)])

    def _astray(self, old: Applier, now: Applier) -> Diagnostic:
        """Return what to say of a document that applied outputs at the base, and names another folder now."""
        folder, there = (self.around.prefixed(applier.path) for applier in (old, now))
        is_there = os.path.lexists(os.path.join(self.home, now.path))
        prunes = old.get("prune") if old.tool == "flux" else old.get("syncPolicy", "automated", "prune")
        what = f"{there} is not an output" if is_there else f"there is no {there}"
        fate = "its jobs are deleted" if is_there and prunes is True else "no change reaches its jobs, which go on"
        message = f"{what}, and nothing here applies {folder} now, which this {now.kind} did: {fate}"
        hint = suggest(there, [folder], f"write `path: {folder}`")
        return now.document.diagnose(Finding(CODE, "warning", message, hint, (*now.above, *now.source, "path")))

    def _left(self, old: Applier, output: Output) -> Diagnostic:
        """Return what to say of an output that a document of the base applied, and none does now."""
        file = os.path.join(self.home, opening.CONFIGURATION_FILE)
        settings = files.read_paths([file], Limits(), everything=True)[0]
        prunes = old.tool == "flux" and old.get("prune") is True
        fate = (
            "; what deletes the Kustomization deletes its jobs"
            if prunes
            else ": no change reaches its jobs, which go on"
        )
        message = f"nothing here makes {TOOLS[old.tool]} apply {self.around.prefixed(output.folder)} now ({old.place} did){fate}"
        hint = f"restore {old.document.file}, or end the jobs and remove the environment"
        at = ("environments", output.environment, "output") if output.environment else ("output",)
        finding = Finding(CODE, "warning", message, hint, at)
        return (
            settings[0].diagnose(finding, opening.CONFIGURATION_FILE)
            if settings
            else Diagnostic(CODE, "warning", message, hint)
        )

    def _names(self) -> Iterator[Diagnostic]:
        """Yield documents of one name in one folder, and what is wrong with the kustomization beside them."""
        ours = list({id(applier.document): applier for applier in self.ours}.values())
        if len(ours) > 1:
            ours.sort(key=lambda applier: applier.document.file in self.around.changed)
        seen = dict[object, Applier]()
        for applier in ours:
            other = seen.setdefault((identity(applier), os.path.dirname(applier.document.file)), applier)
            if other is not applier:
                source = other.document.locate(("metadata", "name"))
                message = f"{other.document.file}:{source.line if source else 1} is the {applier.kind} of this name: one replaces the other"
                yield applier.document.diagnose(
                    Finding(CODE, "warning", message, "give it another name", ("metadata", "name"))
                )
        yield from self._listed(ours)

    @staticmethod
    def _listed(ours: Sequence[Applier]) -> Iterator[Diagnostic]:
        """Yield what the kustomization of a folder lists that is not there, and what it does not list."""
        by_folder = dict[str, list[str]]()
        for applier in ours:
            folder, file = os.path.split(applier.document.file)
            by_folder.setdefault(folder, []).append(file)
        for folder, names in by_folder.items():
            names.sort()
            lists = [file for name in ownership.KUSTOMIZATIONS if os.path.isfile(file := os.path.join(folder, name))]
            for document in files.read_paths(lists, Limits(), everything=True)[0]:
                listed = [str(entry) for entry in documents.items(document.data.get("resources"))]
                plain = {os.path.normpath(entry) for entry in listed}
                for i, entry in enumerate(listed):
                    if "://" not in entry and not os.path.lexists(os.path.join(folder, entry)):
                        message = f"there is no {entry} in {folder or '.'}: kustomize builds nothing of this folder"
                        hint = did_you_mean(entry, set(names) - plain, most=1) or "remove it"
                        yield document.diagnose(Finding(CODE, "warning", message, hint, ("resources", i)))
                is_near = any(not os.path.lexists(os.path.join(folder, entry)) for entry in listed)
                for name in names if plain and os.curdir not in plain and not is_near else ():
                    if name not in plain:
                        message = f"{name} is not in this list, so what it applies reaches no cluster from here"
                        yield document.diagnose(Finding(CODE, "warning", message, f"add {name}", ("resources",)))

    def _empty_generators(self) -> Iterator[Diagnostic]:
        for document in self.documents if self.outputs else ():
            for i, generator in enumerate(objects(value_at(document.data, ("spec", "generators")))):
                for j, glob in enumerate(objects(mapping(generator.get("git")).get("directories"))):
                    path = str(glob.get("path"))
                    if "{{" in path or glob.get("exclude") is True or self._folders.matching(path) != []:
                        continue
                    ours = [self.around.prefixed(folder) for folder in self.outputs]
                    candidates = {*ours, *(os.path.join(os.path.dirname(o), "*") for o in ours)}
                    if near := did_you_mean(path.removeprefix("./"), candidates, 0.75, 1):
                        at = ("spec", "generators", i, "git", "directories", j, "path")
                        message = (
                            f"no folder matches {path}: this generates no Application, and those of before are deleted"
                        )
                        yield document.diagnose(Finding(CODE, "warning", message, near, at))


def _first_taken(
    taken: Mapping[object, Applier], keys: Iterable[tuple[object, str]]
) -> tuple[Applier, list[str]] | None:
    """Return who took the first of the files that are taken, and those files, by name."""
    found = [(taken[key], file) for key, file in keys if key in taken]
    return (found[0][0], sorted(file for _, file in found)) if found else None


def findings(runs: Sequence[compiling.Run], base: Callable[[], str | None]) -> list[Diagnostic]:
    """Return what is not applied as it is rendered; `base` finds the commit to compare with."""
    guard, found = Finding.Guard("what Argo CD and Flux apply", "the comparison", ()), list[Diagnostic]()
    with guard(""):
        delivery = Delivery(runs, base)
        found += delivery.of_nobody()
        found += delivery.findings()
    return [*found, *guard.diagnostics]
