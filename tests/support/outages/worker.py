"""`stream-anon` with a clock that a test sets: `python -m tests.support.outages.worker run --config FILE`.

The file `clock.PID` beside the settings holds by how many seconds the clock is ahead of the machine's.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path

from stream_anon.adapters.clock import SystemClock
from stream_anon.cli.main import command
from stream_anon.service.wiring import serving


def clock_of(folder: Path, pid: int) -> Path:
    """Return the file that sets the clock of a worker."""
    return folder / f"clock.{pid}"


def _set_by(file: Path) -> float:
    try:
        ahead = float(file.read_text())
    except OSError:
        ahead = 0.0
    return time.time() + ahead


if __name__ == "__main__":
    settings = Path(sys.argv[sys.argv.index("--config") + 1])
    wall = partial(_set_by, clock_of(settings.parent, os.getpid()))
    serving.SystemClock = partial(SystemClock, wall)  # type: ignore[misc, assignment]
    command()
