"""From manifests to text: GitOps shaping, Secrets, delivery annotations, order, and deterministic YAML."""
