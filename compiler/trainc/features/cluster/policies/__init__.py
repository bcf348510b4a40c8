"""Evaluate the cluster's own ValidatingAdmissionPolicies, and Pod Security, against what a job becomes."""
