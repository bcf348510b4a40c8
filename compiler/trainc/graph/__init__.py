"""A job as a picture: its steps, pods, GPUs, volumes, addresses and gang, read from the manifests."""
