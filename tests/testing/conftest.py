"""The example is a project of its own: test_plugin.py runs it, in a copy."""

from __future__ import annotations

collect_ignore = ["example"]
