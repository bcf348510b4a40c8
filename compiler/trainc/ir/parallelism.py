"""How training programs divide the ranks of a job: their degrees of parallelism, as tables and as groups of ranks.

Sources: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args) and megatron/core/parallel_state.py;
NVIDIA-NeMo/NeMo and Megatron-Bridge, which pass the same names on; pytorch/torchtitan
torchtitan/distributed/parallel_dims.py; pytorch/torchtune torchtune/training/_distributed.py (ParallelDims);
huggingface/accelerate parallelism_config.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import prod

from trainc.kube.quantity import whole_number
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field
from trainc.startup.shipped import read_data
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# What the axes are called, in the order in which they are shown.
AXES: Mapping[str, str] = {
    "tp": "tensor",
    "cp": "context",
    "sp": "sequence",
    "ep": "expert",
    "etp": "expert tensor",
    "dp": "data",
    "dp_shard": "data (shard)",
    "dp_replicate": "data (replicate)",
    "pp": "pipeline",
}
# Degrees that the program works out from the number of ranks.
REST = -1
_OVERRIDE = pattern(r"\+{0,2}([A-Za-z_][\w.-]*)=(.*)", 16)  # re.DOTALL
# Parts of the names of variables with further arguments.
_FURTHER = ("ARG", "OPT", "FLAG", "EXTRA", "PARAM", "OVERRIDE", "CONFIG", "$@", "$*", "${@", "${*", "[@]", "[*]")


@dataclass(frozen=True, slots=True)
class Framework:
    """A program that divides its ranks.

    - `keys`: the axis of each option or setting, without leading dashes and with `_` for `-`. Besides the axes there are
      "global_batch" and "micro_batch".
    - `anchors`: the keys that only this program has. `programs`: the names of its scripts, whose other keys count too.
    - `divides`: axes whose product has to divide the number of ranks. `fills`: axes whose product has to be it;
      `inferred` is the one of them that is worked out from the others if it is not set.
    - `needs`: an option without which the others have no effect.
    - `order`: the axes by rank, those of neighbors first. `config`: options that name a file with more settings.
    - `hides`: options with which the degrees are not all in the command. `open`: it has a configuration of its own, which
      the command need not name.
    - `launched`: the launcher that has the options itself, if it is not the program.
    """

    name: str
    keys: Mapping[str, str]
    anchors: frozenset[str]
    programs: frozenset[str] = frozenset()
    divides: tuple[tuple[str, ...], ...] = ()
    fills: tuple[str, ...] = ()
    inferred: str = ""
    needs: str = ""
    order: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    hides: frozenset[str] = frozenset()
    open: bool = False
    launched: str = ""


@cache
def frameworks() -> tuple[Framework, ...]:
    """Return those of frameworks.json: keys stand there under their axis, and are all anchors if none is named."""
    return tuple(map(_framework, read_data(__file__, "frameworks.json")))


def _framework(row: Mapping[str, Any]) -> Framework:
    keys = {key: axis for axis, names in row["keys"].items() for key in names.split()}
    words = {name: tuple(row.get(name, "").split()) for name in ("fills", "order", "config")}
    names = {name: frozenset(row.get(name, "").split()) for name in ("programs", "hides")}
    anchors = frozenset(row["anchors"].split()) if "anchors" in row else frozenset(keys)
    divides = tuple(tuple(axes.split()) for axes in row.get("divides", ()))
    return Framework(**{**row, **words, **names, "keys": keys, "anchors": anchors, "divides": divides})


@cache
def _keys() -> frozenset[str]:
    return frozenset(key for framework in frameworks() for key in framework.keys)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a program as `text` ("--tensor-model-parallel-size 8"), its value, and the index of its word.

    Settings of a file have the index of the word that names the file. The value is None if it is unknown.
    """

    text: str
    value: str | None
    index: int

    @property
    def number(self) -> int | None:
        """The value as a number, or None."""
        text = (self.value or "").strip("\"'")
        return REST if text == str(REST) else whole_number(text)


@dataclass(frozen=True, slots=True)
class Arguments:
    """The settings of a command line by key, and the index behind which there may be others that are not visible.

    `program` is the name of the script.
    """

    settings: Mapping[str, Setting]
    hidden: int = 0
    program: str = ""

    @property
    def divides(self) -> bool:
        """Return whether a framework knows any of the settings."""
        return not _keys().isdisjoint(self.settings)


