"""`trainc init`: create a GitOps repository."""
