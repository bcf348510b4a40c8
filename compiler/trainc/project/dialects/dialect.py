"""The definition of a dialect: which documents belong to it, and how they differ from trainer.kubeflow.org/v1alpha1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from trainc.findings import Finding, Path, has_errors
from trainc.kube import names
from trainc.kube.documents import Json, value_at, with_value, without_path
from trainc.kube.names import is_label_key
from trainc.kube.releases import Span
from trainc.schema import check
from trainc.startup import import_module
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast


@dataclass(frozen=True, slots=True)
class NamingConvention:
    """The names that identify the replicated job for training and its main container.

    `trainer_jobs` and `containers` are in order of preference. `contract` is the job name that the dialect prescribes,
    so using it is not a guess. With `guesses`, the only job or container is used regardless of its name, and ambiguity
    is an error.
    """

    trainer_jobs: tuple[str, ...]
    containers: tuple[str, ...]
    contract: str = ""
    guesses: bool = False


# trainer.kubeflow.org/v1alpha1: the label decides, and only names defined by the API can replace it.
LABELED = NamingConvention((names.NODE,), (names.NODE,))

# kubeflow.org/v2alpha1 and OME: the API prescribes trainer-node and trainer, but documents also use other names.
NAMED = NamingConvention(
    ("trainer-node", names.NODE, "worker"), ("trainer", names.NODE), contract="trainer-node", guesses=True
)


@dataclass(frozen=True, slots=True)
class Move:
    """`now` is the path after the conversion of what was at `was`.

    With `derived`, everything below `now` was derived from the single value at `was`.
    """

    now: Path
    was: Path
    derived: bool = False


def original_path(path: Path, moves: Sequence[Move]) -> Path:
    """Return the path in the original document; the longest matching move applies."""
    covering = [move for move in moves if path[: len(move.now)] == move.now]
    if not covering:
        return path
    move = max(covering, key=lambda m: len(m.now))
    return move.was if move.derived else (*move.was, *path[len(move.now) :])


def move_finding(finding: Finding, moves: Sequence[Move]) -> Finding:
    """Translate the paths of a finding from the converted to the original document."""
    if not moves:
        return finding
    source_path = None if finding.source_path is None else original_path(finding.source_path, moves)
    return replace(finding, path=original_path(finding.path, moves), source_path=source_path)


@dataclass(frozen=True, slots=True)
class DialectContext:
    """What a conversion needs from other documents: the storage URI of each base model, by name."""

    base_models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A document converted to trainer.kubeflow.org/v1alpha1.

    `moves` maps its fields to their original paths. The paths of `findings` refer to the original document.
    """

    data: dict[str, Any]
    moves: tuple[Move, ...] = ()
    findings: tuple[Finding, ...] = ()


Convert: TypeAlias = Callable[[Json, str, DialectContext], Conversion]


