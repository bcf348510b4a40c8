"""Rewrites templates so that operations that bypass the environment count towards the budget."""

from __future__ import annotations

from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.visitor import NodeTransformer

_NODES_PER_STEP = 10


class Bounding(NodeTransformer):
    """Rewrites templates so that operations that bypass the environment count towards the budget."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        """Turn `for x in items` into `for x in items | counted(n)`, where `n` depends on the size of the body."""
        steps = _steps(node)
        self.generic_visit(node)
        if node.recursive:
            raise SecurityError("recursive loops are not supported")
        node.iter = _filtered(node.iter, "counted", nodes.Const(steps))
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        """Charge for the size of the body on every call."""
        self._pay_for_size(node)
        return node

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802
        """Like `visit_Macro`."""
        self._pay_for_size(node)
        return node

    def visit_Block(self, node: nodes.Block) -> nodes.Node:  # noqa: N802
        """Like `visit_Macro`."""
        self._pay_for_size(node)
        return node

    def visit_EvalContextModifier(self, node: nodes.EvalContextModifier) -> nodes.Node:  # noqa: N802
        """Reject `autoescape`, which creates a string type whose methods the sandbox does not cover."""
        raise SecurityError(f"{type(node).__name__}: autoescape is for HTML")

    def visit_ScopedEvalContextModifier(self, node: nodes.ScopedEvalContextModifier) -> nodes.Node:  # noqa: N802
        """Like `visit_EvalContextModifier`, for the block form."""
        return self.visit_EvalContextModifier(node)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Turn `a in b` into `a | weighed in b | weighed`, as every item of a list may be compared."""
        self.generic_visit(node)
        node.expr = _filtered(node.expr, "weighed")
        for operand in node.ops:
            operand.expr = _filtered(operand.expr, "weighed")
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """Turn `a[1:]` into `a[1:] | made`."""
        self.generic_visit(node)
        return _filtered(node, "made") if isinstance(node.arg, nodes.Slice) else node

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        """Turn `[a, b]` into `[a, b] | made`, since nested lists can grow exponentially without loops."""
        self.generic_visit(node)
        return _filtered(node, "made")

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        """Like `visit_List`; also restrict keys to types that YAML allows."""
        self.generic_visit(node)
        for pair in node.items:
            pair.key = _filtered(pair.key, "key")
        return _filtered(node, "made")

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        """Like `visit_List`, except for assignment targets."""
        if node.ctx != "load":
            return node
        self.generic_visit(node)
        return _filtered(node, "made")

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """Turn `a ~ b` into `[a, b] | join`."""
        self.generic_visit(node)
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes), "join")

    def _pay_for_size(self, node: nodes.Macro | nodes.CallBlock | nodes.Block) -> None:
        steps = _steps(node)
        self.generic_visit(node)
        spent = _filtered(nodes.Const(steps, lineno=node.lineno), "spent")
        node.body.insert(0, nodes.ExprStmt(spent, lineno=node.lineno))


def _steps(node: nodes.Node) -> int:
    """Return the cost of running a node once, in steps."""
    return 1 + sum(1 for _ in node.find_all(nodes.Node)) // _NODES_PER_STEP


def _filtered(node: nodes.Node, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(arguments), [], None, None, lineno=node.lineno)
