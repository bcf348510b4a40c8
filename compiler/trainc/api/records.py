"""How records and patterns are defined: without the start-up cost of the standard library's."""

from trainc.startup.patterns import pattern as pattern
from trainc.startup.records import dataclass as dataclass, field as field, replace as replace
