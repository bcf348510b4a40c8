"""The kustomize function: TrainJobs and runtimes among other resources go in, what they compile to comes out."""
