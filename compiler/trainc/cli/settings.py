"""Arguments and trainc.yaml together: what a command works with. An argument wins over the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import repeat

from trainc.cli.command import Arguments, UsageError
from trainc.cli.diagnostics import configured_docs_url
from trainc.findings import CompileError, Diagnostic, Source, has_errors
from trainc.findings.policy import Policy
from trainc.findings.text import first_of
from trainc.kube.documents import Json, path_exists
from trainc.options import SETTINGS, Limits, Options, merge_layers
from trainc.project.configuration import Configuration, choose_environments
from trainc.project.settings_file import read_configuration, settings_below
from trainc.reading.files import MOST_SEARCHES, is_overlay_folder, missing_in_settings, read_paths, searches
from trainc.reading.ignores import Comments
from trainc.reading.opening import CONFIGURATION_FILE, is_inside
from trainc.startup import suppress
from trainc.startup.records import dataclass, fields, replace
from trainc.startup.typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from trainc.pipeline.inputs import Inputs, Step
    from trainc.project.overlays.stack import Loaded
    from trainc.reading.document import Document


@dataclass(frozen=True, slots=True)
class Settings:
    """The input, the compile options, and the remaining settings of trainc.yaml."""

    paths: Sequence[str]
    runtimes: Sequence[str]
    overlays: Sequence[Loaded]
    options: Options
    configuration: Configuration
    output: str | None = None
    # Whether the input is everything that trainc.yaml names, so that jobs missing from it have been deleted.
    covers_all: bool = False
    # With --base, the settings of trainc.yaml there: what administrators decide is judged by both, and the stricter one counts.
    at_base: Configuration | None = None
    # Whether the input is one of the command line, and the overlay that of trainc.yaml.
    is_part: bool = False
    # The other environments of trainc.yaml, to which a job may belong that this one does not select.
    other_environments: Sequence[Configuration] = ()

    @staticmethod
    def of(arguments: Arguments) -> Settings:
        """The settings of a command that reads input. Raises UsageError for conflicting arguments, and CompileError."""
        configuration = read_configuration(arguments.paths, arguments.config, Settings.limits_of(arguments))
        # A revision may predate the environment, or its name.
        environments, name = configuration.environments, arguments.environment
        by_output = {one.known_environments[other]: one for other, one in environments.items()}
        one = environments.get(name) or by_output.get(getattr(arguments, "place", "") or "-", configuration)
        configuration, name = replace(one, missing=configuration.missing), one.environment
        configured_docs_url.set(configuration.docs_url)
        missing_in_settings.set(configuration.missing)
        if searches.get(None) is None:
            searches.set(repeat(True, MOST_SEARCHES))
        overlay_folders = [path for path in arguments.paths if is_overlay_folder(path)]
        input_paths = [path for path in arguments.paths if path not in overlay_folders]
        chosen = [*overlay_folders, *(arguments.overlay or ())]
        overlays = _overlays(chosen or configuration.overlay or (), Settings.limits_of(arguments))
        # An overlay with resources defines its own input, like a kustomization.
        has_resources = any(overlay.has_resources for overlay in overlays)
        paths = input_paths or ([] if overlay_folders and has_resources else configuration.sources)
        if paths is None:
            # Wherever trainc is run, its settings are about the same jobs.
            paths = [] if has_resources else [os.path.dirname(configuration.file or "") or os.curdir]
        runtimes = arguments.runtimes or configuration.runtimes or ()
        options = _options(arguments, configuration, overlays)
        # The output folder in trainc.yaml belongs to the overlay in trainc.yaml; other overlays must not write to it.
        output = None if chosen and configuration.overlay else configuration.output
        covers_all = configuration.file is not None and not arguments.paths and output is not None
        siblings = [environment for environment in environments.values() if environment.environment != name]
        return Settings(
            paths,
            runtimes,
            overlays,
            options,
            configuration,
            output,
            covers_all,
            is_part=bool(input_paths) and not chosen,
            other_environments=siblings,
        )

    @staticmethod
    def environments_of(arguments: Arguments) -> list[Arguments]:
        """The arguments, once for each environment to process; unchanged if there are none.

        Without PATH and --overlay, all environments are processed. Raises CompileError if trainc.yaml is invalid, and
        UsageError if it does not define an environment given by --env.
        """
        environments = read_configuration(arguments.paths, arguments.config, Settings.limits_of(arguments)).environments
        is_whole = not arguments.paths and not arguments.overlay
        try:
            chosen = choose_environments(environments, arguments.env or (), otherwise_all=is_whole)
        except ValueError as error:
            raise UsageError(str(error)) from None
        places = {name: environments[name].known_environments[name] for name in chosen}
        return [arguments.but(env=[n], place=places[n]) for n in chosen] or [arguments]

    @staticmethod
    def limits_of(arguments: Arguments) -> Limits:
        """The input limits that were requested, with the default for all others."""
        raised = {limit.name: getattr(arguments, limit.name, None) for limit in fields(Limits)}
        return replace(Limits(), **{name: value for name, value in raised.items() if value is not None})

    @property
    def values(self) -> dict[str, Any]:
        """The values with which templates are filled in."""
        from trainc.project.overlays.stack import values_of

        return values_of(self.overlays)

    def policy(self, read_text: Callable[[str], str] | None = None) -> Policy:
        """The rules for diagnostics: from trainc.yaml, overridden by overlays, overridden by comments.

        `read_text` returns the text of a file, which may have comments; by default it is read again.
        """
        rules = (*self.configuration.rules, *(rule for overlay in self.overlays for rule in overlay.rules))
        at_base = None if self.at_base is None else self.at_base.rules
        return Policy(rules, (Comments() if read_text is None else Comments(read_text)).about, at_base)

    def read(
        self,
        stdin: BinaryIO,
        skip: str | None = None,
        step: Step | None = None,
        *,
        everything: bool = False,
        extra: Sequence[Document] = (),
    ) -> Inputs:
        """Read the input, and have `extra` documents in it.

        The folder `skip` is not entered, and unrelated files are read with `everything` only.
        """
        from trainc.pipeline.inputs import read_inputs

        inputs = read_inputs(
            self.paths,
            self.runtimes,
            self.options,
            overlays=self.overlays,
            extra_documents=extra,
            stdin=stdin,
            skip=skip,
            step=step,
            exclude=self.configuration.exclude,
            everything=everything,
            select=self.configuration.select,
            elsewhere=self.elsewhere(),
            is_part=self.is_part,
            used=[*self.configuration.dumps, *self.configuration.policies],
        )
        if self.configuration.file is not None:
            from trainc.pipeline.raw_jobsets import raw_jobsets, repeated, unknown_versions

            others = (*inputs.elsewhere, *inputs.unselected)
            namespace = self.options.namespace
            jobsets = raw_jobsets(inputs.documents, namespace, others)
            # What a cluster has is no source, unless the sources are in the same folder.
            dumps = [*map(os.path.realpath, self.configuration.dumps)]
            dumps = [folder for folder in dumps if not any(is_inside(path, folder) for path in self.paths)]
            jobsets = tuple(d for d in jobsets if not any(is_inside(d.file, folder) for folder in dumps))
            # Those of JobSets are said where these are judged.
            again = [d for one, d in repeated(jobsets, namespace, inputs.documents) if one.data["kind"] != "JobSet"]
            again += unknown_versions(d for d in inputs.documents if not any(is_inside(d.file, path) for path in dumps))
            inputs = replace(
                inputs,
                jobsets=jobsets,
                diagnostics=[*inputs.diagnostics, *again],
                files=inputs.files | {document.file for document in (*jobsets, *others)},
            )
        if self.overlays:
            from trainc.project.overlays.stack import at_value

            inputs = replace(inputs, diagnostics=[at_value(d, self.overlays) for d in inputs.diagnostics])
        inputs = replace(inputs, diagnostics=[*inputs.diagnostics, *self.boundaries(inputs)])
        if self.configuration.file is None:
            inputs = replace(inputs, diagnostics=[*inputs.diagnostics, *_not_used(self.paths)])
        return inputs

    def place(self, key: str, *below: str | int) -> Source | None:
        """Return the line at which an overlay or trainc.yaml sets something; None if neither does."""
        overlays = [each.overlay.document for loaded in self.overlays for each in reversed(loaded.in_order)]
        file = self.configuration.file
        documents = read_paths([file], self.options.limits, everything=True)[0] if file else []
        environment = ("environments", self.configuration.environment, key, *below)
        tried = ((document, path) for path in (environment, (key, *below)) for document in (*overlays, *documents))
        return next((d.locate(path) for d, path in tried if path_exists(d.data, path)), None)

    def located(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Place what is about a setting at its line."""

        def located(d: Diagnostic) -> Diagnostic:
            is_setting = d.object == CONFIGURATION_FILE or d.code == "OptionWithoutEffect"
            key = d.path if is_setting else _SETTINGS_OF.get(d.code, "")
            is_set = key != "release" or self.options.release == self.configuration.options.get("release")
            return replace(d, source=self.place(key)) if key and is_set and d.source is None else d

        return list(map(located, diagnostics))

    def repeated_jobsets(self, documents: Sequence[Document]) -> list[Diagnostic]:
        """What a build says of JobSets without a TrainJob that are defined twice, for those who do not build."""
        from trainc.pipeline.raw_jobsets import raw_jobsets, repeated

        namespace = self.options.namespace
        if self.configuration.file is None:
            return []
        return [diagnostic for _, diagnostic in repeated(raw_jobsets(documents, namespace), namespace, documents)]

    def boundaries(self, inputs: Inputs) -> list[Diagnostic]:
        """What of an input is not where it may be."""
        configured = self.configuration.runtimes or ()
        at_base = {} if self.at_base is None else self.at_base.namespaces
        if not (configured or self.configuration.namespaces or at_base):
            return []
        from trainc.project.boundaries import check_boundaries

        platform = [] if self.runtimes != configured else inputs.runtime_sources[: len(configured)]
        shared = [document for source in platform for document in source]
        documents = [document for document in inputs.documents if document.data.get("kind") != "JobSet"]
        documents += inputs.jobsets
        namespace, place = self.options.namespace or "", cache(partial(self.place, "namespaces"))
        return check_boundaries(documents, shared, self.configuration, at_base, namespace, place=place)

    def elsewhere(self) -> Callable[[Json, str], bool]:
        """What tells whether another environment compiles a TrainJob."""
        resources: dict[str, set[str]] = {}

        def of(other: Configuration) -> set[str]:
            if other.environment not in resources:
                resources[other.environment] = set()
                with suppress(CompileError):  # Reported where that environment is processed.
                    for overlay in _overlays(other.overlay or (), self.options.limits):
                        resources[other.environment] |= overlay.resource_files
            return resources[other.environment]

        return lambda job, file: any(other.compiles(job, file, of(other)) for other in self.other_environments)


