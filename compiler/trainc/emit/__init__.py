"""Manifests to files: admission defaults and rules, GitOps shaping, order, deterministic YAML."""
