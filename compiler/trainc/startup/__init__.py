"""Helpers that keep start-up fast: records and lazy patterns. Obsolete once Python 3.15 (lazy imports) is required."""
