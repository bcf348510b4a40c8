"""The mutants of a file: its functions, each with one change by one of mutmut's operators."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import Mutation, MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

# Decorators that make mutmut skip a function, although its code can be replaced here.
_TRANSPARENT = frozenset({"property", "cache", "cached_property"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed function. `lines` are the changed lines in its file, `body` those of the function."""

    file: Path
    function: str
    lines: range
    body: range
    _module: cst.Module
    _mutation: Mutation

    @property
    def source(self) -> str:
        """The changed source of the whole file."""
        changed = self._module.deep_replace(self._mutation.original_node, self._mutation.mutated_node)
        assert isinstance(changed, cst.Module)
        code: str = changed.code
        return code

    @property
    def change(self) -> str:
        """The lines before and after the change."""
        return _difference(self._module.code, self.source)


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Every mutant of a file's functions and methods, in file order."""
    wrapper = MetadataWrapper(cst.parse_module(file.read_text(encoding="utf-8")), unsafe_skip_copy=True)
    visitor = _Visitor(mutation_operators, IgnoredCode(set(), set(), set()))
    module = wrapper.visit(visitor)
    positions = wrapper.resolve(PositionProvider)
    names = dict(_functions(module.body))
    for mutation in visitor.mutations:
        function = mutation.contained_by_top_level_function
        if not isinstance(function, cst.FunctionDef) or _is_prose(mutation):
            continue
        body = _lines(positions[function])
        lines = _lines(positions[mutation.original_node]) if mutation.original_node in positions else body
        yield Mutant(file, names[function], lines, body, module, mutation)


class _Visitor(MutationVisitor):
    """Includes properties, which mutmut skips: its trampolines cannot replace them, but replacing their code can."""

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef) and len(node.decorators) == 1:
            decorator = node.decorators[0].decorator
            if isinstance(decorator, cst.Name) and decorator.value in _TRANSPARENT:
                return False
        skipped: bool = super()._skip_node_and_children(node)
        return skipped


def _lines(place: CodeRange) -> range:
    return range(place.start.line, place.end.line + 1)


def _is_prose(mutation: Mutation) -> bool:
    """Whether a mutation only changes the wording of a message, i.e. a string with a space between words."""
    node = mutation.original_node
    return isinstance(node, cst.SimpleString) and " " in node.value.strip("\"' ")


def _functions(body: object, prefix: str = "") -> Iterator[tuple[cst.FunctionDef, str]]:
    assert isinstance(body, tuple | list)
    for statement in body:
        if isinstance(statement, cst.FunctionDef):
            yield statement, prefix + statement.name.value
        elif isinstance(statement, cst.ClassDef):
            yield from _functions(statement.body.body, f"{prefix}{statement.name.value}.")


def _difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))
