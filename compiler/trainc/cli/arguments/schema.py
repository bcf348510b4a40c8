"""The kinds of which there is a JSON Schema."""

from __future__ import annotations

from trainc.features import features

KINDS = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")
# trainc's own files.
OWN_KINDS = ("Overlay", "Cluster", *(kind for feature in features() for kind in feature.kinds), "trainc.yaml")
ALL_KINDS = (*KINDS, *OWN_KINDS)
KINDS_HELP = f"{', '.join(ALL_KINDS)} (default: {', '.join(KINDS[:2])} and {KINDS[2]} together)"
