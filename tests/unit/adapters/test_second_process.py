from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

from stream_anon.adapters import second_process
from stream_anon.adapters.second_process import compile_in_two
from tests.support.data import ROOT

_DEAR = ("repair", "resplit_pass", "_swap", "split_large", "peel_pass", "cut_line", "grow_forest")
_HALVES = """
import sys
from numba.core import event
from stream_anon.adapters.second_process import compile_in_two
from stream_anon.engine.warming import warm_up, warm_up_first_half, warm_up_second_half
from tests.support.batches import small_policy

class Names(event.Listener):
    def on_start(self, found):
        print(found.data["dispatcher"].py_func.__name__)
    def on_end(self, found):
        pass

policy = small_policy(distinct_l=2, max_records=1_000)
compile_in_two(warm_up_first_half, warm_up_second_half, policy)
event.register("numba:compile", Names())
print("BETWEEN")
warm_up(policy)
"""


def note(path: Path) -> None:
    path.write_text(str(os.getpid()))


def fail(path: Path) -> None:
    raise ValueError(path.name)


def compile_anew(path: Path) -> None:
    def doubled(number: int) -> int:
        return 2 * number

    assert numba.njit(doubled)(21) == 42  # in no cache
    assert path.name


def compile_and_end(path: Path) -> None:
    compile_anew(path)
    while not (path.exists() and path.read_text()):
        time.sleep(0.01)
    os._exit(9)


def note_and_stay(path: Path) -> None:
    note(path)
    time.sleep(60)


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(second_process, "is_kept", lambda: True)


def test_the_other_half_runs_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    compile_in_two(compile_anew, note, tmp_path / "other")
    assert int((tmp_path / "other").read_text()) != os.getpid()


def test_no_process_is_started_where_nothing_is_compiled(tmp_path: Path) -> None:
    compile_in_two(note, note, tmp_path / "only")
    assert int((tmp_path / "only").read_text()) == os.getpid()


def test_one_core_compiles_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    compile_in_two(compile_anew, note, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_nothing_is_compiled_ahead_where_it_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_process, "is_kept", lambda: False)
    compile_in_two(compile_anew, note, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_second_process_that_fails_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    compile_in_two(compile_anew, fail, tmp_path / "other")


def test_the_second_process_ends_with_the_first(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path\n"
        "from tests.unit.adapters import test_second_process as own\n"
        "own.second_process.is_kept = lambda: True; os.sched_getaffinity = lambda _: {0, 1}\n"
        "own.compile_in_two(own.compile_and_end, own.note_and_stay, Path(sys.argv[1]))"
    )
    path = tmp_path / "other"
    done = subprocess.run([sys.executable, "-c", program, path], cwd=ROOT, check=False, timeout=120)
    assert done.returncode == 9
    number, until = int(path.read_text()), time.monotonic() + 20
    while _is_there(number) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_there(number)


def _is_there(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.soak
def test_after_both_halves_no_dear_kernel_is_left_to_compile(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _HALVES],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=True,
    )
    left = done.stdout.partition("BETWEEN\n")[2].split()
    assert not set(left) & set(_DEAR)
    assert left, "what the halves do not know is compiled afterwards"
