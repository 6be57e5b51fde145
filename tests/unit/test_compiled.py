from __future__ import annotations

import os
import pkgutil
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

from stream_anon import adapters, compiled, formats
from stream_anon.compiled import (
    bare_inlined,
    bare_kernel,
    checked_inlined,
    checked_kernel,
    kernel,
    when_compiling,
)
from tests.support.data import ROOT

PROGRAM = """
import numpy as np
from stream_anon.clustering.k_forest.neighbours import pair_weight
from stream_anon.microdata.domains.walk import TABLE
from stream_anon.privacy.costs.model import CostModel
nothing, one, none = np.zeros(1), np.ones(1), np.zeros(1, np.int64)
kind, table, steps = np.full(1, TABLE, np.int8), np.ones(16, np.float32), np.zeros(0, np.int32)
model = CostModel(kind, none + 2, none, none, one, nothing, one, table, steps, nothing, 0.0, none, none + 1)
print(pair_weight(np.zeros(1, np.int32), np.ones(1, np.int32), model, 9.0))
"""


def _run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=240, check=True
    )
    return done.stdout.strip()


@pytest.mark.soak
def test_a_kernel_is_compiled_anew_when_one_in_another_file_has_changed(tmp_path: Path) -> None:
    """`pair_weight` has `interval_cost` of another file compiled into it."""
    shutil.copytree(
        ROOT / "stream_anon", tmp_path / "stream_anon", ignore=shutil.ignore_patterns("__pycache__", "_examples")
    )
    assert _run(tmp_path) == "1.0"
    changed = tmp_path / "stream_anon" / "privacy" / "costs" / "cost.py"
    text = changed.read_text()
    line = "        return float(model.table[model.start[j] + low * (model.domain[j] + 2) + high])\n"
    assert line in text
    changed.write_text(text.replace(line, line.replace("return float(", "return 5.0 * float(")))
    assert _run(tmp_path) == "5.0"


def test_kernels_run_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a read-only file system without a temporary folder."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])

    def twice(number: int) -> int:
        return 2 * number

    assert kernel(twice)(21) == 42


def test_compiling_is_told_only_for_kernels_that_no_cache_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def thrice(number: int) -> int:
        return 3 * number

    told: list[str] = []
    for turn in ("not on disk", "on disk"):
        compiled = kernel(thrice)
        with when_compiling(lambda turn=turn: told.append(turn)):  # type: ignore[misc]
            assert (compiled(21), compiled(2.0)) == (63, 6.0)
    assert told == ["not on disk"]


def test_threads_that_make_kernels_at_one_time_leave_numbas_settings_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever is second saves what the first one has set, and would restore that last of all."""
    before, second, ended = numba.config.CACHE_LOCATOR_CLASSES, threading.Event(), threading.Event()

    class Slow:
        def __init__(self, *_: object) -> None:
            pass

        def enable_caching(self) -> None:
            if threading.current_thread() is first:
                second.wait(0.5)
            else:
                second.set()
                ended.wait(0.5)

    monkeypatch.setattr(compiled, "Kernel", Slow)
    first = threading.Thread(target=lambda: (compiled.kernel(compiled._nothing), ended.set()))
    other = threading.Thread(target=lambda: compiled.kernel(compiled._nothing))
    first.start()
    time.sleep(0.1)
    other.start()
    first.join()
    other.join()
    assert before == numba.config.CACHE_LOCATOR_CLASSES


@pytest.mark.parametrize("outer", [bare_kernel, checked_kernel])
@pytest.mark.parametrize("inner", [bare_kernel, bare_inlined, checked_kernel, checked_inlined])
def test_a_kernel_is_checked_if_it_was_decorated_so_itself_wherever_it_is_compiled_into(
    outer: Callable[[Any], Any], inner: Callable[[Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @inner
    def item(numbers: NDArray[np.int64], place: int) -> int:
        return int(numbers[place])

    @outer
    def plus_one(numbers: NDArray[np.int64], place: int) -> int:
        return item(numbers, place) + 1

    part = np.arange(10)[:4]  # what lies behind it is there to be read
    assert plus_one(part, 3) == 4
    assert plus_one(part, -1) == 4
    if inner in (checked_kernel, checked_inlined):
        for place in (4, -5, 2**62, -(2**63)):
            with pytest.raises(IndexError, match="out of bounds"):
                plus_one(part, place)
    else:
        assert plus_one(part, 4) == 5


def test_a_column_beyond_a_row_is_refused_though_the_next_row_has_bytes_there() -> None:
    @checked_kernel
    def item(table: NDArray[np.int64], row: int, column: int) -> int:
        return int(table[row, column])

    table = np.arange(6).reshape(2, 3)
    assert item(table, 1, 2) == 5
    with pytest.raises(IndexError, match="out of bounds"):
        item(table, 0, 3)


def test_kernels_that_are_compiled_with_other_checks_are_kept_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def folder() -> str:
        found = compiled.KernelFolder.from_function(compiled._nothing, compiled.__file__)
        assert found is not None
        return found.get_cache_path()

    folders = set()
    for bounds in (None, 0, 1):
        monkeypatch.setattr(numba.config, "BOUNDSCHECK", bounds)
        folders.add(folder())
    assert len(folders) == 3


def test_the_environment_switches_no_check_off() -> None:
    program = "import numba, stream_anon.compiled; print(numba.config.BOUNDSCHECK)"
    for asked, kept in (("0", "None"), ("1", "1")):
        done = subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"NUMBA_BOUNDSCHECK": asked}, cwd=ROOT,
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == kept


UNCHECKED = {
    # What writes batches takes room that its caller has counted.
    "stream_anon.adapters.kafka.writing.value_kernels": {"write_values"},
    # These compare the ends of their spans before they begin, or are called for what was compared.
    "stream_anon.formats.writing.copying": {"copied"},
    "stream_anon.formats.writing.strings": {"is_utf8", "letter_bytes", "put_escape", "put_string"},
}


def test_every_kernel_that_reads_bytes_from_anybody_is_checked() -> None:
    """Those of the core that such kernels call are checked too."""
    found: dict[str, set[str]] = {}
    rooms = ((adapters.__path__, "stream_anon.adapters."), (formats.__path__, "stream_anon.formats."))
    for module in chain.from_iterable(pkgutil.walk_packages(*room) for room in rooms):
        for what in vars(import_module(module.name)).values():
            if isinstance(what, Dispatcher) and not what.targetoptions.get("boundscheck"):
                found.setdefault(what.py_func.__module__, set()).add(what.py_func.__name__)
    assert found == UNCHECKED