def _not_used(paths: Sequence[str]) -> Iterator[Diagnostic]:
    if misnamed := next(filter(os.path.isfile, (f"{CONFIGURATION_FILE[:-4]}yml", f".{CONFIGURATION_FILE}")), None):
        message = f"{misnamed} is not read, so its settings are not used"
        hint = f"rename it: git mv {misnamed} {CONFIGURATION_FILE}"
        yield Diagnostic("SettingsNotUsed", "warning", message, hint, source=Source(misnamed, 1, 1))
    elif os.curdir in paths and (folders := settings_below(os.curdir)):
        message = f"trainc.yaml is in {first_of(folders, 3)}; here, its settings are not used"
        hint = f"run trainc in {folders[0]}, or with --config {os.path.join(folders[0], CONFIGURATION_FILE)}"
        yield Diagnostic("SettingsNotUsed", "warning", message, hint)


def _overlays(paths: Sequence[str], limits: Limits) -> Sequence[Loaded]:
    if not paths:
        return ()
    from trainc.project.overlays.stack import load_overlays

    overlays, problems = load_overlays(paths, limits)
    if has_errors(problems):
        raise CompileError(problems)
    return overlays


# Where trainc.yaml says what these are about.
_SETTINGS_OF = {"PreviewRelease": "release", "SnapshotIncomplete": "cluster"}


