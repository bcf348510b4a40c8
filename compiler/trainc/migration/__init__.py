"""Migration: documents of older releases, dialects and operators, rewritten in the newest API with their comments kept."""
