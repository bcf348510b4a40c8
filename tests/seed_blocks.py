"""What trainc says of each YAML block of the documents that the project was asked to serve, one row a block.

The documents themselves are not part of the project; tests/test_seeds.py reads them where they are. A row says what is
done with a block alone: it is compiled, checked in its parent's place, refused, or nothing to check, and what is said of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["compiled", "checked", "refused", "nothing"]
# Code, line, column, and words of the cause or of the mend.
Said: TypeAlias = tuple[str, int, int, str]


@dataclass(frozen=True, slots=True)
class Expected:
    """One block's outcome; a TrainJob is compiled `beside` the block with its runtime."""

    outcome: Outcome
    errors: tuple[Said, ...] = ()
    warnings: tuple[Said, ...] = ()
    beside: str = ""


def refused(*errors: Said, warnings: tuple[Said, ...] = ()) -> Expected:
    return Expected("refused", errors, warnings)


def checked(*warnings: Said) -> Expected:
    return Expected("checked", (), warnings)


def compiled(*warnings: Said, beside: str = "") -> Expected:
    return Expected("compiled", (), warnings, beside)


def deprecated(column: int = 1) -> Said:
    return ("DeprecatedAPIVersion", 1, column, "v2alpha1 was replaced by trainer.kubeflow.org/v1alpha1")


def processes(line: int, column: int) -> Said:
    return (
        "TorchNumProcPerNodeRemoved",
        line,
        column,
        "use spec.trainer.numProcPerNode of the TrainJob: the field was removed in Trainer 2.2",
    )


def inferred(line: int, job: str = "worker", column: int = 9) -> Said:
    return ("RoleInferred", line, column, f"job '{job}'")


def image(line: int) -> Said:
    return ("MissingImage", line, 19, "container 'trainer' of job 'worker' has no image")


def ellipsis(line: int, column: int) -> Expected:
    return refused(("YAMLSyntax", line, column, "remove the ellipsis"))


def flattened(line: int, parent: str) -> Expected:
    return refused(("FlattenedYAML", line, 1, f"the indentation is lost: `{parent}:` is empty"))


UNRELEASED: Said = ("UnreleasedAPI", 1, 1, "the training kinds of ome.io/v1beta1 were never released")

