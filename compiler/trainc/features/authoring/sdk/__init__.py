"""The Kubeflow SDK (0.3 to 0.5) without a cluster: TrainJobs from train() are compiled, collected and written."""
