"""The Kubeflow SDK (0.3 to 0.5) without a cluster: what its train() would submit, compiled, kept and written."""
