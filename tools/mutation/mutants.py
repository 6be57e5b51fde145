"""The mutants of a module: its functions, each with one expression or statement changed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType

from tools.mutation.meanings import Meanings

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = (("min", "max"), ("any", "all"), ("minimum", "maximum"), ("zeros", "ones"), ("argmin", "argmax"))
_CALLED = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}


@dataclass(frozen=True)
class Mutant:
    """One changed function.

    Parameters
    ----------
    function
        Qualified name within the module.
    line, before, after
        What was changed, as source; nothing after for a statement that was taken out.
    number
        Counts equal changes of one function, from 1.
    code
        What the function does instead.
    lines
        The lines of which one is run wherever the change can be noticed.
    """

    path: str
    function: str
    line: int
    before: str
    after: str
    number: int
    code: CodeType
    lines: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """Return a name that outlives changes elsewhere in the file."""
        again = f" #{self.number}" if self.number > 1 else ""
        return f"{self.path}::{self.function}: {self.before} -> {self.after}{again}"


@dataclass(frozen=True)
class _Edit:
    parent: ast.AST
    field: str
    place: int | None
    child: ast.AST
    replacement: ast.AST
    lines: frozenset[int]

    def shown(self, node: ast.AST) -> ast.AST:
        """Return what tells a reader of the change: a name with what it stands in, a branch by its condition."""
        if isinstance(node, ast.If | ast.IfExp):
            return node.test
        if isinstance(node, ast.For | ast.While):
            last = node.body[-1]
            return _changed(node, body=[last if isinstance(last, ast.Break) else ast.Pass()], orelse=[])
        small = isinstance(self.child, ast.Constant | ast.Name | ast.Attribute)
        return self.parent if small and isinstance(self.parent, ast.expr) else node

    def set(self, node: ast.AST) -> None:
        if self.place is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.place] = node


def mutants_of(path: Path, source: str | None = None) -> list[Mutant]:
    """Return every mutant of a module's functions and methods, in the order of the file.

    Module constants, defaults of arguments and of dataclass fields, decorators and texts are left as they are.
    """
    tree = ast.parse(path.read_text(encoding="utf-8") if source is None else source)
    found: list[Mutant] = []
    counts: Counter[str] = Counter()
    for name, function in _functions(tree):
        meanings = Meanings(function)
        edits = [e for place in function.body for e in _edits(place, function, "body", frozenset(), meanings)]
        for edit in edits:
            before = _text(edit.shown(edit.child))
            edit.set(ast.copy_location(edit.replacement, edit.child))
            ast.fix_missing_locations(tree)
            after = _text(edit.shown(edit.replacement))
            code = codes_of(compile(tree, str(path), "exec"))[name]
            edit.set(edit.child)
            line = getattr(edit.child, "lineno", function.lineno)
            mutant = Mutant(path.as_posix(), name, line, before, after, 1, code, edit.lines)
            counts[mutant.name] += 1
            found.append(replace(mutant, number=counts[mutant.name]))
    return found


def codes_of(code: CodeType) -> dict[str, CodeType]:
    """Return what each function of a module and of its classes does, by qualified name."""
    found: dict[str, CodeType] = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found.setdefault(inner.co_qualname, inner)
            found |= {name: deep for name, deep in codes_of(inner).items() if name not in found}
    return found


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


def _text(node: ast.AST) -> str:
    return "nothing" if isinstance(node, ast.Pass) else " ".join(ast.unparse(node).split())


def _edits(
    node: ast.AST, parent: ast.AST, field: str, around: frozenset[int], meanings: Meanings
) -> Iterator[_Edit]:
    """Yield what can be changed about a node and all below it."""
    values = getattr(parent, field)
    place = next(i for i, value in enumerate(values) if value is node) if isinstance(values, list) else None
    lines = _lines(node) if isinstance(node, ast.stmt) else _lines(node) | around
    for replacement in (*_replacements(node), *meanings.of(node)):
        yield _Edit(parent, field, place, node, replacement, lines)
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):  # texts, and what types say anyway
        return
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "defaults", "kw_defaults", "args"} and not (
            isinstance(node, ast.Call) and name == "args"
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.expr_context):
                yield from _edits(child, node, name, lines if isinstance(node, ast.stmt) else around, meanings)


def _lines(node: ast.AST) -> frozenset[int]:
    """Return the lines of an expression or a statement, of one that holds others only those above them."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", -1)
    inner = [child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
    if isinstance(node, ast.stmt) and inner:
        last = max(first, min(child.lineno for child in inner) - 1)
    return frozenset(range(first, last + 1))


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                for other in _COMPARED[type(op)]:
                    yield _changed(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _COUNTED:
            yield _changed(node, op=_COUNTED[type(node.op)]())
        case ast.BoolOp():
            yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
            yield from node.values
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
            if node.value > 0:
                yield ast.Constant(node.value - 1)
        case ast.Constant(value=float()):
            yield ast.Constant(node.value * 2 or 1.0)
        case ast.If() | ast.IfExp():
            yield from (_changed(node, test=ast.Constant(value)) for value in (True, False))
        case ast.comprehension():
            for i in range(len(node.ifs)):
                yield _changed(node, ifs=node.ifs[:i] + node.ifs[i + 1 :])
        case ast.Call(func=ast.Name()) if node.func.id in _CALLED:
            yield _changed(node, func=ast.Name(_CALLED[node.func.id], ast.Load()))
        case ast.Call(func=ast.Attribute()) if node.func.attr in _CALLED:
            yield _changed(node, func=_changed(node.func, attr=_CALLED[node.func.attr]))
    yield from _statements(node)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    other = copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other
