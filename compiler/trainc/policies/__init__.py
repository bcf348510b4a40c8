"""The cluster's own ValidatingAdmissionPolicies, evaluated against what a job compiles to."""
