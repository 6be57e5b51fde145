"""Mistakes of meaning: what a function may leave out, mix up, count twice or forget between two turns of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy

_CHOOSING = {"min", "max", "minimum", "maximum"}
_ALIKE = (({"records", "rows"}, {"individuals", "people"}), ({"low"}, {"high"}), ({"first"}, {"last"}))
_MIXED_UP = {word: others for pair in _ALIKE for own, others in (pair, pair[::-1]) for word in own}
_INSTEAD = {  # of a call with one argument
    "set": "tuple({})",
    "frozenset": "tuple({})",
    "unique": "np.sort({})",
    "sorted": "list({})",
    "argsort": "np.arange(len({}))",
    "lexsort": "np.arange(len({}[0]))",
}


class Meanings:
    """The mistakes that can be made in one function.

    Parameters
    ----------
    function
        It is not changed.
    """

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        nodes = list(ast.walk(function))
        self._names = {node.id for node in nodes if isinstance(node, ast.Name)}
        self._names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        self._fields = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        bound = [(node.id, node.lineno) for node in nodes if isinstance(node, ast.Name) and _is_set(node)]
        bound += [(node.arg, 0) for node in nodes if isinstance(node, ast.arg)]
        self._carried: set[ast.AST] = set()
        for loop in [node for node in nodes if isinstance(node, ast.For | ast.While)]:
            known = {name for name, line in bound if line < loop.lineno}
            self._carried |= {
                node
                for node in ast.walk(loop)
                if isinstance(node, ast.Assign) and all(_names_of(target) <= known for target in node.targets)
            }

    def of(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what may stand in the place of a node."""
        match node:
            case ast.BinOp(op=ast.Add() | ast.BitAnd() | ast.BitOr()):
                yield from (node.left, node.right)
            case ast.BinOp(op=ast.Sub()):
                yield node.left
            case ast.List(elts=[_, _, *_], ctx=ast.Load()):
                yield from (
                    ast.List([*node.elts[:i], *node.elts[i + 1 :]], node.ctx) for i in range(len(node.elts))
                )
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield from _called(name, node)
            case ast.Name(ctx=ast.Load()):
                yield from (ast.Name(other, node.ctx) for other in _mixed_up(node.id, self._names))
            case ast.Attribute(ctx=ast.Load()):
                found = _mixed_up(node.attr, self._fields)
                yield from (ast.Attribute(node.value, other, node.ctx) for other in found)
            case ast.For() | ast.While() if not isinstance(node.body[-1], ast.Break | ast.Return):
                once = copy(node)
                once.body = [*node.body, ast.Break()]
                yield once
            case ast.Assign() if node in self._carried:
                yield ast.Pass()


def _is_set(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _names_of(target: ast.expr) -> set[str]:
    """Return the names that an assignment binds; one that is never known where it binds anything else."""
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return {part.id if isinstance(part, ast.Name) else "" for part in parts}


def _called(name: str, call: ast.Call) -> Iterator[ast.AST]:
    several = len(call.args) > 1 or any(isinstance(arg, ast.Starred) for arg in call.args)
    if name in _CHOOSING and several:
        yield from (arg for arg in call.args if not isinstance(arg, ast.Starred))
    elif name in _INSTEAD and not several and call.args and not (name == "unique" and call.keywords):
        yield ast.parse(_INSTEAD[name].format(ast.unparse(call.args[0])), mode="eval").body


def _mixed_up(name: str, known: set[str]) -> Iterator[str]:
    """Yield the names that tell another count or end, of those that the function uses."""
    words = name.split("_")
    for place, word in enumerate(words):
        for other in sorted(_MIXED_UP.get(word, ())):
            changed = "_".join([*words[:place], other, *words[place + 1 :]])
            if changed in known:
                yield changed
