"""All diagnostic codes, with the severity and the compiler stage of each, and the page about each.

The pages are rules/<Code>.md, here and in the folders of features.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from trainc.features import features
from trainc.findings import Severity
from trainc.startup.records import dataclass

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


_TABLE: Mapping[Stage, Mapping[Severity, str]] = {
    "settings": {
        "error": "BrokenPlugin ForeignNamespace InvalidConfiguration RuntimeReplaced UnknownPlugin",
        "warning": "IgnoreWithoutReason SettingsNotUsed UnknownCode",
        "info": "FindingsIgnored OptionWithoutEffect PreviewRelease ReleaseNotPinned UnusedIgnore",
    },
    "read": {
        "error": """
            DocumentTooLarge DuplicateKey FlattenedYAML InvalidEncoding LegacyTrainingJob NoSuchPath
            NoSuchRevision NoTrainJob NonFiniteNumber NotAnObject OutsideRoot TooDeep TooManyAliases
            TooManyDocuments TooManyValues UnreadableFile UnrenderedTemplate UnsupportedKey UnsupportedTag YAMLSyntax
        """,
        "warning": "LeftOut NotSelected SkippedDocument",
        "info": "OtherExtension",
    },
    "template": {"error": "TemplateError"},
    "overlay": {
        "error": "InvalidOverlay PatchFailed PatchTargetMissing",
        "warning": "ImageNotUsed",
    },
    "dialect": {
        "error": "ElasticWithNumNodes",
        "warning": """
            BaseModelNotFound CoercedType DeprecatedAPIVersion FieldWithoutCounterpart InitializerJobSplit
            MPIImplementationNotInTrainer OMEFieldIgnored OMEHyperParametersIgnored OMEMetadataPruned
            UnreleasedAPI VolcanoFieldsNotInTrainer WorkloadPolicyNotInTrainer
        """,
    },
    "schema": {
        "error": """
            InvalidQuantity InvalidStorageUri InvalidTime MissingAncestorContainer MutuallyExclusivePolicies
            NodeAlreadyInjected OutOfRange MisplacedPodSpec ReplicasNotOne
            StartupPolicyWithDependsOn EmptyField UnknownField UnsupportedFramework
            VolumeClaimNamespaceSet WrongType
        """,
        "warning": "DeprecatedField TorchNumProcPerNodeRemoved",
    },
    "resolve": {
        "error": """
            AmbiguousTrainer DialectNeedsGitOps DuplicateRuntime
            DuplicateTrainJob InitializerNotInRuntime RuntimeNotFound RuntimeNotStored UnknownAPIVersion
            UnknownKind UnsupportedRuntimeRef
        """,
        "warning": "DeprecatedRuntime Fragment ListReplaced RoleInferred RuntimeRefGroupMismatch",
        "info": "ManagedElsewhere NoGangPolicy ShadowedRuntime",
    },
    "validate": {
        "error": """
            ControllerPanics ElasticRangeInvalid EmptyQueueName EnvInjectionTargetMissing GangNotPossible
            HostfileTooLarge InvalidManager InvalidNumProcPerNode MissingLauncher MultiNodeLoRA
            NamespaceMissing NoNodes PatchedTrainerEnv RepeatedTargetJob ReservedArgument ReservedEnv
            ReservedInitContainer TooManyNodes UnknownPatchTarget UnsupportedModel
            UnsupportedQLoRA WorkloadAPIMissing
        """,
        "warning": "ElasticMaxRestartsConflict ElasticMetricsNotEmitted GangSettingLost",
    },
    "lint": {
        "error": """
            AmbiguousGPU BatchDoesNotDivide CommandCannotStart GPUWithoutLimit GangInSequence
            GangMinMemberTooLarge HostNetworkWithoutDNS InvalidImage InvalidKueueValue
            InvalidLauncherArguments InvalidTopologyRequest LoopbackInterface MissingImage NoHostnames
            NothingToRun ParallelismMismatch PlaceholderNotReplaced PodsWithoutIndex RanksDoNotMeet
            RecipeTwice StaleReference TooManyPodSets
            UnexpandedShellVariable UnsetVariable UnusableStorageUri
        """,
        "warning": """
            ArgumentNotSplit ArgumentsDropped ClaimOnSeveralNodes ClaimsNotCounted CountsIgnoreRuntimeResources
            DeadlineNotPropagated DuplicateSubdomain EnvSourceLost ExtraHost FailureIgnored FieldIgnored FluxCommandFlattened
            FluxTasksWantAllGPUs ForeignLauncher FormerHostName GangIgnoresLimits GangIgnoresReplicas
            GangNeverComplete HeldAfterEnd HeredocRewritten HostfileNotRead IdleDevices InitializerNotOrdered
            InitializerVolumeNotShared InvalidVariableValue LauncherMultiplied LoRAIgnored MPIImagesDiffer
            MPINodesAwaited ManagedByNotPropagated MasterAddressWrong MetadataNotPropagated
            MisplacedTopologyRequest MissingTrainerAncestor MisspeltKueueName MisspeltVariable
            DeviceLacksFeature FileNotMounted MisplacedSetting SettingRefused SettingsDisagree
            ModelNotOfRecipe MoreDevicesThanNode MoreProcessesThanDevices MovingImageTag NoLauncher OutputDeletedWithJob
            PatchCreatesTarget PlainToken QueuedWithoutRequests RankEnvironmentMissing ResourceClaimsLost
            ResourcesIgnored SchedulerIgnoresGang SchedulerNameMissing SharedOutput SuspendFightsKueue
            TTLRerun TensorParallelAcrossNodes TorchrunArgOverridesPolicy TypographicCharacter
            UnlikelyAmount UnlikelyResource UnnamedPortsLost ValueOverridden VolumeNotMounted
        """,
        "info": """
            DataNotMounted MoreThreadsThanCPUs NoPullSecret OutputNotKept QueuedBehindInitializer RestartsByDefault
            RestartsMultiply SettingWithoutEffect
            RetainedClaim TopologyNeedsGate TopologyWithoutQueue UnsuitableSharedMemory
        """,
    },
    "admission": {
        "error": """
            BackoffLimitPerIndexNeedsIndexed CompletionsMissing ConflictingFields CoordinatorNotIndexed
            DependsOnEmpty DependsOnFirstJob DependsOnSelf DependsOnUnknown DerivedNameTooLong
            DuplicateFailureRule DuplicateItem DuplicateVolumeClaim ExceedsQuota ExtendedResourceNotInteger
            ExtendedResourceUnequal FeatureGateOff FieldImmutable FieldNotInKubernetes InvalidAddress
            InvalidAnnotation InvalidCoordinatorIndex InvalidCoordinatorLabel InvalidFailureRuleName
            InvalidGroupName InvalidJobName InvalidJobPolicy InvalidLabel InvalidManagedBy
            InvalidMessagePattern InvalidName InvalidPath InvalidResources InvalidRestartPolicy
            InvalidSelector InvalidSubdomain InvalidVolumeClaimName JobNameTooLong MissingJobSetName
            MissingRequired NotAJobSet NotAllowedHere NotInPod ObjectRenamed OutsideLimitRange
            OverheadNotOfClass PodFailurePolicyNeedsNever PriorityNotOfClass
            QuotaNeedsResources RequestExceedsLimit RuntimeClassConflict SecretNotAllowed TooLong TooMany
            TooManyPods TwoVolumeSources UnknownFailureReason UnknownResource UnknownTargetJob
            UnsupportedValue ValueAndValueFrom VolumeClaimNameTooLong VolumeClaimNotMounted
            VolumeClaimShadowsVolume WebhookDefaultMissing
        """,
        "warning": "DeprecatedInKubernetes",
    },
    "policy": {"error": "ImageNotPinned RegistryNotAllowed"},
    "emit": {
        "error": "KeygenImageMissing PreSyncNeedsArgoCD SealedSecretMissing SealedSecretUnusable",
        "warning": "DeadlineDropped FluxSubstitution",
        "info": "DeadlineMoved LabelOverridden SealedSecretTrimmed SecretNeeded",
    },
    "output": {
        "error": "FileInTheWay ForeignFile FrozenJob InterruptedBuild KeepOrRebuild KeptNotProven NoBase OutputStale"
        " SourceSkipped",
        "info": "AdoptedFile FilesKept KeptAsBuilt KeptCannotRebuild SettingsLoosened",
    },
    "fits": {"error": "SnapshotIncomplete SnapshotUnreadable"},
    "sweep": {"error": "InvalidSweep"},
}

# Where the site that `make site` builds is published, such as https://docs.example.com/trainc/latest; empty if nowhere.
# This is the only place that says it. TRAINC_DOCS_URL and `docsUrl` in trainc.yaml name another copy.
DOCS_URL = ""

# The entry points of plugins' codes.
GROUP = "trainc.codes"
_SUFFIX = ".md"
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


@cache
def codes() -> Mapping[str, Code]:
    """Return all codes, those of features among them, sorted by name."""
    tables = [_TABLE, *(feature.load("codes.CODES") for feature in features() if feature.codes)]
    return dict(sorted((code, entry) for table in tables for code, entry in _codes_in(table)))


@cache
def codes_of_plugins() -> Mapping[str, EntryPoint]:
    """Return the codes that installed plugins declare: names of entry points to their pages, so that nothing is imported."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in codes()}


def _codes_in(table: Mapping[Stage, Mapping[Severity, str]]) -> Iterator[tuple[str, Code]]:
    for stage, by_severity in table.items():
        for severity, names in by_severity.items():
            yield from ((code, Code(severity, stage)) for code in names.split())


@cache
def _pages() -> Mapping[str, str]:
    """Return the file of each page, by its code."""
    homes = (os.path.dirname(__file__), *(feature.folder for feature in features() if feature.codes))
    folders = [os.path.join(home, "rules") for home in homes]
    files = (os.path.join(folder, name) for folder in folders for name in os.listdir(folder))
    return {os.path.basename(file).removesuffix(_SUFFIX): file for file in files if file.endswith(_SUFFIX)}


def page(code: str) -> str | None:
    """Return the page of a code as Markdown, or None if there is no such code."""
    if (path := _pages().get(code)) is not None:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        # The codes of features are imported only if it is one of them.
        entry = dict(_codes_in(_TABLE)).get(code) or codes()[code]
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
    if severity == "error" and stage in ("admission", "policy"):
        return "**Certain.** The cluster refuses the object, or the pods made from it."
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
