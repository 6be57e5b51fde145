"""A thread that computes must not hold up the end of the process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest

from stream_anon.runtime.threads import Abandonable

SCRIPT = """
import asyncio, time
from stream_anon.runtime.threads import Abandonable

async def main():
    asyncio.get_running_loop().set_default_executor(Abandonable())
    work = asyncio.create_task(asyncio.to_thread(time.sleep, 60))
    await asyncio.sleep(0.1)
    work.cancel()

asyncio.run(main())
"""


def test_process_ends_only_after_its_threads() -> None:
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert time.monotonic() - begun < 20


async def test_result_or_error_of_a_thread_is_lost() -> None:
    asyncio.get_running_loop().set_default_executor(Abandonable())
    assert await asyncio.to_thread(pow, 2, 10) == 1024
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(divmod, 1, 0)