if TYPE_CHECKING:

    class DialectModule(Protocol):
        """The interface of a dialect's module."""

        convert: Convert


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API group that documents can use; `kinds` maps its kinds to those of trainer.kubeflow.org.

    With `needs_initializers`, every job must specify a dataset and a model, even if its runtime does not use them. The
    conversion is in trainc.project.dialects.<module>, which is imported for the first document that needs it, since most input
    does not.
    """

    module: str
    group: str
    api_versions: tuple[str, ...]
    kinds: Mapping[str, str]
    naming: NamingConvention = NAMED
    needs_initializers: bool = False

    def convert(self, document: Json, kind: str, context: DialectContext) -> Conversion:
        """Convert a document of this dialect; `kind` is the corresponding kind of trainer.kubeflow.org."""
        module = cast("DialectModule", import_module(f"trainc.project.dialects.{self.module}"))
        return module.convert(document, kind, context)


# Fields that no Trainer release has but that `gitops` honors: extracted, validated and returned separately.


@dataclass(frozen=True, slots=True)
class Extended:
    """A runtime without its extensions, and the extensions by path."""

    document: Json
    extensions: tuple[tuple[Path, Any], ...] = ()
    findings: tuple[Finding, ...] = ()


Extension: TypeAlias = Callable[[Json, str, bool], Extended]

_VOLCANO: Path = ("spec", "podGroupPolicy", "volcano")
_VOLCANO_FIELDS: Mapping[str, type] = {"minMember": int, "queue": str, "priorityClassName": str}
_WORKLOAD: Path = ("spec", "podGroupPolicy", "workload")
_IMPLEMENTATION: Path = ("spec", "mlPolicy", "mpi", "mpiImplementation")
_OTHER_IMPLEMENTATIONS = ("Intel", "MPICH")


def volcano_fields(document: Json, release: str, older_dialect: bool) -> Extended:
    """Extract the size, queue and priority of Volcano gangs; Trainer only has networkTopology there, since 2.1."""
    policy = value_at(document, _VOLCANO)
    if not isinstance(policy, Mapping):
        return Extended(document)
    extra = {name: policy[name] for name in _VOLCANO_FIELDS if policy.get(name) is not None}
    plain = document
    for name in extra:
        plain = without_path(plain, (*_VOLCANO, name))
    if older_dialect:
        from trainc.schema.field_homes import has_field

        plain = plain if has_field("TrainingRuntime", _VOLCANO, release) else without_path(plain, _VOLCANO)
    findings = tuple(_wrong_types(extra))
    if extra:
        message = f"{', '.join(extra)}: Trainer has no such field; trainc adds it to the PodGroup, and the controller in a cluster would not"
        hint = "to set a queue that works with both, use the annotation scheduling.volcano.sh/queue-name"
        findings = (Finding("VolcanoFieldsNotInTrainer", "warning", message, hint, _VOLCANO), *findings)
    extracted = () if has_errors(findings) else tuple(((*_VOLCANO, name), value) for name, value in extra.items())
    # An empty policy still selects Volcano.
    return Extended(plain, extracted or (((_VOLCANO, {}),) if plain is not document else ()), findings)


def _wrong_types(fields: Json) -> Iterator[Finding]:
    for name, value in fields.items():
        expected_type = _VOLCANO_FIELDS[name]
        if not isinstance(value, expected_type) or isinstance(value, bool):
            expected = "a whole number" if expected_type is int else "a string"
            yield _wrong_type((*_VOLCANO, name), expected, value, f"write {expected}, or leave {name} out")


def mpi_implementation(document: Json, release: str, older_dialect: bool) -> Extended:
    """Extract Intel MPI and MPICH, which v2alpha1 and OME support but Trainer's own API rejects."""
    chosen = value_at(document, _IMPLEMENTATION)
    if not older_dialect or chosen not in _OTHER_IMPLEMENTATIONS:
        return Extended(document)
    message = f"Trainer does not support {chosen}; trainc sets up its hostfile, variables and search domain itself"
    hint = "use mpiImplementation: OpenMPI if Trainer's controller has to run the runtime too"
    warning = Finding("MPIImplementationNotInTrainer", "warning", message, hint, _IMPLEMENTATION)
    return Extended(without_path(document, _IMPLEMENTATION), ((_IMPLEMENTATION, chosen),), (warning,))


def workload_policy(document: Json, release: str, older_dialect: bool) -> Extended:
    """Extract the policy for Kubernetes' own gang scheduling (PodGroups of scheduling.k8s.io); Trainer has none."""
    policy = value_at(document, _WORKLOAD)
    if policy is None:
        return Extended(document)
    findings = tuple(_wrong_workload(policy))
    message = "podGroupPolicy.workload: Trainer has no such policy; trainc writes the Workload, and the controller in a cluster would not"
    hint = "no action needed if trainc compiles all jobs of this runtime; otherwise compile the others with --gang workload"
    warning = Finding("WorkloadPolicyNotInTrainer", "warning", message, hint, _WORKLOAD)
    extracted = () if has_errors(findings) else ((_WORKLOAD, policy),)
    return Extended(without_path(document, _WORKLOAD), extracted, (warning, *findings))


def _wrong_workload(policy: Any) -> Iterator[Finding]:
    """Report deviations from the fields of a PodGroup in scheduling.k8s.io/v1beta1."""
    if not isinstance(policy, Mapping):
        yield _wrong_type(_WORKLOAD, "a mapping", policy, "write {} to wait for all pods of the gang")
        return
    for name in policy:
        if name not in ("schedulingConstraints", "disruptionMode"):
            hint = "write schedulingConstraints or disruptionMode, as in a PodGroup; trainc counts the pods"
            yield Finding("UnknownField", "error", f"unknown field {name!r}", hint, (*_WORKLOAD, name))
    constraints, mode = policy.get("schedulingConstraints"), policy.get("disruptionMode")
    if constraints is not None and not _is_topology(constraints):
        hint = "write {topology: [{key: topology.kubernetes.io/rack}]}: one label of the nodes"
        yield _wrong_type((*_WORKLOAD, "schedulingConstraints"), "one topology", constraints, hint)
    if mode is not None and mode not in ({"single": {}}, {"all": {}}):
        hint = "write {all: {}} if the pods may only be disrupted together, or {single: {}}"
        yield _wrong_type((*_WORKLOAD, "disruptionMode"), "one mode", mode, hint)


def _is_topology(constraints: Any) -> bool:
    topology = constraints.get("topology") if isinstance(constraints, Mapping) and len(constraints) == 1 else None
    if not isinstance(topology, list) or len(topology) != 1 or not isinstance(topology[0], Mapping):
        return False
    key = topology[0].get("key")
    return len(topology[0]) == 1 and isinstance(key, str) and is_label_key(key)


def _wrong_type(path: Path, expected: str, value: Any, hint: str) -> Finding:
    return Finding("WrongType", "error", f"expected {expected}, got {value!r}", hint, path)


EXTENSIONS: tuple[Extension, ...] = (volcano_fields, workload_policy, mpi_implementation)


