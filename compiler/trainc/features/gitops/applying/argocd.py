"""What an Application makes of the rendered files, if it is not what was rendered.

Sources: argoproj/argo-cd reposerver/repository/repository.go (getPotentiallyValidManifestFile), controller/sync.go and
pkg/apis/application/v1alpha1/app_project_types.go, v3.5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.api.findings import Severity, counted, did_you_mean, first_of, suggest
from trainc.api.kube import documents, mapping, names, objects, value_at
from trainc.features.gitops.applying.documents import Applier, Around, Reported, matches, url_of

_OPTIONS = (
    "ApplyOutOfSyncOnly=true ClientSideApplyMigration=false ClientSideApplyMigration=true CreateNamespace=true CreateNamespace=false "
    "Delete=false Delete=confirm FailOnSharedResource=true Prune=false Prune=confirm PruneLast=true PrunePropagationPolicy=background "
    "PrunePropagationPolicy=foreground PrunePropagationPolicy=orphan Replace=true RespectIgnoreDifferences=true ServerSideApply=true "
    "SkipDryRunOnMissingResource=true Validate=false"
).split()

# Of a project, of each kind; each Application is compared with all.
_MOST_RULES = 100

# Annotations that Argo CD reads from any object, and options that only objects have (docs/user-guide/annotations-and-labels.md,
# common/common.go, gitops-engine/pkg/sync/common/types.go).
# Those of an Application resemble none of them.
_DOMAIN, _SYNC = "argocd.argoproj.io/", "argocd.argoproj.io/sync-options"
_ANNOTATIONS = [
    _DOMAIN + name
    for name in "sync-options compare-options sync-wave hook hook-delete-policy ignore-healthcheck ignore-resource-updates "
    "ignore-default-links".split()
]
_OF_OBJECTS = [*_OPTIONS, "Force=true", "Delete=true", "Prune=true", "ServerSideApply=false", "Replace=false"]


def misspelt_annotations(annotations: Mapping[str, Any]) -> Iterator[Reported]:
    """Yield what is almost an annotation of Argo CD, or has almost one of its options: it reads neither."""
    names_of_options = {option.partition("=")[0] for option in _OF_OBJECTS}
    for key, value in annotations.items():
        at = ("metadata", "annotations", key)
        near = did_you_mean(key, _ANNOTATIONS, 0.9) if key.startswith(_DOMAIN) and key not in _ANNOTATIONS else ""
        if near:
            yield "warning", f"Argo CD does not read the annotation {key}", near, at
        for option in map(str.strip, str(value).split(",") if key == _SYNC else ()):
            near = "" if option.partition("=")[0] in names_of_options else did_you_mean(option, _OF_OBJECTS, 0.75)
            if near:
                yield "warning", f"Argo CD has no sync option {option}: it does nothing", near, at


def of_application(applier: Applier, around: Around) -> Iterator[Reported]:
    """Yield what an Application leaves out, does not delete, or is refused."""
    at = applier.source
    source = mapping(applier.get(*at))
    outputs = applier.outputs
    automated = (
        mapping(applier.get("syncPolicy", "automated")) if applier.get("syncPolicy", "automated") is not None else None
    )
    prunes = automated is not None and automated.get("prune") is True
    if source.get("plugin") is None:
        yield from _left_out(applier, source, prunes)
    hashed = any(output.hashed for output in outputs)
    stays = (
        "a changed job is a new JobSet (`nameHash`), and the former one goes on and keeps its GPUs"
        if hashed
        else "a job that leaves git goes on"
    )
    severity: Severity = "warning" if hashed else "info"
    where = ("syncPolicy", "automated", "prune")
    if automated is not None and automated.get("enabled") is not False and not prunes:
        yield severity, f"Argo CD deletes nothing: {stays}", "write `prune: true` below `automated`", where
    yield from _sync_options(applier, stays, severity)
    url = str(source.get("repoURL") or "")
    if near := around.near_repository(url):
        yield "warning", f"this is not the repository here, {around.origin}", suggest(url, [near]), (*at, "repoURL")
    branch = str(source.get("targetRevision") or "HEAD")
    if near := around.near_branch(branch):
        yield (
            "warning",
            f"there is no branch {branch} here: Argo CD applies nothing",
            suggest(branch, [near]),
            (*at, "targetRevision"),
        )
    destination = mapping(applier.get("destination"))
    if bool(destination.get("server")) == bool(destination.get("name")):
        problem = "server and name of one cluster" if destination.get("server") else "no cluster"
        yield (
            "warning",
            f"this names {problem}, which Argo CD refuses",
            "write `server` or `name`",
            ("destination",),
        )
    yield from _project(applier, around)
    for i, ignored in enumerate(objects(applier.get("ignoreDifferences"))) if not hashed else ():
        if ignored.get("kind") in ("JobSet", "*") and ignored.get("group") in ("jobset.x-k8s.io", "*"):
            for j, pointer in enumerate(documents.items(ignored.get("jsonPointers"))):
                if pointer in ("/spec", "/spec/replicatedJobs"):
                    message = f"Argo CD sees no change below {pointer}, so a job that changes in git is not applied"
                    hint = "name the fields that others set, such as /spec/suspend"
                    yield "warning", message, hint, ("ignoreDifferences", i, "jsonPointers", j)


def _project(applier: Applier, around: Around) -> Iterator[Reported]:
    """Yield what the project of an Application, if it is in the repository, refuses."""
    name = str(applier.get("project") or "default")
    found = around.named("AppProject", name)
    is_unknown = not found and name != "default" and "{{" not in name
    if near := around.near_name("AppProject", name) if is_unknown else "":
        yield "warning", f"there is no project {name} here: Argo CD applies nothing", near, ("project",)
    if len(found) != 1:
        return
    project, source = found[0], found[0].locate(("metadata", "name"))
    spec, shown = mapping(project.data.get("spec")), f"project {name} ({project.file}:{source.line if source else 1})"
    rules_of = "destinations", "sourceRepos", "namespaceResourceWhitelist", "namespaceResourceBlacklist"
    if any(len(documents.items(spec.get(key))) > _MOST_RULES for key in rules_of):
        return
    # Who changes the Application alone has named a project that is not for it.
    is_named = applier.document.file in around.changed and project.file not in around.changed

    def at(*keys: str) -> tuple[Any, ...]:
        return ("project",) if is_named else (project, "spec", *keys)

    destination = mapping(applier.get("destination"))
    server, cluster = str(destination.get("server") or ""), str(destination.get("name") or "")
    spaces = sorted({file.partition("/")[0] for _, file in applier.files.values() if "/" in file})
    if refused := [n for n in spaces if not _permits(objects(spec.get("destinations")), server, cluster, n)]:
        which = f"namespace {refused[0]}" if len(refused) == 1 else f"namespaces {first_of(refused)}"
        message = f"{shown} does not allow {which} in {server or cluster}: Argo CD refuses the sync"
        yield "warning", message, "add it under `destinations`, or name another project", at("destinations")
    url = str(value_at(applier.spec, (*applier.source, "repoURL")) or "")
    rules = [str(rule) for rule in documents.items(spec.get("sourceRepos"))]
    verdicts = [matches(url_of(rule.removeprefix("!")), url_of(url), "/") for rule in rules if rule != "*"]
    allowed = any(
        rule == "*" or (v and rule[0] != "!") for rule, v in zip(rules, _padded(rules, verdicts), strict=True)
    )
    if url and None not in verdicts and not allowed:
        message = f"{shown} does not allow {url}: Argo CD applies nothing"
        yield "warning", message, "add it under `sourceRepos`, or name another project", at("sourceRepos")
    kinds = {pair for output in applier.outputs for pair in output.kinds}
    white, black = objects(spec.get("namespaceResourceWhitelist")), objects(spec.get("namespaceResourceBlacklist"))
    for group, kind in sorted(kinds):
        listed = [any(_is_kind(entry, group, kind) for entry in entries) for entries in (white, black)]
        if (white and not listed[0]) or listed[1]:
            key = "namespaceResourceBlacklist" if listed[1] else "namespaceResourceWhitelist"
            message = (
                f"{shown} does not allow {kind} of {group or 'the core group'} (`{key}`): Argo CD refuses the sync"
            )
            yield "warning", message, "allow it, or name another project", at(key)


def _left_out(applier: Applier, source: Mapping[str, Any], prunes: bool) -> Iterator[Reported]:
    """Yield what makes Argo CD overlook files: another type of source, subfolders, and globs."""
    at, files = applier.source, applier.files
    for kind, needed in (("kustomize", "kustomization.yaml"), ("helm", "Chart.yaml")):
        if source.get(kind):
            message = f"`{kind}` needs a {needed}, which no output has: Argo CD applies nothing"
            yield "warning", message, "remove it", (*at, kind)
            return
    directory = mapping(source.get("directory"))
    included, excluded = (str(directory.get(key) or "") for key in ("include", "exclude"))
    deep = [file for file in files if "/" in file] if directory.get("recurse") is not True else []
    why = {
        "recurse": (
            deep,
            "without `recurse: true` Argo CD reads no subfolder",
            "write `directory: {recurse: true}` below the source" if not directory else "write `recurse: true`",
        ),
        "include": (
            [f for f in files if included and matches(included, f) is False],
            f"Argo CD reads only what {included} matches",
            'remove `include`, or write a glob that all have, such as "*.yaml"',
        ),
        "exclude": (
            [f for f in files if excluded and matches(excluded, f)],
            f"Argo CD does not read what {excluded} matches",
            "remove it",
        ),
    }
    may_be_empty = value_at(applier.spec, ("syncPolicy", "automated", "allowEmpty")) is True
    for key, (left, reason, hint) in why.items():
        if left and len(left) == len(files):
            fate = (
                ""
                if not prunes
                else ", and deletes all jobs (`allowEmpty`)"
                if may_be_empty
                else "; the jobs that run go on, and no change reaches them"
            )
            yield (
                "warning",
                f"{reason}: it applies none of {counted(len(files), 'file')}{fate}",
                hint,
                (*at, "directory", key),
            )
        elif left:
            fate = ", and deletes what they had" if prunes else ""
            message = f"{reason}: it leaves out {len(left)} of {len(files)} files{fate}: {first_of(sorted(left), 3)}"
            yield "warning", message, hint, (*at, "directory", key)


def _sync_options(applier: Applier, stays: str, severity: Severity) -> Iterator[Reported]:
    files = applier.files
    for i, option in enumerate(map(str, documents.items(applier.get("syncPolicy", "syncOptions")))):
        at = ("syncPolicy", "syncOptions", i)
        name = option.partition("=")[0]
        if option == "Force=true":
            message = "only objects have the option Force=true: it does nothing here"
            yield (
                "warning",
                message,
                "write `syncOptions` in trainc.yaml, if changed jobs may be deleted and started again",
                at,
            )
        elif (
            option not in _OPTIONS
            and not any(known.startswith(f"{name}=") for known in _OPTIONS)
            and (near := did_you_mean(option, _OPTIONS, 0.8, 1))
        ):
            yield "warning", f"Argo CD has no sync option {option}: it does nothing", near, at
        elif option in ("Prune=false", "Prune=confirm"):
            yield severity, f"with {option} Argo CD deletes nothing unattended: {stays}", "remove it", at
        elif option == "PrunePropagationPolicy=orphan":
            message = "of a JobSet that Argo CD deletes, the Jobs and pods go on and keep their GPUs"
            yield "warning", message, "remove it: the default, foreground, deletes them", at
        elif option == "PruneLast=true" and any(output.hashed for output, _ in files.values()):
            message = (
                "the former JobSet of a changed job is deleted only once all is healthy: until then both need GPUs"
            )
            yield "warning", message, "remove it", at
        elif option == "Replace=true" and _queued(applier):
            message = "Replace=true wins over the ServerSideApply=true of queued jobs: each sync takes away what Kueue has set in an admitted job, and is refused"
            yield "warning", message, "remove it", at
        elif option == "CreateNamespace=true" and not applier.get("destination", "namespace"):
            yield "info", "CreateNamespace=true creates `destination.namespace`, and there is none", "remove it", at


def _queued(applier: Applier) -> bool:
    return any(f"{names.QUEUE_LABEL}:" in text for output in applier.outputs for _, text in output.texts)


def _padded(rules: Sequence[str], verdicts: Sequence[bool | None]) -> list[bool | None]:
    left = iter(verdicts)
    return [True if rule == "*" else next(left) for rule in rules]


def _permits(rules: Iterable[Mapping[str, Any]], server: str, cluster: str, namespace: str) -> bool:
    """Return whether a project may allow a namespace of a cluster; by its name or its address, the other is not known."""
    permitted = False
    for rule in rules:
        about, mine = (str(rule.get("server") or ""), server) if server else (str(rule.get("name") or ""), cluster)
        spaces = str(rule.get("namespace") or "")
        if about.startswith("!") or spaces.startswith("!") or not about:
            return True  # Denials, and what tells the cluster by its other name.
        in_cluster, in_space = matches(about, mine), matches(spaces, namespace)
        permitted |= in_cluster is not False and in_space is not False
    return permitted


def _is_kind(entry: Mapping[str, Any], group: str, kind: str) -> bool:
    return matches(str(entry.get("group", "")), group) is True and matches(str(entry.get("kind", "")), kind) is True
