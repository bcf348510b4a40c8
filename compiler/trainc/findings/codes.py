"""All diagnostic codes, with the severity and the compiler stage of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from trainc.findings import Severity

Stage: TypeAlias = Literal[
    "settings", "read", "template", "overlay", "dialect", "schema", "resolve", "validate",
    "lint", "admission", "policy", "emit", "output", "migrate", "diff", "fits", "doctor", "run", "sweep"
]  # fmt: skip


class Code(NamedTuple):
    """Metadata of a diagnostic code.

    `severity` is the severity with `semantics="gitops"`, or the highest one if it varies.
    """

    severity: Severity
    stage: Stage


_TABLE: Mapping[Stage, Mapping[Severity, str]] = {
    "settings": {
        "error": """
            BrokenPlugin ImageNotReplaced InvalidConfiguration InvalidParameter KeepsNothing NameHashTooEarly
            ReferenceNotFollowed UnknownPlugin UsedAsValidator
        """,
        "warning": "IgnoreWithoutReason UnknownCode",
        "info": "FindingsIgnored OptionWithoutEffect ReleaseNotPinned UnusedIgnore",
    },
    "read": {
        "error": """
            DocumentTooLarge DuplicateKey FlattenedYAML InvalidEncoding InvalidResourceList LegacyTrainingJob NoSuchPath
            NoSuchRevision NoTrainJob NonFiniteNumber NotAnObject OutsideRoot TooDeep TooManyAliases TooManyDocuments
            TooManyValues UnreadableFile UnrenderedTemplate UnsupportedKey UnsupportedTag YAMLSyntax
        """,
        "warning": "SkippedDocument",
        "info": "OtherExtension",
    },
    "template": {
        "error": "TemplateError",
    },
    "overlay": {
        "error": "InvalidOverlay PatchFailed PatchTargetMissing",
        "warning": "ImageNotUsed",
    },
    "dialect": {
        "error": "ElasticWithNumNodes",
        "warning": """
            BaseModelNotFound CoercedType DeprecatedAPIVersion FieldWithoutCounterpart InitializerJobSplit
            MPIImplementationNotInTrainer OMEFieldIgnored OMEHyperParametersIgnored OMEMetadataPruned UnreleasedAPI
            VolcanoFieldsNotInTrainer WorkloadPolicyNotInTrainer
        """,
    },
    "schema": {
        "error": """
            InvalidQuantity InvalidStorageUri InvalidTime MissingAncestorContainer MutuallyExclusivePolicies
            NodeAlreadyInjected OutOfRange PodSpecInsteadOfJobSetSpec PodSpecInsteadOfJobSpec ReplicasNotOne
            StartupPolicyWithDependsOn TooFew TooShort UnknownField UnsupportedFramework VolumeClaimNamespaceSet
            WrongType
        """,
        "warning": "DeprecatedField TorchNumProcPerNodeRemoved",
    },
    "resolve": {
        "error": """
            AmbiguousTrainerContainer AmbiguousTrainerJob DialectNeedsGitOps DuplicateRuntime DuplicateTrainJob
            InitializerNotInRuntime RuntimeNotFound RuntimeNotStored UnknownAPIVersion UnknownKind UnsupportedRuntimeRef
        """,
        "warning": "DeprecatedRuntime Fragment ListReplaced RoleInferred RuntimeRefGroupMismatch",
        "info": "ManagedElsewhere NoGangPolicy ShadowedRuntime",
    },
    "validate": {
        "error": """
            ControllerPanics ElasticRangeInvalid EmptyQueueName EnvInjectionTargetMissing GangNotPossible
            HostfileTooLarge InvalidManager InvalidNumProcPerNode MissingLauncher MultiNodeLoRA NamespaceMissing NoNodes
            PatchedTrainerEnv RepeatedTargetJob ReservedArgument ReservedEnv ReservedInitContainer TooManyNodes
            UnknownPatchedContainer UnknownPatchedJob UnsupportedModel UnsupportedQLoRA WorkloadAPIMissing
        """,
        "warning": "ElasticMaxRestartsConflict ElasticMetricsNotEmitted GangSettingLost",
    },
    "lint": {
        "error": """
            AmbiguousGPU BatchDoesNotDivide CommandCannotStart GPUWithoutLimit GangInSequence GangMinMemberTooLarge HostNetworkWithoutDNS
            InvalidImage InvalidKueueValue InvalidLauncherArguments InvalidTopologyRequest LoopbackInterface MissingImage NoHostnames NothingToRun
            ParallelismMismatch PlaceholderNotReplaced PodsWithoutIndex RanksDoNotMeet RecipeTwice StaleAddress StaleConfigMap StaleGroup StaleHost TooManyPodSets
            UnexpandedShellVariable UnsetVariable UnusableStorageUri
        """,
        "warning": """
            ArgumentsDropped ClaimOnSeveralNodes CountsIgnoreRuntimeResources DeadlineNotPropagated DuplicateSubdomain
            EnvSourceLost ExtraHost FailureIgnored FieldIgnored FluxCommandFlattened FluxTasksWantAllGPUs
            ForeignLauncher FormerHostName GangIgnoresLimits GangIgnoresReplicas GangNeverComplete HeldAfterEnd
            HeredocRewritten IdleDevices InitializerNotOrdered InitializerVolumeNotShared InvalidVariableValue LauncherMultiplied
            LoRAIgnored MPIImagesDiffer MPINodesAwaited ManagedByNotPropagated MasterAddressWrong
            MetadataNotPropagated MisplacedTopologyRequest MissingTrainerAncestor MisspeltKueueName MisspeltVariable
            ModelNotOfRecipe MoreProcessesThanDevices MovingImageTag NoLauncher OutputDeletedWithJob PatchCreatesTarget PlainToken QueuedWithoutRequests RankEnvironmentMissing ResourceClaimsLost
            ResourcesIgnored SchedulerIgnoresGang SchedulerNameMissing SharedOutput SuspendFightsKueue TTLRerun TensorParallelAcrossNodes TorchrunArgOverridesPolicy
            TypographicCharacter UnlikelyAmount UnlikelyResource UnnamedPortsLost
            ValueOverridden VolumeNotMounted
        """,
        "info": """
            DataNotMounted MoreThreadsThanCPUs OutputNotKept QueuedBehindInitializer RestartsMultiply RetainedClaim
            TopologyNeedsGate TopologyWithoutQueue UnsuitableSharedMemory
        """,
    },
    "admission": {
        "error": """
            BackoffLimitPerIndexNeedsIndexed CompletionsMissing ConflictingFields CoordinatorNotIndexed DependsOnEmpty
            DependsOnFirstJob DependsOnSelf DependsOnUnknown DerivedNameTooLong DuplicateFailureRule DuplicateItem
            DuplicateVolumeClaim ExceedsQuota ExtendedResourceNotInteger ExtendedResourceUnequal FeatureGateOff
            FieldImmutable FieldNotInKubernetes
            InvalidAddress InvalidAnnotation InvalidCoordinatorIndex InvalidCoordinatorLabel InvalidFailureRuleName
            InvalidGroupName InvalidJobName InvalidJobPolicy InvalidLabel InvalidManagedBy InvalidMessagePattern
            InvalidName InvalidPath InvalidResources InvalidRestartPolicy InvalidSelector InvalidSubdomain
            InvalidVolumeClaimName JobNameTooLong MissingJobSetName MissingRequired NotAJobSet NotAllowedHere NotInPod
            ObjectRenamed OutsideLimitRange OverheadNotOfClass PodFailurePolicyNeedsNever PodNameTooLong
            PriorityNotOfClass QuotaNeedsResources RequestExceedsLimit RuntimeClassConflict SecretNotAllowed TooLong
            TooMany TooManyPods TwoVolumeSources UnknownFailureReason UnknownResource UnknownTargetJob
            UnsupportedValue ValueAndValueFrom VolumeClaimNameTooLong VolumeClaimNotMounted VolumeClaimShadowsVolume
            WebhookDefaultMissing
        """,
        "warning": "DeprecatedInKubernetes",
    },
    "policy": {
        "error": "PolicyDenied PolicyInvalid PolicyNeedsExtra",
        "warning": "PolicyNotEvaluated PolicyWarned",
        "info": "PolicyAudited",
    },
    "emit": {
        "error": "KeygenImageMissing PreSyncNeedsArgoCD SealedSecretMissing SealedSecretUnusable",
        "warning": "DeadlineDropped FluxSubstitution",
        "info": "DeadlineMoved LabelOverridden SealedSecretTrimmed SecretNeeded",
    },
    "output": {
        "error": "FileInTheWay ForeignFile InterruptedBuild KeepOrRebuild KeptNotProven NoBase SourceSkipped",
        "warning": "KeptCannotRebuild",
        "info": "AdoptedFile FilesKept KeptAsBuilt",
    },
    "migrate": {
        "error": "CannotMigrate InvalidTrainingJob",
        "warning": "LegacyLabelSelected MigrationDiffers",
        "info": "FieldNotMigrated JobRenamed MigrationChanges",
    },
    "fits": {
        "error": """
            NeverFits NoNodeFits QueueInactive RefusedByKueue SnapshotIncomplete SnapshotTwice SnapshotUnreadable
            UnschedulableAfterAdmission
        """,
        "warning": "NotInCluster OldKueueAPI PodsMayBeEvicted",
        "info": "AdmissionCheckUnknown OtherKueueVersion",
    },
    "doctor": {
        "error": "ClusterUnreachable",
    },
    "run": {
        "error": "ContainersOnly NothingToStart ProgramNotHere",
        "warning": "RecipeReplaced ValueNotHere",
        "info": "CommandReplaced ScaledForRun",
    },
    "sweep": {
        "error": "InvalidSweep OverBudget TooManyTrials UnknownParameter",
        "warning": "ExcludesNothing",
        "info": "SweepSize",
    },
}

CODES: Mapping[str, Code] = {
    code: Code(severity, stage)
    for stage, by_severity in _TABLE.items()
    for severity, codes in by_severity.items()
    for code in codes.split()
}


# The rulebook: one page for each diagnostic code, shipped as trainc/findings/rules/<Code>.md.


# os.path imports faster than pathlib.


# The published location of the pages; forks that publish their own rules change this line.
RULES_URL = "https://trainc.example.com/latest/rules/"

_FOLDER = os.path.join(os.path.dirname(__file__), "rules")
_SUFFIX = ".md"
# Errors of these stages do not prevent compilation, so `rules:` and comments may ignore them.
_IGNORABLE = ("lint", "admission", "policy", "fits")


def codes() -> list[str]:
    """Return all codes that have a page, sorted."""
    return sorted(name.removesuffix(_SUFFIX) for name in os.listdir(_FOLDER) if name.endswith(_SUFFIX))


def page(code: str) -> str | None:
    """Return the page of a code as Markdown, or None if there is no such code."""
    if code not in codes():
        return None
    with open(os.path.join(_FOLDER, code + _SUFFIX), encoding="utf-8") as stream:
        return f"{stream.read()}\n## How to silence it\n\n{_how_to_silence(code)}\n"


def rule_url(code: str) -> str:
    """Return the URL of the published page of a code."""
    return f"{RULES_URL}{code}.html"


def _how_to_silence(code: str) -> str:
    """Return the section on silencing a code, which only depends on its severity and stage."""
    known = CODES[code]
    if known.severity == "error" and known.stage not in _IGNORABLE:
        return "This error cannot be silenced: nothing can be compiled until it is fixed."
    comment = f"# trainc: ignore[{code}] why this is fine here"
    rule = f"rules: {{{code}: {{level: ignore, reason: why this is fine}}}}"
    needed = "An error can only be ignored with a reason. " if known.severity == "error" else ""
    return (
        f"{needed}For one line, add a comment at its end or on the line above:\n\n    {comment}\n\n"
        f"For the whole repository, add a rule to trainc.yaml (`level: error`, `warning` or `info` changes the severity):"
        f"\n\n    {rule}"
    )


def summary_of(code: str) -> str:
    """Return the first paragraph of a page, or an empty string if there is no such code."""
    return (page(code) or "").partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")