# Fields that the selected release lacks but that `gitops` honors, because their meaning is clear.
#
# Such a field is removed before the release's schema check, validated with the schema of a release that has it (or by
# extensions.py, if no release ever did), and put back.


@dataclass(frozen=True, slots=True)
class RemovedField:
    """A field that only `releases` have, in the struct `owner`.

    `path` starts with `spec`. `applies` restricts the entry to some values. `contradicts` is a field that those releases
    reject in combination with this one.
    """

    path: Path
    releases: Span
    owner: str
    code: str = "DeprecatedField"
    applies: Callable[[Any], bool] = lambda value: value is not None
    contradicts: Path = ()
    hint: str = ""


_POLICY: Path = ("spec", "mlPolicy")
_TORCH: Path = (*_POLICY, "torch")
_OWNER = "trainer.TrainJobSpec"

REMOVED_FIELDS: Mapping[str, tuple[RemovedField, ...]] = {
    "TrainJob": (
        RemovedField(("spec", "podSpecOverrides"), Span("2.0", "2.0"), _OWNER),
        RemovedField(("spec", "podTemplateOverrides"), Span("2.1", "2.1"), _OWNER),
        RemovedField(("spec", "labels"), Span("2.0", "2.1"), _OWNER),
        RemovedField(("spec", "annotations"), Span("2.0", "2.1"), _OWNER),
        RemovedField(
            ("spec", "trainer", "numProcPerNode"),
            Span("2.0", "2.1"),
            "trainer.Trainer",
            applies=lambda value: isinstance(value, str),
            hint="write a number, or remove it to have it counted from the resources of the node",
        ),
    ),
    "runtime": (
        RemovedField(
            (*_TORCH, "numProcPerNode"), Span("2.0", "2.1"), "trainer.TorchMLPolicySource", "TorchNumProcPerNodeRemoved"
        ),
        RemovedField(
            (*_TORCH, "elasticPolicy"),
            Span("2.0", "2.1"),
            "trainer.TorchMLPolicySource",
            contradicts=(*_POLICY, "numNodes"),
        ),
    ),
}


def check_with_removed_fields(
    document: Json, kind: str, release: str, *, older_dialect: bool = False
) -> tuple[dict[str, Any], list[Finding]]:
    """Like `schema.check`, but honors fields of other releases, with a warning for each.

    Documents of older dialects get no warnings, because these fields are part of their APIs, and `contradicts` does not
    apply to them.
    """
    group = "TrainJob" if kind == "TrainJob" else "runtime"
    findings: list[Finding] = []
    extracted: list[tuple[Path, Any]] = []
    remaining = document
    spec = document.get("spec")
    spec_fields = spec if isinstance(spec, dict) else {}
    for removed in REMOVED_FIELDS[group]:
        if removed.path[1] not in spec_fields:
            continue  # Skip the lookup, since almost no document has these fields.
        value = value_at(document, removed.path)
        own_rules = older_dialect and removed.contradicts
        if not removed.applies(value) or (release in removed.releases and not own_rules):
            continue
        checked, problems = _check_in_its_release(value, removed, document, kind, older_dialect)
        findings += problems if older_dialect else [_notice(removed, release), *problems]
        remaining = without_path(remaining, removed.path)
        extracted.append((removed.path, checked))
    for extension in EXTENSIONS if group == "runtime" else ():
        extended = extension(remaining, release, older_dialect)
        remaining = extended.document
        extracted += extended.extensions
        findings += extended.findings
    data, problems = check(remaining, kind, release)
    if has_errors(problems):
        return data, findings + problems
    for path, value in extracted:
        data = data if value is None else with_value(data, path, value)
    return data, findings + problems


def _check_in_its_release(
    value: Any, removed: RemovedField, document: Json, kind: str, older_dialect: bool
) -> tuple[Any, list[Finding]]:
    """Validate the value with a release that has the field; return its stored form and the findings."""
    minimal: Json = {"runtimeRef": {"name": "runtime"}} if kind == "TrainJob" else {"template": {"spec": {}}}
    stub: dict[str, Any] = {"apiVersion": document.get("apiVersion"), "kind": kind, "metadata": {"name": "stub"}}
    stub = with_value({**stub, "spec": minimal}, removed.path, value)
    contradiction = value_at(document, removed.contradicts) if removed.contradicts and not older_dialect else None
    if contradiction is not None:
        stub = with_value(stub, removed.contradicts, contradiction)
    stored, findings = check(stub, kind, removed.releases.last)
    return (None if has_errors(findings) else value_at(stored, removed.path)), findings


def _notice(removed: RemovedField, release: str) -> Finding:
    from trainc.schema.field_homes import release_hint

    field = str(removed.path[-1])
    has = removed.releases.last
    message = f"Trainer {release} has no field {field} here; it is compiled as in Trainer {has}"
    hint = (removed.hint or release_hint(removed.owner, field, release)) + "; `trainc migrate` rewrites the file"
    return Finding(removed.code, "warning", message, hint, removed.path)
