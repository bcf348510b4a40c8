"""Who may what, as trainc.yaml says: runtimes, namespaces and images of a team's folder; and what a change of it loosens."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.findings import Diagnostic, Finding, Hint, Path, Severity, Source
from trainc.findings.codes import codes
from trainc.findings.policy import Level, Rule, matches
from trainc.findings.text import did_you_mean, first_of
from trainc.kube.bounds import decimal
from trainc.kube.documents import identity_of, value_at
from trainc.kube.jobset import JobSet
from trainc.kube.names import JOB_KINDS, RUNTIME_KINDS, full_name, is_in_registry, reference_problem
from trainc.project.budgets import Budget
from trainc.project.configuration import Configuration, Images
from trainc.project.dialects import is_trainer_document
from trainc.reading.document import Document, label_of
from trainc.reading.opening import is_below
from trainc.startup.records import replace

# Where a pod names images: of its containers, and of volumes that are mounted from one.
_IMAGES: Sequence[tuple[str, Path]] = (
    ("initContainers", ("image",)),
    ("containers", ("image",)),
    ("volumes", ("image", "reference")),
)

Place: TypeAlias = Callable[[str], "Source | None"]


def check_boundaries(  # noqa: PLR0913 - the last one goes by its name
    documents: Sequence[Document],
    runtimes: Sequence[Document],
    configuration: Configuration,
    at_base: Mapping[str, tuple[str, ...]],
    namespace: str = "",
    *,
    place: Place = lambda _: None,
) -> list[Diagnostic]:
    """Report documents in a namespace that is not their folder's, and runtimes that take the place of the platform's.

    JobSets count as jobs, and `runtimes` are those of the folders that trainc.yaml names. What `at_base`, the namespaces before a change under review,
    did not allow, it does not allow either. `namespace` is that of documents which set none, and `place` says where
    trainc.yaml has a glob of `namespaces`.
    """
    trainer_documents = [document for document in documents if is_trainer_document(document.data)]
    found: list[Diagnostic] = []
    for document in (
        *trainer_documents,
        *(document for document in documents if document.data.get("kind") == "JobSet"),
    ):
        refused = [
            _foreign_namespace(document, configuration, of, namespace, place)
            for of in (configuration.namespaces, at_base)
            if of
        ]
        if len(refused) > 1 and refused[0] is None and refused[1] is not None:
            hint = (
                f"so says trainc.yaml of the base; what this change allows counts once it is merged: {refused[1].hint}"
            )
            refused = [replace(refused[1], hint=hint)]
        found += list(filter(None, refused))[:1]
    return [*found, *_replaced_runtimes(trainer_documents, runtimes)]


def _replaced_runtimes(trainer_documents: Sequence[Document], runtimes: Sequence[Document]) -> Iterator[Diagnostic]:
    by_key = {_key(document): document for document in runtimes if document.data.get("kind") in RUNTIME_KINDS}
    for document in trainer_documents if by_key else ():
        shared = by_key.get(_key(document))
        if shared is not None and os.path.realpath(shared.file) != os.path.realpath(document.file):
            is_same = shared.data.get("spec") == document.data.get("spec")
            message = f"this runtime would take the place of that in {shared.file}, for the jobs of everybody"
            hint = "rename it; `runtimes` in trainc.yaml names the folders of the runtimes that all jobs share"
            if is_same:
                message, hint = (
                    f"this is a copy of the runtime in {shared.file}: no change there will reach it",
                    "remove it",
                )
            severity: Severity = "warning" if is_same else "error"
            yield document.diagnose(Finding("RuntimeReplaced", severity, message, hint, ("metadata", "name")))


def _key(document: Document) -> tuple[Any, ...]:
    kind, (namespace, name) = document.data.get("kind"), identity_of(document.data)
    return kind, "" if kind == "ClusterTrainingRuntime" else namespace, name


def _foreign_namespace(
    document: Document,
    configuration: Configuration,
    namespaces: Mapping[str, Sequence[str]],
    default: str,
    place: Place,
) -> Diagnostic | None:
    if document.data.get("kind") not in (*JOB_KINDS, "TrainingRuntime", "JobSet"):
        return None
    original = document
    while original.before is not None:
        original = original.before
    namespace = identity_of(original.data)[0] or identity_of(document.data)[0] or default
    inside = os.path.relpath(document.file, os.path.dirname(configuration.file or "") or os.curdir).replace(os.sep, "/")
    globs = [glob for glob in namespaces if matches(inside, glob)]
    allowed = namespaces[globs[-1]] if globs else None
    if any(matches(namespace, name) for name in allowed or () if namespace):
        return _moved(document, inside, namespaces, globs[-1])
    if allowed is None and not namespace:
        return None
    where = f"in namespace {namespace}" if namespace else "without a namespace, which the cluster would choose"
    message = f"{inside} may not have jobs {where}, only in {' or '.join(allowed or ())}"
    hint = did_you_mean(namespace, allowed or ())
    hint = hint or "use a namespace of this folder, move the file, or change `namespaces` in trainc.yaml"
    if allowed == ():
        message = f"{inside} may not have jobs: `namespaces` in trainc.yaml allows {globs[-1]} none"
        others = [glob for glob, names in namespaces.items() if any(matches(namespace, name) for name in names)]
        where = f" to a folder that may have jobs in {namespace}, {first_of(others, 2)}" if others else ""
        hint = f"move the file{where}, or give its folder a glob of its own"
    if allowed is None:
        message = f"{inside} may not have jobs {where}: no glob of `namespaces` in trainc.yaml is about this file"
        hint = f'add its folder to trainc.yaml, as in `namespaces: {{"{os.path.dirname(inside)}/**": [{namespace}]}}`, or move the file'
    if earlier := [glob for glob in globs[:-1] if any(matches(namespace, name) for name in namespaces[glob])]:
        hint = f"the last glob that matches counts: write {globs[-1]} before {earlier[-1]} in trainc.yaml"
    if globs and (rule := place(globs[-1])) is not None:
        hint = rule.refusing(hint)
    finding = Finding("ForeignNamespace", "error", message, hint, ("metadata", "namespace"))
    return original.diagnose(finding, label_of(document.data))


def _moved(document: Document, inside: str, namespaces: Mapping[str, Sequence[str]], glob: str) -> Diagnostic | None:
    """Say that an overlay puts a job into a namespace of other folders; into one that no folder has, it may put all."""
    namespace = identity_of(document.data)[0]
    owners = [other for other, names in namespaces.items() if namespace in names]
    if not owners or any(matches(namespace, name) for name in namespaces[glob]):
        return None
    folder = os.path.dirname(inside)
    message = f"this puts jobs of {folder} into namespace {namespace}, which belongs to {first_of(owners, 2)}"
    hint = Hint(f"remove it, or let trainc.yaml allow {glob} this namespace", trait="moved")
    return document.diagnose(Finding("ForeignNamespace", "error", message, hint, ("metadata", "namespace")))


def check_images(
    manifests: Iterable[Mapping[str, Any]], images: Images, place: Place = lambda _: None
) -> Iterator[tuple[str, Finding]]:
    """Yield, with the label of its object, each image that is not pinned or comes from another registry.

    `place` says where trainc.yaml has `pinned` and `registries`.
    """
    for manifest in manifests:
        if manifest["kind"] != "JobSet":
            continue
        for path, image in _images(manifest):
            if images.pinned and "@sha256:" not in image and ("@" not in image or reference_problem(image) is None):
                message = f"the image {image} is not pinned by its digest, as trainc.yaml requires"
                hint = Hint(f"write the digest, as in {image.partition('@')[0]}@sha256:<digest>", rule=place("pinned"))
                yield label_of(manifest), Finding("ImageNotPinned", "error", message, hint, path)
            name = full_name(image)
            if images.registries and not is_in_registry(name, *images.registries):
                message = f"the image {image} is from {name.partition('/')[0]}, which trainc.yaml does not allow"
                use = f"use an image from {' or '.join(images.registries)}"
                for registry in images.registries:
                    prefix = "/".join(name.split("/")[: registry.count("/") + 1])
                    if near := did_you_mean(prefix, [registry], 0.93):  # ghcr.io is not meant by gcr.io.
                        message, use = f"trainc.yaml does not allow images from {prefix}", near
                also = f"{'' if use.endswith('?') else ';'} to allow it, first merge it under `images.registries`"
                hint = Hint(use + also, rule=place("registries"))
                yield label_of(manifest), Finding("RegistryNotAllowed", "error", message, hint, path)


def _images(jobset: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for job in JobSet.read(jobset).jobs:
        for field, image_path in _IMAGES:
            for number, item in enumerate(job.pod_spec.get(field) or ()):
                if isinstance(image := value_at(item, image_path), str):
                    yield (*job.pod_path, field, number, *image_path), image


# What a change of trainc.yaml makes less strict, for reviewers: a pull request must not quietly switch off its
# checks.


def describe_loosening(before: Configuration, after: Configuration, of_nothing: Collection[str] = ()) -> Iterator[str]:
    """Yield a sentence for each setting that lets more pass after the change than before.

    Globs `of_nothing` match no file, so what is said of their files loosens nothing.
    """
    if before.file is None:
        return
    if after.file is None:
        yield "trainc.yaml is gone."
        return
    known = {*after.known_environments, *filter(None, after.known_environments.values())}
    gone = [name for name, output in before.known_environments.items() if known.isdisjoint({name, output})]
    if gone and after.known_environments:
        outputs = ", ".join(filter(None, (before.known_environments[name] for name in gone)))
        stays = f": what is in {outputs} stays, and its jobs run on" if outputs else ""
        yield f"`environments`: {', '.join(gone)} {'is' if len(gone) == 1 else 'are'} gone, and no longer compiled{stays}."
    yield from _looser_rules(before.rules, after.rules, of_nothing)
    globs = [glob for glob in dict.fromkeys(after.exclude.globs) if _is_about_input(glob, before, after)]
    globs = [glob for glob in globs if glob not in of_nothing]
    yield from _extra("exclude", before.exclude.globs, globs, "Files that match {} are no longer read")
    yield from _extra("policies", after.policies, before.policies, "Policies in {} are no longer evaluated")
    yield from _extra("frozen", after.frozen, before.frozen, "Jobs that match {} may be built again")
    plugins, left = (configuration.options.get("plugins", ()) for configuration in (before, after))
    yield from _extra("plugins", left, plugins, "What {} finds is no longer reported")
    yield from _extra(
        "adopted",
        {*before.adopted, *of_nothing},
        after.adopted,
        "Rendered files that match {} may be new without being compiled",
    )
    now = {glob: () if glob in of_nothing else names for glob, names in after.namespaces.items()}
    yield from _looser_namespaces(before.namespaces, now)
    yield from _looser_images(before.images, after.images)
    yield from _looser_budgets(before.budgets, after.budgets)
    if before.cluster and not after.cluster:
        yield f"`cluster` is gone: jobs are no longer checked against {before.cluster}."
    if after.rebuild != before.rebuild == "changed-jobs":
        yield "`rebuild` no longer keeps jobs as built, nor those that are `frozen`: each build compiles all jobs, and those that differ restart."
    if after.live and before.live is None:
        yield f"`live`: jobs that have finished by the dump {after.live[0]} drop out of what is checked."
    elif after.live and before.live and after.live[1] > before.live[1]:
        yield f"`live`: a dump counts for {after.live[1] / 3600:g} h; it was {before.live[1] / 3600:g} h."
    if before.output and before.output != after.output:
        yield f"`output` was {before.output}: what is in that folder is no longer checked."


def _is_about_input(glob: str, *configurations: Configuration) -> bool:
    """Return whether a glob may be about what is read: that of a dump is a path, mostly of another folder."""
    if not glob.startswith("/") or {*"*?"} & {*glob}:
        return True
    for of in configurations:
        home = os.path.dirname(of.file or "") or os.curdir
        path = os.path.realpath(os.path.join(home, glob[1:]))
        read = [*(of.sources or [home]), *(of.runtimes or ()), *(of.overlay or ())]
        if any(is_below(path, folder) or is_below(folder, path) for folder in map(os.path.realpath, read)):
            return True
    return False


def _extra(key: str, before: Collection[str], after: Collection[str], sentence: str) -> Iterator[str]:
    for value in after:
        if not any(value == other or matches(value, other) for other in before):
            yield f"`{key}`: {sentence.format(value)}."


def _looser_namespaces(before: Mapping[str, Collection[str]], after: Mapping[str, Collection[str]]) -> Iterator[str]:
    def allowed(of: Mapping[str, Collection[str]], glob: str) -> Collection[str]:
        """Return what files of a glob may use: by it, or by the last of those that are about them, too."""
        return of[glob] if glob in of else next((of[g] for g in reversed([*of]) if matches(glob, g)), ())

    for glob, names in before.items():
        if glob not in after and (not after or {*allowed(after, glob)} - {*names}):
            yield f"`namespaces`: {glob} is gone."
    for glob, names in after.items() if before else ():
        inside = [before[g] for g in before if glob not in before and matches(g, glob)]
        if more := [name for name in names if any(name not in was for was in (allowed(before, glob), *inside))]:
            yield f"`namespaces`: {glob} may use {', '.join(more)}."


def _looser_images(before: Images, after: Images) -> Iterator[str]:
    if before.pinned and not after.pinned:
        yield "`images` need no longer be pinned."
    if before.registries and not after.registries:
        yield "`images` may come from every registry."
    elif more := [new for new in after.registries if before.registries and not is_in_registry(new, *before.registries)]:
        yield f"`images` may come from {', '.join(more)}."


def _looser_budgets(before: Mapping[str, Budget], after: Mapping[str, Budget]) -> Iterator[str]:
    for glob, budget in before.items():
        if glob not in after:
            yield f"`budgets`: {glob} is gone."
        elif (hours := after[glob].gpu_hours) > budget.gpu_hours:
            yield f"`budgets`: {glob} may take {decimal(hours)} GPU-hours; it was {decimal(budget.gpu_hours)}."


def _looser_rules(before: Collection[Rule], after: Collection[Rule], of_nothing: Collection[str]) -> Iterator[str]:
    """Rules by which a code counts less than it did; of several for the same files, the last one wins."""
    for code, glob in dict.fromkeys((rule.code, rule.glob) for rule in (*after, *before)):
        old, new = (_RANKS[_level(rules, code, glob)] for rules in (before, after))
        if new > old and glob not in of_nothing:
            where = f" in {glob}" if glob else ""
            yield f"`rules`: {code} is {_WORDS[new]}{where}; it was {_WORDS[old] if code in codes() else 'what its plugin says'}."


def _level(rules: Collection[Rule], code: str, glob: str) -> Level | Severity:
    """The level of a code in files of a glob: that of the last rule for them, or for all files."""
    levels = [rule.level for rule in rules if rule.code == code and rule.glob in (glob, "")]
    return levels[-1] if levels else entry.severity if (entry := codes().get(code)) else "error"


# Severities include that of ignored findings.
_RANKS = {"error": 0, "warning": 1, "info": 2, "ignore": 3, "ignored": 3}
_WORDS = ("an error", "a warning", "an info", "ignored")
