"""What `trainc init` does."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping

from trainc import __version__
from trainc.api.arguments import Arguments, Status, Streams, UsageError, command
from trainc.api.command import report
from trainc.api.documents import opening
from trainc.api.findings import CompileError, Diagnostic
from trainc.api.git import git
from trainc.api.records import pattern, replace
from trainc.api.settings import Configuration, Limits, settings_file
from trainc.features import ask
from trainc.features.gitops.init import PARTS, REPOSITORY
from trainc.features.gitops.init.scaffold import (
    ATTRIBUTES,
    CODEOWNERS,
    EXAMPLES,
    HOOKS,
    README,
    RENDERED,
    REQUIREMENTS,
    SETTINGS,
    VENDORED,
    Delivered,
    Plan,
    Requirement,
    application,
    requirement_of,
    scaffold,
    shared_url,
    with_attributes,
    with_hooks,
    with_settings,
)

# What is neither of a shell, of YAML nor of GitHub's expressions, in the name of a folder.
_IN_SCRIPTS = pattern(r"(?!-)[\w .+@=/-]+")
_LEFT_ALONE = (README, REQUIREMENTS, CODEOWNERS)
_ADDED_TO = {ATTRIBUTES: with_attributes, HOOKS: with_hooks, SETTINGS: with_settings}


def run(arguments: Arguments, streams: Streams) -> Status:
    """Write the repository and compile it."""
    if os.path.isfile(arguments.folder):
        raise UsageError(f"{arguments.folder} is a file; use a folder (it is created if missing)")
    try:
        folder, plan = _plan(arguments)
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)
    requirement, texts = plan.requirement, _texts(arguments, plan)
    if arguments.print:
        streams.write(_format_files(texts))
        return Status.DONE
    merged, in_the_way = _merge_with_existing(folder, texts)
    builds = "trainc.yaml" in texts
    if builds and os.path.lexists(os.path.join(folder, RENDERED)):
        in_the_way.append(RENDERED)
    if in_the_way:
        hint = "move it away, choose another folder, or write single parts with --only PART (--print shows their files)"
        refused = [f"{os.path.normpath(os.path.join(folder, path))} already exists" for path in in_the_way]
        problems = [Diagnostic("FileInTheWay", "error", f"{reason}; nothing was written", hint) for reason in refused]
        return report(problems, arguments, streams)
    for path, text in merged.items():
        target = os.path.normpath(os.path.join(folder, path))
        os.makedirs(os.path.dirname(target) or os.curdir, exist_ok=True)
        opening.write_file(target, text, links=False)
    if requirement.wheel and REQUIREMENTS in merged:
        os.makedirs(os.path.join(folder, VENDORED), exist_ok=True)
        shutil.copyfile(requirement.wheel, os.path.join(folder, VENDORED, os.path.basename(requirement.wheel)))
    if builds and (status := _build(folder, arguments, streams)) is not Status.DONE:
        return status
    streams.err.write(_next_steps(folder, merged, requirement, arguments))
    return Status.DONE


def _plan(arguments: Arguments) -> tuple[str, Plan]:
    """The folder of trainc.yaml, and what the files depend on. Raises CompileError if trainc.yaml is invalid."""
    for name in ("repository", "requirement", "index_url"):
        value = getattr(arguments, name)
        if value is not None and not value.isprintable():
            raise UsageError(f"argument --{name.replace('_', '-')}: {value!r} must contain printable characters only")
    if arguments.application_set and arguments.gitops != "argocd":
        raise UsageError("--application-set is for Argo CD; Flux has a Kustomization for each environment")
    folder = arguments.folder
    configuration = Configuration()
    if arguments.only and "jobs" not in arguments.only:
        configuration = settings_file.read_configuration([_existing(folder)], None)
        if configuration.file is not None:
            folder = os.path.dirname(configuration.file) or os.curdir
        elif not arguments.print and (below := settings_file.settings_below(folder)):
            where = os.path.normpath(os.path.join(folder, below[0]))
            raise UsageError(f"trainc.yaml is in {where}: run `trainc init {where} --only {arguments.only[0]}`")
    # Without a repository, which may not exist yet, the folder itself.
    root = opening.repository_above(_existing(folder)) or os.path.realpath(folder)
    inside = os.path.relpath(os.path.realpath(folder), root).replace(os.sep, "/")
    inside = "" if inside == os.curdir else inside
    environments = configuration.environments.values() or [configuration]
    extras = ["policy"] if any(environment.policies for environment in environments) else []
    requirement = _requirement(arguments, folder).with_extras(extras)
    if arguments.repository == REPOSITORY and (origin := git.origin_of(root)) is not None:
        arguments.repository = shared_url(origin[0])
    delivered = _delivered(arguments, configuration, root, inside)
    if (inside and not _IN_SCRIPTS.fullmatch(inside)) or not all(output.path.isprintable() for output in delivered):
        hint = "rename it, with letters, digits, spaces and  . _ - + @ = /  only"
        wrong = next((output.path for output in delivered if not output.path.isprintable()), inside)
        raise UsageError(f"scripts and workflows do not take the folder {wrong!r} as one word: {hint}")
    applications = {application(output): output.environment for output in delivered}
    if "gitops" in (arguments.only or PARTS) and len(applications) < len(delivered):
        one = next(output for output in delivered if applications[application(output)] != output.environment)
        other = applications[application(one)]
        raise UsageError(
            f"environments {one.environment!r} and {other!r} would both be {application(one)!r} in the cluster: rename one"
        )
    gitops, repository, index_url = arguments.gitops, arguments.repository, arguments.index_url
    application_set = arguments.application_set
    return folder, Plan(gitops, repository, __version__, requirement, inside, delivered, index_url, application_set)


def _existing(folder: str) -> str:
    existing = os.path.realpath(folder)
    while not os.path.isdir(existing):
        existing = os.path.dirname(existing)
    return existing


def _delivered(arguments: Arguments, configuration: Configuration, root: str, inside: str) -> list[Delivered]:
    """The outputs of trainc.yaml, or of the examples that are about to be written, with their clusters."""
    clusters = {}
    for pair in arguments.cluster or ():
        name, equals, url = pair.partition("=")
        if not equals or not url.startswith("https://") or not url.isprintable() or " " in url:
            raise UsageError(f"argument --cluster: {pair!r} does not have the form ENV=https://...")
        clusters[name] = url
    delivered = [replace(output, path="/".join(filter(None, (inside, output.path)))) for output in EXAMPLES]
    if configuration.file is not None:
        environments = configuration.environments or {"": configuration}
        outputs = {name: os.path.realpath(env.output) for name, env in environments.items() if env.output}
        relative = {name: os.path.relpath(path, root).replace(os.sep, "/") for name, path in outputs.items()}
        dumps = {n: os.path.relpath(env.live[0], root) for n, env in environments.items() if env.live}
        usual = {name: os.path.join(inside, "live", name) for name in dumps}
        others = {n: path for n, path in dumps.items() if path != usual[n] and _IN_SCRIPTS.fullmatch(path)}
        delivered = [Delivered(name, path, dump=others.get(name, "")) for name, path in relative.items()]
        if not delivered and "gitops" in (arguments.only or ()):
            raise UsageError("trainc.yaml has no `output`, so there is nothing to apply")
    environment_names = [output.environment for output in delivered]
    for name in clusters:
        if name not in environment_names:
            message = f"there is no environment {name!r} with an output"
            raise UsageError(f"argument --cluster: {message}; known: {', '.join(environment_names)}")
    return [replace(output, server=clusters.get(output.environment, output.server)) for output in delivered]


def _requirement(arguments: Arguments, folder: str) -> Requirement:
    """What pip installs: as asked for, as the repository has it already, or where this trainc came from."""
    if arguments.requirement:
        return Requirement(arguments.requirement)
    try:
        lines = opening.read_file(os.path.join(folder, REQUIREMENTS), Limits().file_bytes).decode().splitlines()
    except (OSError, ValueError):
        return _own_requirement()
    entries = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("#", "-"))]
    return Requirement(entries[0]) if len(entries) == 1 and entries[0].startswith("trainc") else _own_requirement()


def _own_requirement() -> Requirement:
    """The requirement that this trainc was installed from, as recorded by the installer."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        recorded = distribution("trainc").read_text("direct_url.json")
    except PackageNotFoundError:
        folder = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4))
        return requirement_of({"url": f"file://{folder}", "dir_info": {}}, __version__)
    return requirement_of(json.loads(recorded) if recorded else None, __version__)


