"""Threads that nobody waits for: a stop must not take as long as a window's partition, or the lookup of a name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Abandonable(ThreadPoolExecutor):
    """An executor for an event loop: each call gets a thread that ends with the process at the latest.

    The standard one's threads are waited for, by `asyncio.run` and again by the interpreter. What is left behind
    here only computes; whatever it returns would be thrown away.
    """

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

        threading.Thread(target=call, name="abandonable", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Return at once."""
