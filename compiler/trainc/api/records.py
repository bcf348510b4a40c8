"""How records and patterns are defined: without the start-up cost of the standard library's."""

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field, replace

__all__ = ["dataclass", "field", "pattern", "replace"]
