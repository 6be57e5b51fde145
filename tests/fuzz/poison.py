"""Memory that nobody has written holds what we choose, so that reading it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

FILLS = (0xA5, 0x00, 0xFF, 0x01, 0x7F)
"""Bytes that make large and small, negative and positive numbers."""


@contextmanager
def poisoned(fill: int) -> Iterator[None]:
    """Let `np.empty` return arrays of one byte; of truth values its lowest bit counts."""
    real = np.empty

    def empty(*args: Any, **named: Any) -> Any:
        found = real(*args, **named)
        if found.dtype == np.bool_:
            found[...] = bool(fill & 1)
        elif found.size and not found.dtype.hasobject:
            found.reshape(-1).view(np.uint8)[:] = fill
        return found

    np.empty = empty  # type: ignore[assignment]
    try:
        yield
    finally:
        np.empty = real
