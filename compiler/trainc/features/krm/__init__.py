"""The kustomize function: replaces TrainJobs and runtimes among other resources by the compiled manifests."""
