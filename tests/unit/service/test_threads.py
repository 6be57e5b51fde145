"""A thread that computes must not hold up the end of the process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
import weakref

import pytest

from stream_anon.service import threads
from stream_anon.service.threads import Abandonable, work_is_left

SCRIPT = """
import asyncio, time
from stream_anon.service.threads import Abandonable

async def main():
    asyncio.get_running_loop().set_default_executor(Abandonable())
    work = asyncio.create_task(asyncio.to_thread(time.sleep, 60))
    await asyncio.sleep(0.1)
    work.cancel()

asyncio.run(main())
"""


def test_process_ends_without_waiting_for_its_threads() -> None:
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert time.monotonic() - begun < 20


async def test_result_and_error_of_a_thread_are_passed_on() -> None:
    asyncio.get_running_loop().set_default_executor(Abandonable())
    assert await asyncio.to_thread(pow, 2, 10) == 1024
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(divmod, 1, 0)


def test_a_call_uses_an_idle_thread_and_waits_for_no_other_call() -> None:
    executor, meeting = Abandonable(), threading.Barrier(3)
    for _ in range(2):  # three that wait for each other, so three threads
        for call in [executor.submit(meeting.wait, 10) for _ in range(3)]:
            call.result(10)
    seen = set()
    for _ in range(20):
        seen.add(executor.submit(threading.current_thread).result(10))
        time.sleep(0.01)  # it takes a moment until a thread is idle again
    assert len(seen) <= 6


def test_idle_thread_releases_what_it_was_given() -> None:
    class Rows:
        pass

    executor, rows = Abandonable(), Rows()
    gone = weakref.ref(rows)
    executor.submit(id, rows).result(10)
    del rows
    deadline = time.monotonic() + 10
    while gone() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone() is None


def test_work_is_left_only_while_a_call_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_at_work", set())  # calls that other tests have abandoned may compute still
    executor, go_on = Abandonable(), threading.Event()
    assert not work_is_left()
    call = executor.submit(go_on.wait, 10)
    while not call.running():
        time.sleep(0.001)
    assert work_is_left()
    go_on.set()
    call.result(10)
    until = time.monotonic() + 10
    while work_is_left() and time.monotonic() < until:
        time.sleep(0.001)
    assert not work_is_left()
