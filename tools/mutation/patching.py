"""Put a mutant in the place of the function it was made from, in this process only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np


def put(module: ModuleType, name: str, code: CodeType) -> None:
    """Let the function of that qualified name do what `code` says, for everybody who calls it.

    A compiled kernel is run as plain Python from then on, so that no mutant is compiled, and with it those of its
    module that call it; kernels of other modules that were compiled with it inside keep the old one.
    """
    functions = list(_functions_of(module, name))
    if not functions:
        raise LookupError(f"{module.__name__} has no function {name}")
    for function in functions:
        function.__code__ = code
    for kernel in _callers(module, name):
        interpret(module, kernel)


def _callers(module: ModuleType, name: str) -> set[str]:
    """Return a kernel and those of its module that call it, directly or not."""
    kernels = {key: value.py_func for key, value in vars(module).items() if hasattr(value, "py_func")}
    found = {name}
    while more := {key for key, own in kernels.items() if found & set(own.__code__.co_names)} - found:
        found |= more
    return found


def interpret(module: ModuleType, only: str | None = None) -> None:
    """Run the kernels of a module, or one of them, as plain Python."""
    for name, value in list(vars(module).items()):
        if isinstance(getattr(value, "py_func", None), FunctionType) and only in {None, name}:
            plain = _wrapping_around(value.py_func)
            for other in [m for n, m in list(sys.modules.items()) if n.startswith(("stream_anon", "tests"))]:
                for key, held in list(vars(other).items()):
                    if held is value:
                        setattr(other, key, plain)


def _wrapping_around(function: FunctionType) -> Callable[..., Any]:
    """Let integers wrap around in silence, as they do in a compiled kernel."""

    @wraps(function)
    def plain(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return plain


def _functions_of(module: ModuleType, qualified: str) -> Iterator[FunctionType]:
    *classes, name = qualified.split(".")
    holder: Any = module
    for part in classes:
        holder = getattr(holder, part)
    value = vars(holder).get(name)
    if isinstance(value, cached_property):
        value = value.func
    for inner in ("py_func", "fget", "__func__", "__wrapped__"):
        value = getattr(value, inner, None) or value
    if isinstance(value, FunctionType):
        yield value
