"""Kueue's versions, and which of them treat jobs differently.

Each span names the pull request of kubernetes-sigs/kueue and starts at the first release that has it
(CHANGELOG/CHANGELOG-{0.19,0.20}.md). Only what is on by default counts.
"""

from __future__ import annotations

from trainc.kube.releases import Span
from trainc.startup.patterns import pattern

MINORS = ("0.19", "0.20")
# The end of the path of its controller's image, without the tag.
IMAGE = "kueue/kueue"
# The releases at which something changed. Each stands for the later ones up to the next.
_STEPS = ("0.19.2", "0.19.3", "0.19.5", "0.19.6", "0.20.0")
# The one whose answers were recorded (PORT.yaml), and that is assumed if the version is unknown.
DEFAULT = _STEPS[0]
_SPELLING = pattern(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")


def _span(first: str, last: str | None = None) -> Span:
    return Span(first, last, axis=_STEPS)


# Limits replace missing requests before the defaults of a LimitRange do: #15023.
LIMITS_FIRST = _span("0.19.3")
# The leader of a group is placed only on nodes that it can run on: #15447.
LEADER_FEASIBLE = _span("0.19.5")
# The last slice of a pod set may have fewer pods than the others: #15640.
PARTIAL_SLICES = _span("0.19.6")
# The requests of all containers count, even if those of the pod as a whole are lower: #16047.
CONTAINERS_COUNT = _span("0.19.6")
# podset-unconstrained-topology: "false" is refused: #15262.
FALSE_REFUSED = _span("0.19.6")
# Each node counts for itself, even if the lowest level of a topology is wider than a node: #14191.
NODES_COUNT = _span("0.20.0")
# A group of pod sets may have slices: #15111.
SLICED_GROUPS = _span("0.20.0")
# The annotations podset-topology-spreading, wait-for-pods-ready and pod-group-max-not-ready-count exist: #14820, #15503,
# #16059.
NEW_ANNOTATIONS = _span("0.20.0")
# A WorkloadPriorityClass named `default` is that of jobs that name none: gate WorkloadPriorityClassDefaulting.
DEFAULT_PRIORITY_CLASS = _span("0.20.0")
# The API kueue.x-k8s.io/v1beta1 is served: #14558.
V1BETA1 = _span("0.19.2", "0.19.6")


def normalize_kueue(text: str) -> str:
    """Return a version without its "v": "0.19", "0.20.1". Raises ValueError if its minor is not supported."""
    match = _SPELLING.fullmatch(text)
    if match is None or f"{match[1]}.{match[2]}" not in MINORS:
        raise ValueError(
            f"unknown Kueue version {text!r}; choose one of {', '.join(MINORS)}, or a patch such as 0.19.6"
        )
    return text.removeprefix("v")


def step_of(version: str) -> str:
    """The release whose rules apply to a version: the newest step up to it, or the closest that trainc knows.

    A minor without a patch stands for its first step.
    """
    match = _SPELLING.fullmatch(version)
    if match is None:
        return DEFAULT
    number = tuple(int(part or 0) for part in match.groups())
    steps = [step for step in _STEPS if tuple(map(int, step.split("."))) <= number]
    return steps[-1] if steps else DEFAULT


def version_of(requested: str | None, installed: str) -> str:
    """The version whose rules apply: the one requested, or else `installed` in a cluster, which may add a patch to a minor."""
    return installed if not requested or minor_of(installed) == requested else requested


def minor_of(version: str) -> str:
    """The minor of a version: "0.19" for "v0.19.6"; empty if it has none."""
    match = _SPELLING.fullmatch(version)
    return f"{match[1]}.{match[2]}" if match else ""
