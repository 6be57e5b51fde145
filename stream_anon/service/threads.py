"""Threads that nobody waits for: a stop must not take as long as a window's partition, or the lookup of a name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Abandonable(ThreadPoolExecutor):
    """An executor for an event loop: each call gets a thread at once, and all of them end with the process.

    The standard one's threads are waited for, by `asyncio.run` and again by the interpreter. What is left behind
    here only computes; whatever it returns would be thrown away. A thread that is done takes the next call, for the
    start of one stops the event loop until it runs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Semaphore(0)

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Start the call at once."""
        future: Future[_T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                future.set_exception(error)

        self._calls.put(call)
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._serve, name="abandonable", daemon=True).start()
        return future

    def _serve(self) -> None:
        while True:
            self._calls.get()()
            self._idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Return at once."""