def _options(arguments: Arguments, configuration: Configuration, overlays: Sequence[Loaded]) -> Options:
    values = {setting.name: getattr(arguments, setting.name, None) for setting in SETTINGS}
    explicit = {name: value for name, value in values.items() if value is not None}
    chosen = merge_layers(configuration.options, *(overlay.settings for overlay in overlays), explicit)
    if configuration.software:
        from trainc.project.software import read_software

        chosen["software"] = read_software(configuration.software, Settings.limits_of(arguments))
    try:
        options = Options(**chosen, limits=Settings.limits_of(arguments))
    except ValueError as error:
        message, _, hint = str(error).partition("; ")
        names = () if "sync_options" in explicit else chosen.get("sync_options", ())
        at = next((i for i, name in reversed([*enumerate(names)]) if name in message), None)
        here = Settings((), (), overlays, Options(), configuration).place("syncOptions", at) if at is not None else None
        if here is None:
            raise UsageError(str(error)) from None
        environments = (configuration.environment,) if configuration.environment else ()
        problem = Diagnostic(
            "InvalidConfiguration",
            "error",
            message,
            hint or "keep one of them",
            CONFIGURATION_FILE,
            "syncOptions",
            here,
        )
        raise CompileError([replace(problem, environments=environments)]) from None
    if options.plugins:
        from trainc.plugins.registry import choose

        _, problems = choose(options.plugins)
        if problems:
            here = Settings((), (), overlays, options, configuration).place("plugins")
            here = None if "plugins" in explicit else here
            raise CompileError(replace(problem, source=here) for problem in problems)
    return options
