"""Say of what a dump of a cluster shows as not running why it does not, and what to do."""
