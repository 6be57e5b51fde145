"""Leaving: what SIGTERM begins, and the moment at which it is over whatever hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable

from stream_anon.adapters.logs import Event as Line
from stream_anon.adapters.logs import Log
from stream_anon.service.threads import Abandonable

GONE_WITHIN = 9.5  # seconds; ten are promised
LEFT_LATE = 1


def stop_at_signals(log: Log, end: Callable[[int], object] = os._exit) -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set, and make sure that the process is gone ten seconds later.

    A client that hangs, or a library that waits for a broker while it cleans up, must not keep a process that was
    asked to stop. Ending the process loses nothing: the next owner reads again what is not committed, as after a
    crash.

    Parameters
    ----------
    end
        Ends the process at once, with an exit code.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(Abandonable())

    def give_up() -> None:
        log.error(Line.LEFT_LATE, seconds=GONE_WITHIN)
        end(LEFT_LATE)

    timer = threading.Timer(GONE_WITHIN, give_up)
    timer.daemon = True  # a process that has left in time is not kept by it

    def leave() -> None:
        stop.set()
        if timer.ident is None:  # an order to drain may have set the stop before, and may take longer
            timer.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave)
    return stop
