"""Ask a person before the ledger is changed."""

from __future__ import annotations

from collections.abc import Callable

from stream_anon.errors import Refused


def confirmed(question: str, terminal: bool, ask: Callable[[str], bool]) -> bool:
    """Return whether a person agrees.

    Raises
    ------
    Refused
        If there is no terminal to ask at.
    """
    if not terminal:
        raise Refused("there is no terminal to confirm at; use --yes if this was decided")
    return ask(question)