BLOCKS: dict[str, Expected] = {
    "000-1": flattened(3, "metadata"),
    "000-2": flattened(3, "metadata"),
    "000-3": flattened(3, "metadata"),
    "000-4": flattened(3, "metadata"),
    "000-5": flattened(1, "mlPolicy"),
    "000-6": flattened(4, "metadata"),
    "000-7": flattened(3, "metadata"),
    "001-1": refused(
        *(("MissingRequired", line, 17, "template is missing") for line in (16, 17, 18)), warnings=(deprecated(5),)
    ),
    "001-2": ellipsis(11, 9),
    "001-3": refused(
        ("MisplacedPodSpec", 13, 13, "move its fields to replicatedJobs[].template.spec.template.spec"),
        warnings=(deprecated(5), ("CoercedType", 10, 13, 'quote it: "4"')),
    ),
    "001-4": ellipsis(11, 9),
    "001-5": checked(processes(4, 5)),
    "001-6": refused(("YAMLSyntax", 3, 9, "`template` is indented under `name`, which already has a value")),
    "001-7": compiled(
        deprecated(),
        ("InitializerNotOrdered", 9, 11, "dependsOn: [{name: dataset-initializer, status: Complete}]"),
        ("InitializerNotOrdered", 20, 11, "dependsOn: [{name: model-initializer, status: Complete}]"),
    ),
    "002-1": compiled(processes(11, 7)),
    "002-2": compiled(beside="002-1"),
    "002-3": compiled(processes(12, 7)),
    "002-4": compiled(beside="002-3"),
    "002-5": checked(),
    "002-6": checked(),
    "003-1": compiled(UNRELEASED, inferred(17), ("SchedulerNameMissing", 23, 15, "set schedulerName")),
    "003-2": checked(("ElasticWithNumNodes", 3, 5, "starts with 8 nodes")),
    "003-3": checked(),
    "003-4": checked(("MissingTrainerAncestor", 7, 7, "no job has the ancestor label of the trainer")),
    "003-5": compiled(
        UNRELEASED,
        inferred(13),
        ("UnexpandedShellVariable", 28, 21, "write $(PET_MASTER_ADDR) for MASTER_ADDR, or remove the flag"),
    ),
    "003-6": compiled(
        UNRELEASED,
        (
            "ElasticMetricsNotEmitted",
            13,
            9,
            "a JobSet, which has no scale subresource, and the trainer does not request cpu",
        ),
        inferred(23),
    ),
    "003-7": compiled(UNRELEASED, ("MPINodesAwaited", 14, 5, "successPolicy"), inferred(16, "launcher"), inferred(34)),
    "003-8": refused(
        ("MissingLauncher", 1, 1, "8 nodes need a job 'launcher', which runs mpirun, and a job 'node'"),
        warnings=(("MPIImplementationNotInTrainer", 6, 7, "Trainer does not support Intel"), inferred(10)),
    ),
    "003-9": checked(),
    "003-10": checked(("VolcanoFieldsNotInTrainer", 4, 5, "minMember, queue, priorityClassName")),
    "003-11": checked(inferred(5), image(13)),
    "003-12": checked(inferred(5), image(13)),
    "003-13": compiled(
        UNRELEASED, inferred(12), ("UnexpandedShellVariable", 21, 26, "write $(PET_NNODES) for NUM_NODES, or remove")
    ),
    "003-14": checked(inferred(14), image(20)),
    "003-15": refused(
        ("MissingRequired", 16, 15, "containers is missing"),
        warnings=(("DeprecatedField", 4, 7, "removed in Trainer 2.2"),),
    ),
    "003-16": checked(inferred(5), image(11)),
    "003-17": checked(inferred(9), image(15)),
    "003-18": checked(inferred(5), image(11)),
    "003-19": Expected("nothing", (), (("SkippedDocument", 2, 1, "neither a TrainJob nor a runtime"),)),
    "003-20": checked(inferred(5), image(15)),
    "004-1": refused(
        ("UnknownField", 6, 1, "indent mlPolicy under spec"),
        ("UnknownField", 10, 1, "indent podGroupPolicy under spec"),
        ("UnknownField", 13, 1, "indent template under spec"),
        warnings=(deprecated(),),
    ),
    "004-2": ellipsis(10, 5),
    "004-3": refused(("YAMLSyntax", 15, 9, "`image` is in the same column as the dash above")),
    "004-4": ellipsis(10, 5),
    "004-5": checked(processes(4, 5)),
    "004-6": refused(
        ("MisplacedPodSpec", 5, 15, "move its fields one level down, to template.spec"),
        ("MisplacedPodSpec", 12, 15, "move its fields one level down, to template.spec"),
    ),
    "004-7": refused(
        ("MissingRequired", 2, 5, "template is missing"),
        ("UnknownField", 3, 5, "move it to template.spec.template.spec."),
        ("UnknownField", 14, 5, "move it to template.spec.template.spec."),
    ),
}

# The same blocks once what the rows above ask for is mended: levels of indentation, a hexadecimal digit a line, or
# None where an ellipsis is taken out.
_SPEC_OF_000 = "01223123456786789ABBCCCDDDDD"
REPAIRED: dict[str, tuple[str | None, Expected]] = {
    "000-1": (f"0001{_SPEC_OF_000}", compiled(processes(9, 7))),
    "000-2": (
        "0001101222",
        refused(("UnsupportedRuntimeRef", 8, 5, "set apiGroup: trainer.kubeflow.org, or remove it")),
    ),
    "000-3": (f"00011{_SPEC_OF_000}", compiled(processes(10, 7))),
    "000-5": ("0112", checked(processes(4, 5))),
    "000-6": ("01234534567812342345678889AA9A", checked(("RoleInferred", 13, 5, "job 'node'"))),
    "000-7": (
        "00010123" + "456786789AB" + 2 * ("456756786789AB"),
        compiled(deprecated()),
    ),
    "001-2": (
        None,
        refused(
            ("UnsupportedRuntimeRef", 8, 9, "set apiGroup: trainer.kubeflow.org, or remove it"),
            warnings=(deprecated(5),),
        ),
    ),
    "001-6": (
        "01234567881234567888" + "9AA9A",
        checked(("MissingTrainerAncestor", 1, 1, "no job has the ancestor label")),
    ),
    "004-2": (
        None,
        refused(
            ("UnsupportedRuntimeRef", 9, 9, "write kind: ClusterTrainingRuntime (or TrainingRuntime) and name: torch-"),
            warnings=(deprecated(),),
        ),
    ),
    "004-3": (
        "0001101223123455",
        refused(
            ("UnknownField", 9, 5, "write torch"),
            ("MisplacedPodSpec", 13, 7, "move its fields to replicatedJobs[].template.spec.template.spec"),
            warnings=(deprecated(),),
        ),
    ),
    "004-4": (
        None,
        refused(
            ("UnknownAPIVersion", 1, 5, "write apiVersion: trainer.kubeflow.org/v1alpha1"),
            ("UnknownField", 7, 5, "indent runtimeRef under spec"),
        ),
    ),
}
