"""The kustomize function: replaces TrainJobs and runtimes among other resources by the compiled manifests."""

from __future__ import annotations

# A file that teaches kustomize the fields of our kinds: `trainc krm --print` prints it.
FILE_NAME = "kustomizeconfig.yaml"
FILE_NAMES = (FILE_NAME,)
