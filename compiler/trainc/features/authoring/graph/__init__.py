"""A picture of a job: its steps, pods, GPUs, volumes, addresses and gang, read from the manifests."""
