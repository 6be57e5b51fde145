"""End a command at SIGTERM as Ctrl-C does, so that it leaves nothing behind."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

INTERRUPTED = 130  # exit code


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at SIGTERM while the block lasts."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
