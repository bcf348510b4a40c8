"""Versions of packages, where they are known: what a command installs, what trainc.yaml or an SBOM says, what an image's tag says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from posixpath import basename

from trainc.kube.names import normalized_package
from trainc.startup.patterns import matcher, pattern
from trainc.startup.typing import TypeAlias

# Versions of packages, by globs of the images that have them.
Software: TypeAlias = "tuple[tuple[str, tuple[tuple[str, str], ...]], ...]"

_NUMBERS = pattern(r"[vr]?(\d+(?:\.\d+)*)")
_PINNED = pattern(r"([A-Za-z0-9][\w.-]*)(?:\[[\w, .-]*\])?===?([\w.+!-]+)")
# Public images whose tags begin with the version of a package, also in a mirror.
_TAGS: Mapping[str, str] = {
    **{f"*/{n}": n for n in "python fairseq trl ms-swift torchtitan torchtune llamafactory xgboost wenet".split()},
    "*/speechbrain": "speechbrain",
    "*/pytorch/pytorch": "torch",
    "*/763104351884.dkr.ecr.*/*pytorch-training": "torch",
    "*/mosaicml/pytorch": "torch",
    "*/huggingface/transformers-pytorch-gpu": "transformers",
    "*/swift": "ms-swift",
    "*/pytorch_lightning": "pytorch-lightning",
    "*/rayproject/ray*": "ray",
    "*/tpu-pytorch*/xla": "torch-xla",
}
# Tags name other packages with their versions: torch2.6.0-transformers4.55.4.
_IN_TAG = pattern(
    r"(?<![a-z0-9])(torch|pytorch|transformers|trl|accelerate|deepspeed|verl|swift|lightning|pl|jax)[-_]?v?(\d+\.\d+(?:\.\d+)*)"
)
_PYTHON_IN_TAG = pattern(r"(?<![a-z0-9])py(?:thon)?[-_]?(3)\.?(\d{1,2})(?!\d)")
_ALIASES: Mapping[str, str] = {"pytorch": "torch", "swift": "ms-swift", "pl": "pytorch-lightning"}
# Programs that change what an image has.
_CHANGING = pattern(r"\b(?:install|sync|uv|conda|mamba|micromamba|poetry|pixi|pdm|activate)\b")


class Version(str):
    """The version of a package, perhaps without its last numbers: "5.3" is any 5.3."""

    __slots__ = ()

    def compare(self, operator: str, other: str) -> bool | None:
        """Return whether a relation to another version holds; None if the numbers that are known do not tell."""
        left, right = _numbers(self), _numbers(other)
        if not left or not right or (left == right[: len(left)] and any(right[len(left) :])):
            return None
        size = max(len(left), len(right))
        left, right = [[*numbers, *[0] * (size - len(numbers))] for numbers in (left, right)]
        holds = {"==": left == right, "!=": left != right, "<": left < right, ">": left > right}
        return holds.get(operator, left == right or (left < right) == (operator == "<="))


def _numbers(version: str) -> list[int]:
    match = _NUMBERS.match(version)
    return [int(part[:9]) for part in match[1].split(".")] if match else []


def of_image(image: str, software: Software) -> Iterator[tuple[str, Version, str]]:
    """Yield what is known of the packages of an image, each with how it is known; the last of a package counts.

    Of globs that the image has, that with the most letters is the last.
    """
    reference = image.partition("@")[0]
    folders, _, last = reference.rpartition("/")
    name, _, tag = last.partition(":")
    for glob, package in _TAGS.items():
        if matcher(glob)(f"/{folders}/{name}") and (match := _NUMBERS.match(tag)) is not None and "." in match[1]:
            yield package, Version(match[1]), "as the tag of the image says"
    for match in _IN_TAG.finditer(tag):
        yield _ALIASES.get(match[1], match[1]), Version(match[2]), "as the tag of the image says"
    if (python := _PYTHON_IN_TAG.search(tag)) is not None:
        yield "python", Version(".".join(python.groups())), "as the tag of the image says"
    for glob, packages in sorted(software, key=lambda known: len(known[0].replace("*", ""))):
        if is_like(image, glob):
            yield from ((package, Version(version), "as trainc.yaml says") for package, version in packages)


def is_like(image: str, glob: str) -> bool:
    """Return whether a glob is about an image: with its digest, without, or without its tag."""
    reference = image.partition("@")[0]
    folders, slash, last = reference.rpartition("/")
    return any(matcher(glob)(known) for known in (image, reference, f"{folders}{slash}{last.partition(':')[0]}"))


def installed(commands: Iterable[tuple[tuple[str, ...], bool]]) -> dict[str, Version | None]:
    """Return the versions of the packages that commands install: None where one may be of any version.

    `commands` are words, and whether they always run.
    """
    versions: dict[str, Version | None] = {}
    for words, sure in commands:
        names = [basename(word) for word in words]
        if "install" not in names or not any(name.startswith("pip") for name in names[: names.index("install")]):
            continue
        for word in words[names.index("install") + 1 :]:
            match = _PINNED.fullmatch(word)
            name = normalized_package(match[1] if match else word.partition("[")[0])
            is_known = match is not None and sure and name not in versions
            versions[name] = Version(match[2]) if match is not None and is_known else None
    return versions


@lru_cache(maxsize=64)  # Each command of a script asks the whole script.
def changes_image(text: str) -> bool:
    """Return whether a command may install something, also what nobody can see, so that an image says little."""
    return _CHANGING.search(text) is not None