def _texts(arguments: Arguments, plan: Plan) -> dict[str, str]:
    usual = [part for part in PARTS if part not in ("kustomize", "dump")]
    parts = [*(arguments.only or usual), *(["kustomize"] if arguments.kustomize else [])]
    if "kustomize" in parts and ask("krm", "kustomize config") is None:
        raise UsageError("this installation of trainc does not run inside kustomize, so it has no files for that")
    texts = scaffold(parts, plan)
    return {**texts, **_schemas()} if "editor" in parts else texts


def _schemas() -> dict[str, str]:
    """The schemas that the editor's settings refer to."""
    from trainc.api.editing import OWN_KINDS, schema_of
    from trainc.api.kube import releases

    schemas = {"trainc": schema_of("", releases.NEWEST_RELEASE)}
    schemas |= {name.lower(): schema_of(name, releases.NEWEST_RELEASE) for name in OWN_KINDS}
    return {f".vscode/{name}.schema.json": json.dumps(schema) + "\n" for name, schema in schemas.items()}


def _format_files(texts: Mapping[str, str]) -> str:
    """A single file unchanged; several with headings, as head and tail print them."""
    files = {path: text for path, text in texts.items() if len(texts) == 1 or path != REQUIREMENTS} or texts
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(f"==> {path} <==\n{text}" for path, text in sorted(files.items()))


