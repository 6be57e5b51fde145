"""`stream-anon` that gives each window a transaction of its own, so that schedules can name that of window 3.

`python -m tests.support.late_requests.one_by_one run ...`. The product lets small windows of a backlog gather.
"""

from __future__ import annotations

from unittest.mock import patch

from stream_anon.cli.main import command
from stream_anon.service.closing import queue


def one_by_one() -> None:
    """Let no window wait beside another."""
    patch.object(queue, "RECORDS_TOGETHER", 0).start()  # an error if it is called otherwise one day


if __name__ == "__main__":
    one_by_one()
    command()
