"""Say that kernels are compiled: without a word it looks like a command that hangs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from stream_anon import compiled
from stream_anon.compiled import KernelFolder, when_compiling

FIRST = "compiling kernels, once after an install; this takes a minute or two"
MORE = "compiling kernels that no command has needed before; they are kept for the next one"
NOT_KEPT = "compiling kernels, as each command must: no folder can be written to keep them (see NUMBA_CACHE_DIR)"


@contextmanager
def saying_when_compiling(beside: Console | None = None) -> Iterator[None]:
    """Say on standard error that kernels are compiled, once, if they are while the block lasts.

    Parameters
    ----------
    beside
        A console that shows progress already: it gets a line. Else a terminal shows a spinner until the end.
    """
    console = beside or Console(stderr=True, highlight=False, markup=False)
    with ExitStack() as shown:

        def say() -> None:
            text = _text()
            if beside is None and console.is_terminal:
                shown.enter_context(console.status(f"{text} ..."))
            else:
                console.print(f"stream-anon: {text}", soft_wrap=True)

        with when_compiling(say):
            yield


def _text() -> str:
    """Return what is so, before the first kernel is compiled: an install without any, or one that lacks some."""
    folder = KernelFolder.from_function(_text, compiled.__file__)
    if folder is None:
        return NOT_KEPT
    kept = Path(cast("Any", folder).get_cache_path()).rglob("*.nbi")
    return FIRST if next(kept, None) is None else MORE
