"""Threads that nobody waits for, so that a stop need not wait for a partitioner or for the lookup of a name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_at_work: set[int] = set()  # threads that compute


def work_is_left() -> bool:
    """Return whether an abandoned thread still computes.

    The interpreter must not be taken down under it: a compiler that calls back into Python then aborts the process.
    """
    return bool(_at_work)


class Abandonable(ThreadPoolExecutor):
    """An executor for an event loop: each call gets a thread at once, and all of them end with the process.

    `asyncio.run` and the interpreter both wait for the threads of the standard executor. A thread that is left
    behind here only computes, and its result would be thrown away. A thread that is done takes the next call, since
    starting one stops the event loop until it runs.
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
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                future.set_exception(error)

        self._calls.put(call)
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._serve, name="abandonable", daemon=True).start()
        return future

    def _serve(self) -> None:
        own = threading.get_ident()
        while True:
            call = self._calls.get()
            _at_work.add(own)
            try:
                call()
            finally:
                _at_work.discard(own)
            del call  # and with it what it was given
            self._idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Return at once."""
