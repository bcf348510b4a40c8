"""Check a cluster for what compiled jobs need: versions of JobSet, Trainer, Kueue and the gang schedulers."""