@lru_cache(maxsize=512)
def read_arguments(argv: tuple[str, ...]) -> Arguments:
    """Return the options (`--key value`, `--key=value`) and overrides (`key=value`) of a program; the last one counts."""
    settings: dict[str, Setting] = {}
    hidden = 0
    skipped = -1
    for index, word in enumerate(argv):
        if index == skipped:
            continue
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            following = argv[index + 1] if index + 1 < len(argv) else ""
            if not equals and following and not following.startswith("--") and not _has_arguments(following):
                value, skipped = following, index + 1
            text = f"{name}={value}" if equals or not value else f"{name} {value}"
            settings[name[2:].replace("-", "_")] = Setting(text, _literal_value(value), index)
        elif "=" in word and (override := _OVERRIDE.fullmatch(word)) is not None:
            settings[override[1].replace("-", "_")] = Setting(word.lstrip("+"), _literal_value(override[2]), index)
        elif "$" in word or "`" in word:
            hidden = index + 1
    return Arguments(settings, hidden, argv[0].rpartition("/")[2] if argv else "")


def _has_arguments(word: str) -> bool:
    """Return whether a word is a variable with several arguments, and not the value of one."""
    return word.startswith("$") and any(part in word.upper() for part in _FURTHER)


def _literal_value(value: str) -> str | None:
    return None if "$" in value or "`" in value else value


@dataclass(frozen=True, slots=True)
class Division:
    """How a command divides its ranks: the degrees of a framework, by axis.

    `complete` means that no other degree can be set elsewhere.
    """

    framework: Framework
    settings: Mapping[str, Setting]
    complete: bool
    arguments: Mapping[str, Setting] = field(default_factory=dict)

    def degree(self, axis: str) -> int | None:
        """Return a degree if it is a positive number, or None."""
        setting = self.settings.get(axis)
        number = setting.number if setting is not None else None
        return number if number is not None and number > 0 else None

    def product(self, axes: Sequence[str]) -> int:
        """Return the product of the known degrees; others only make it larger."""
        return prod(self.degree(axis) or 1 for axis in axes)

    def format(self, axes: Sequence[str]) -> str:
        """Return the known degrees, as in `tensor 8 x pipeline 4`."""
        return " x ".join(f"{AXES[axis]} {self.degree(axis)}" for axis in AXES if axis in axes and self.degree(axis))


def divisions(arguments: Arguments, files: Mapping[str, Mapping[str, str]], launcher: str = "") -> Iterator[Division]:
    """Yield how a command line divides its ranks, for each framework that has some of its keys.

    `files` are the settings of the files that are visible, by the option that names them. `launcher` is the one whose own
    options these are; empty for those of the program.
    """
    if not arguments.divides and not files:
        return
    for framework in frameworks():
        if framework.launched != launcher:
            continue
        settings, complete = _merge_settings(framework, arguments, files)
        is_used = arguments.program in framework.programs or not framework.anchors.isdisjoint(settings)
        if not is_used or not framework.hides.isdisjoint(arguments.settings):
            continue
        if framework.needs and framework.needs not in arguments.settings and complete:
            continue
        by_axis = {axis: settings[key] for key, axis in framework.keys.items() if key in settings}
        unknown = any(setting.number is None for setting in by_axis.values())
        yield Division(framework, by_axis, complete and not unknown, arguments.settings)


def _merge_settings(
    framework: Framework, arguments: Arguments, files: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, Setting], bool]:
    settings: dict[str, Setting] = {}
    complete = arguments.hidden == 0 and not framework.open
    for option in framework.config:
        file_setting = arguments.settings.get(option)
        if file_setting is None:
            continue
        if option not in files:
            complete = False
        for key, value in files.get(option, {}).items():
            settings[key] = Setting(f"{key}: {value} in {file_setting.value}", value, file_setting.index)
    # What may be hidden behind an option can override it.
    settings |= {key: setting for key, setting in arguments.settings.items() if setting.index >= arguments.hidden}
    return settings, complete


def groups(sizes: Mapping[str, int], order: Sequence[str], axis: str) -> list[list[int]]:
    """Return the groups of ranks along an axis, if the ranks are numbered by `order`, the axis of neighbors first."""
    stride = prod(sizes.get(inner, 1) for inner in order[: list(order).index(axis)])
    size, ranks = sizes.get(axis, 1), prod(sizes.get(other, 1) for other in order)
    starts = (base + offset for base in range(0, ranks, stride * size) for offset in range(stride))
    return [[start + stride * step for step in range(size)] for start in starts]
