"""What asks a cluster, as a dump of it shows it: queues, policies, what is installed, its jobs."""
