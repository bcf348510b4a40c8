"""What a cluster has of what compiled jobs need: versions of JobSet, Trainer, Kueue and the gang schedulers."""
