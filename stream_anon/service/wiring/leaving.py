"""Leaving: SIGTERM begins it, and after ten seconds it is over, whatever hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable

from stream_anon.adapters.logs import Log
from stream_anon.ports.log_lines import LogLine
from stream_anon.service.threads import Abandonable

GONE_WITHIN = 9.5  # seconds; ten are promised
LEFT_LATE = 1


def stop_at_signals(log: Log, end: Callable[[int], object] = os._exit) -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set, and make sure that the process is gone ten seconds later.

    A client that hangs, or a library that waits for a broker while it cleans up, must not delay a process that was
    asked to stop. Ending the process loses nothing: as after a crash, the next owner reads again what is not
    committed.

    Parameters
    ----------
    end
        Ends the process at once, with an exit code.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(Abandonable())

    def give_up() -> None:
        log.error(LogLine.LEFT_LATE, seconds=GONE_WITHIN)
        end(LEFT_LATE)

    timer = threading.Timer(GONE_WITHIN, give_up)
    timer.daemon = True  # it does not keep a process that has left in time

    def leave() -> None:
        stop.set()
        if timer.ident is None:  # an order to drain may have set the stop before, and may take longer
            timer.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave)
    return stop
