"""Migration: documents of older releases and dialects, rewritten in the newest API with their comments kept."""
