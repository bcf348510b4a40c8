"""What trainc does besides compiling: a folder and a section of features.txt for each feature, in four quarters.

gitops/ serves teams that keep jobs in git, cluster/ asks a cluster as a dump of it shows it, authoring/ helps to write and
try jobs, migration/ brings jobs of older APIs over.

To delete a feature, delete its folder, its folder in tests/features, and its section. A feature imports `trainc.api` and
itself. What it adds to the rest is found here by name, and imported when it is used:

- `command`: a command: what its help says is in `arguments.txt` of the folder, what it takes in `arguments.json`, and what it
  does in `command.py`.
- `public`: names of the package `trainc`, each with the module of the folder that defines it.
- Its diagnostic codes, if it has any, are in `codes.txt` of the folder, with a page of each in `rules/`.
- `kinds`: kinds of documents of trainc's own, each with its record, as `module.name` in the folder.
- `adds`: functions and records for extension points, as `module.name` in the folder. `added` yields those of all features
  for one point, and `ask` returns that of one feature, for features that show each other's results.

The compiler asks this table too; it never names a feature.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import starmap

from trainc.startup import import_module
from trainc.startup.records import dataclass, field
from trainc.startup.shipped import read_sections
from trainc.startup.typing import Any


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its folder, as QUARTER/NAME, and what it adds. `group` is the heading of its command in `trainc --help`."""

    path: str
    command: str = ""
    summary: str = ""
    group: str = ""
    public: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    adds: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called, by `ask` and by tests that hide it: the name of its folder."""
        return self.path.rpartition("/")[2]

    @property
    def package(self) -> str:
        """The name of its package."""
        return f"{__name__}.{self.path.replace('/', '.')}"

    @property
    def folder(self) -> str:
        """The path of its folder."""
        return os.path.join(os.path.dirname(__file__), *self.path.split("/"))

    def load(self, target: str) -> Any:
        """Import `module.function` of the feature's folder; `.function` is one of the package itself."""
        module, _, name = target.rpartition(".")
        return getattr(import_module(".".join(filter(None, (self.package, module)))), name)


def _feature(path: str, rows: Iterable[tuple[str, str]]) -> Feature:
    given: dict[str, Any] = {}
    for row, value in rows:
        name, _, key = row.partition(" ")
        if key:
            given.setdefault(name, {})[key] = value
        else:
            given[name] = value
    return Feature(path, **given)


@cache
def features() -> tuple[Feature, ...]:
    """Return the features whose folders are there."""
    listed = starmap(_feature, read_sections(__file__, "features.txt").items())
    return tuple(feature for feature in listed if os.path.isdir(feature.folder))


def added(point: str) -> Iterator[Any]:
    """Yield what each feature adds at an extension point."""
    for feature in features():
        if point in feature.adds:
            yield feature.load(feature.adds[point])


def ask(name: str, point: str) -> Any | None:
    """Return what one feature adds at an extension point, or None if it adds nothing or is not there."""
    for feature in features():
        if feature.name == name and point in feature.adds:
            return feature.load(feature.adds[point])
    return None


def public_names() -> dict[str, str]:
    """Return the module of each name that features add to the package `trainc`."""
    return {name: f"{feature.package}.{module}" for feature in features() for name, module in feature.public.items()}
