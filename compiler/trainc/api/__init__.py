"""What Kubernetes, JobSet and Trainer define: schemas, names, quantities, field paths and merge rules, by release."""
