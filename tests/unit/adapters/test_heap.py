"""What a process frees goes back to the system, although blocks in between stay."""

from __future__ import annotations

import subprocess
import sys

import pytest

MOST = 48  # MiB that may stay of 160
# As windows do: large arrays come and go, and something small that was made beside each of them stays.
FILL = """
from pathlib import Path
from stream_anon.adapters.heap import return_large_blocks
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20
def fill(size):
    arrays = []
    for _ in range(160 // size):
        arrays.append(bytearray(b"x") * (size << 20))
        kept.append(bytearray(b"x") * 100_000)
    arrays.clear()
kept = []
{first}
bytearray(b"x") * (30 << 20)  # freed at once: now glibc takes blocks of up to 30 MiB from its heap
before = resident()
fill(8)
print(resident() - before)
"""


def _left(first: str) -> int:
    run = subprocess.run(
        [sys.executable, "-c", FILL.format(first=first)], capture_output=True, text=True, check=True
    )
    return int(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="it is glibc that would keep the memory")
def test_freed_arrays_leave_the_process_although_small_blocks_beside_them_stay() -> None:
    assert _left("") > MOST, "nothing is kept here that the setting could give back"
    assert _left("return_large_blocks()") < MOST