def _merge_with_existing(folder: str, texts: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The files to write, including additions to existing ones, and the files that conflict."""
    merged: dict[str, str] = {}
    in_the_way: list[str] = []
    for path, text in texts.items():
        target = os.path.normpath(os.path.join(folder, path))
        if _is_behind_link(folder, path):
            in_the_way.append(path)
        elif not os.path.lexists(target):
            merged[path] = text
        elif not path.endswith(_LEFT_ALONE):
            combined = _add_to_existing(target, path, text)
            if combined is None:
                in_the_way.append(path)
            else:
                merged[path] = combined
    return merged, in_the_way


def _is_behind_link(folder: str, path: str) -> bool:
    """Whether a file would be written through a symbolic link, of which nobody knows where it leads."""
    parts = os.path.normpath(path).split(os.sep)
    upward = parts.count(os.pardir)  # To the repository's root, for workflows and attributes.
    return any(os.path.islink(os.path.join(folder, *parts[:end])) for end in range(upward + 1, len(parts) + 1))


def _add_to_existing(target: str, path: str, text: str) -> str | None:
    name = os.path.basename(path) if path.startswith("..") else path
    if name not in _ADDED_TO:
        return None
    try:
        combined = _ADDED_TO[name](opening.read_file(target, Limits().file_bytes).decode(), text)
        return combined if combined is None else combined.encode().decode()  # Halves of characters are ValueErrors.
    except (OSError, ValueError):
        return None


def _build(folder: str, arguments: Arguments, streams: Streams) -> Status:
    """Run `trainc build` for every environment of the new repository."""
    from trainc.api.command import run as build

    command_line = ["--config", os.path.join(folder, "trainc.yaml"), "--quiet", "--color", arguments.color]
    return build(command.arguments_of("build", command_line), streams)


def _next_steps(folder: str, paths: Iterable[str], requirement: Requirement, arguments: Arguments) -> str:
    builds, gitops = "trainc.yaml" in paths, arguments.gitops
    at_root = [os.path.normpath(os.path.join(folder, path)) for path in sorted(paths) if path.startswith("..")]
    below = [path for path in sorted(paths) if not path.startswith("..")] + ([f"{RENDERED}/"] if builds else [])
    lines = [f"created in {folder}:", *(f"  {path}" for path in below)] if below else []
    lines += ["created at the root of the repository:", *(f"  {path}" for path in at_root)] if at_root else []
    lines += ["", "next:", *([] if folder == "." else [f"  cd {folder}"])]
    lines += ["  trainc build --check"] if builds else []
    if requirement.problem and REQUIREMENTS in paths:
        lines += [
            f"  set the requirement in {REQUIREMENTS}, such as `trainc @ git+https://HOST/PATH@COMMIT`:",
            f"    {requirement.problem}",
        ]
    if any(os.path.dirname(path) == gitops for path in paths):
        if arguments.repository == REPOSITORY and gitops == "argocd":
            lines.append("  set repoURL in argocd/*.yaml, a placeholder now, to the URL of your repository")
        lines.append(f"  kubectl apply -f {gitops}/    (after pushing the repository)")
    return "".join(f"{line}\n" for line in lines)
