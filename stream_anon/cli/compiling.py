"""Say that kernels are compiled: without a word it looks like a command that hangs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console

from stream_anon.compiled import when_compiling

TEXT = "compiling kernels, once after an install; this takes a minute or two"


@contextmanager
def saying_when_compiling(beside: Console | None = None) -> Iterator[None]:
    """Say on standard error that kernels are compiled, if they are while the block lasts.

    Parameters
    ----------
    beside
        A console that shows progress already: it gets a line. Else a terminal shows a spinner until the end.
    """
    console = beside or Console(stderr=True, highlight=False, markup=False)
    with ExitStack() as shown:

        def say() -> None:
            if beside is None and console.is_terminal:
                shown.enter_context(console.status(f"{TEXT} ..."))
            else:
                console.print(f"stream-anon: {TEXT}", soft_wrap=True)

        with when_compiling(say):
            yield
