"""Whether Kueue will ever admit a job: its answer, computed offline from the JobSets and a snapshot of the cluster."""
