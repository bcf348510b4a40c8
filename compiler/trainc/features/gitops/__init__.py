"""What teams that keep jobs in git use: differences, reports, repositories, kustomize and Argo CD."""
