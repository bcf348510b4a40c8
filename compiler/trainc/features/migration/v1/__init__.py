"""Migrate documents of older releases, dialects and operators to the newest API, keeping their comments."""
