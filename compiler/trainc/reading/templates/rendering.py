"""Renders templates: parses, rewrites and runs them, and turns errors into diagnostics with lines."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any

from jinja2 import Template, TemplateError, TemplateSyntaxError, UndefinedError, nodes
from jinja2.visitor import NodeTransformer

from trainc.options import Limits
from trainc.reading.templates.bounding import Bounding
from trainc.reading.templates.budget import Budget
from trainc.reading.templates.failure import TemplateFailedError, TooMuchError
from trainc.reading.templates.sandbox import BoundedEnvironment
from trainc.startup.patterns import pattern

_NAME = "<template>"
# Exceptions from template expressions besides Jinja2's own: 1/0, {}[[]], 'a' + 1, deeply nested loops.
_EXPRESSION_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, SyntaxError, TypeError, ValueError)
# The cost of parsing in Jinja2 in the worst cases: strings full of backslashes, many blocks.
_BYTES_PER_CHARACTER = 100
_STEPS_PER_WORD = 4
_MARK = pattern("\ue000([0-9]+)\ue001")
# If there are several marks at the start of a line, the last one applies; the text of the others is empty there.
_MARKS = pattern(f"(?:{_MARK.pattern})+")


def rendered(text: str, file: str, values: Mapping[str, Any], limits: Limits) -> str:
    """Render a template. Raises TemplateFailedError."""
    failed = partial(TemplateFailedError, file, text)
    try:
        return _run(text, values, limits, ())
    except TemplateSyntaxError as error:
        hint = "check the Jinja2 syntax; write a literal brace as {{ '{{' }}"
        raise failed(error.lineno, f"the template is malformed: {error.message}", hint) from None
    except UndefinedError as error:
        hint = "set it under `values` in an overlay, or give it a default, as in {{ x | default(1) }}"
        raise failed(_line(error.__traceback__), str(error), hint) from None
    except TooMuchError as error:
        hint = "split the template, or raise the limit"
        raise failed(_line(error.__traceback__), f"the template was stopped: {error}", hint) from None
    except (TemplateError, *_EXPRESSION_ERRORS) as error:
        message = str(error) or type(error).__name__
        hint = "remove the call: templates run in a sandbox without files and Python functions"
        raise failed(_line(error.__traceback__), f"the template fails: {message}", hint) from None


def template_lines(text: str, output: str, file: str, values: Mapping[str, Any], limits: Limits) -> list[int]:
    """Return the template line for each line of `output`, which is the rendered `text`.

    Renders the template again with marks at each line. If the marks change the output, all lines map to line 1.
    """
    try:
        marked = _run(text, values, limits, (_Marking(),))
    except TooMuchError:  # The marks count towards the budget.
        return [1]
    if _MARK.sub("", marked) != output:
        return [1]
    lines: list[int] = []
    current = 1
    for line in marked.split("\n"):
        found = _MARKS.search(line)
        current = int(found[1]) if found else current
        lines.append(current)
    return lines


def _run(text: str, values: Mapping[str, Any], limits: Limits, changes: tuple[NodeTransformer, ...]) -> str:
    environment = BoundedEnvironment(Budget(limits))
    if len(text) > limits.template_bytes // _BYTES_PER_CHARACTER:
        raise TooMuchError("it is too long")
    words = (kind for _, kind, _ in environment.lex(text, _NAME, _NAME) if kind != "data")
    if next(islice(words, limits.template_steps // _STEPS_PER_WORD, None), None):
        raise TooMuchError("it has too many tokens")
    tree: Any = environment.parse(text, _NAME, _NAME)
    for change in (Bounding(), *changes):
        tree = change.visit(tree)
    code = environment.compile(tree, _NAME, _NAME)
    return Template.from_code(environment, code, environment.make_globals(None)).render(deepcopy(dict(values)))


class _Marking(NodeTransformer):
    """Inserts a mark with the line number before every line of literal text."""

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:  # noqa: N802
        """Mark the lines of literal text; `lineno` is the first one."""
        lines = (f"\ue000{node.lineno + i}\ue001{line}" for i, line in enumerate(node.data.split("\n")))
        return nodes.TemplateData("\n".join(lines), lineno=node.lineno)


def _line(traceback: TracebackType | None) -> int:
    """Return the innermost line of the template in a traceback, or 1 if there is none."""
    line = 1
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == _NAME:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
