"""No process of a run leaves its memory in a core dump, unless the settings allow it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.policies import write_policy

MOST = resource.getrlimit(resource.RLIMIT_CORE)[1]
ASK = f"import os, resource; resource.setrlimit(resource.RLIMIT_CORE, ({MOST}, {MOST}))\n"
FORBID = "from stream_anon.adapters.core_dumps import forbid_core_dumps; forbid_core_dumps()"
# Each way to start prints whether this process can be dumped, where its loop would begin.
STARTS = """
import asyncio, ctypes, resource, sys
from pathlib import Path
from stream_anon.hosts.fleet import fleet, member
from stream_anon.service.wiring import serving
prctl, config = ctypes.CDLL(None).prctl, Path(sys.argv[1])
def begin(coroutine):
    coroutine.close()
    print(prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE)[0])
asyncio.run = begin
for start, *more in ((serving.serve, None), (fleet.serve_fleet, 2), (member.main, 1, (), 0)):
    prctl(4, 1, 0, 0, 0)
    start(config, *more)
    sys.stdout.flush()
"""


def _leaves_a_core(tmp_path: Path, line: str) -> bool:
    command = [sys.executable, "-c", f"{ASK}{line}\nos.abort()"]
    pid = os.posix_spawn("/usr/bin/env", ["env", "-C", str(tmp_path), *command], os.environ)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    return os.WCOREDUMP(status) or any(tmp_path.glob("core*"))


def test_a_process_that_aborts_leaves_no_core(tmp_path: Path) -> None:
    assert not _leaves_a_core(tmp_path, FORBID)


@pytest.mark.skipif(MOST == 0, reason="cores are forbidden here: nothing to compare with")
def test_a_process_that_is_let_leaves_one(tmp_path: Path) -> None:
    assert _leaves_a_core(tmp_path, "")


@pytest.mark.parametrize(("allowed", "dumpable"), [(True, f"1 {MOST}"), (False, "0 0")])
def test_every_process_of_a_run_forbids_dumps_unless_the_settings_allow_them(
    tmp_path: Path, allowed: bool, dumpable: str
) -> None:
    brokers = {"bootstrap_servers": "127.0.0.1:9", "group": "g", "input": "in", "output": "out"}
    config = write_policy(tmp_path, kafka=brokers, logs={"core_dumps": allowed})
    command = [sys.executable, "-c", ASK + STARTS, str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # A worker of a fleet has moved its output to standard error.
    assert (done.stdout + done.stderr).splitlines() == [dumpable] * 3
