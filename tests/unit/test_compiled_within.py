from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.compiler import Flags
from numpy.typing import NDArray

from stream_anon.compiled import kernel
from stream_anon.compiled_within import _QuickFlags


class _Names(event.Listener):  # type: ignore[misc]
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, found: Any) -> None:
        self.names.append(found.data["dispatcher"].py_func.__name__)

    def on_end(self, found: Any) -> None:
        pass


@contextmanager
def compiled_meanwhile() -> Iterator[list[str]]:
    names = _Names()
    event.register("numba:compile", names)
    try:
        yield names.names
    finally:
        event.unregister("numba:compile", names)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


_PIECES = """
import stream_anon.compiled
from stream_anon.compiled import kernel

@stream_anon.compiled.{decorate}
def item(numbers, place):
    if place > 5:
        raise ValueError("no such place"{detail})
    return numbers[place] + place

@kernel
def sum_of(numbers, count):
    total = 0
    for place in range(count):
        total += item(numbers, place)
    return total

@kernel
def at(numbers, place):
    return item(numbers, place)
"""


def pieces(folder: Path, decorate: str = "kernel", detail: str = "") -> Any:
    """Return a module, imported anew, with a kernel `item` and two that it is compiled into."""
    path = folder / "pieces.py"
    path.write_text(_PIECES.format(decorate=decorate, detail=detail))
    found = spec_from_file_location("pieces", path)
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


NUMBERS = np.arange(10, 20)


@pytest.mark.parametrize("decorate", ["kernel", "inlined", "bare_kernel", "checked_inlined"])
def test_what_only_kernels_call_is_compiled_as_a_piece_of_them_and_once(tmp_path: Path, decorate: str) -> None:
    made = pieces(tmp_path, decorate)
    with compiled_meanwhile() as names:
        assert made.sum_of(NUMBERS, 3) == 36
        assert made.at(NUMBERS, 0) == 10
    assert sorted(names) == ["at", "item", "sum_of"]
    assert not made.item.signatures, "it has machine code of its own"


def test_a_kernel_that_kernels_call_can_be_called_too(tmp_path: Path) -> None:
    made = pieces(tmp_path)
    assert made.sum_of(NUMBERS, 3) == 36
    assert made.item(NUMBERS, 2) == 14
    with pytest.raises(ValueError, match="no such place"):
        made.item(NUMBERS, 6)


def test_a_piece_is_found_on_disk_by_another_kernel_and_a_kernel_needs_none_of_its_pieces(tmp_path: Path) -> None:
    assert pieces(tmp_path).sum_of(NUMBERS, 3) == 36
    made = pieces(tmp_path)
    with compiled_meanwhile() as names:
        assert made.sum_of(NUMBERS, 3) == 36
        assert not made.item.inner.signatures
        assert made.at(NUMBERS, 0) == 10
    assert names == ["at"]


@pytest.mark.parametrize("files", ["pieces.item-*.inner.*.nbc", "pieces.at-*.nbc"])
def test_a_file_that_holds_code_for_other_types_is_not_taken(tmp_path: Path, files: str) -> None:
    """As after two processes that wrote it at one time: numba looks into the index alone."""
    made = pieces(tmp_path)
    assert (made.at(NUMBERS, 1), made.at(NUMBERS + 0.5, 1)) == (12, 12.5)
    one, other = (path for path in tmp_path.rglob(files))
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    made = pieces(tmp_path)
    assert (made.at(NUMBERS, 1), made.at(NUMBERS + 0.5, 1)) == (12, 12.5)
    assert (made.sum_of(NUMBERS, 1), made.sum_of(NUMBERS + 0.5, 1)) == (10, 10.5)


def test_what_a_piece_raises_comes_out_of_the_kernel_fresh_and_from_disk(tmp_path: Path) -> None:
    for _ in ("fresh", "from disk"):
        made = pieces(tmp_path, detail=", place")
        with pytest.raises(ValueError, match=r"no such place.*6"):
            made.sum_of(NUMBERS, 7)
    with pytest.raises(ValueError, match=r"no such place.*6"):
        made.at(NUMBERS, 6)  # a kernel whose piece comes from disk


def test_a_piece_is_compiled_once_for_whole_numbers_of_all_widths_and_constants() -> None:
    @kernel
    def plus(one: Any, other: Any) -> Any:
        return one + other

    @kernel
    def added(narrow: NDArray[np.int32], wide: NDArray[np.int64], half: np.float32) -> tuple[Any, ...]:
        numbers = plus(narrow[0], wide[0]) + plus(wide[0], narrow[0]) + plus(1, narrow[0]) + plus(2, 3)
        return numbers, plus(half, half)

    top = 2**31 - 1
    assert added(np.array([top], np.int32), np.array([5]), np.float32(0.5)) == (3 * top + 16, 1.0)
    taken = {tuple(map(str, signature)) for signature in plus.inner.signatures}
    assert taken == {("int64", "int64"), ("float32", "float32")}


def test_bytes_stay_without_a_sign() -> None:
    @kernel
    def less(one: Any, other: Any) -> Any:
        return one - other

    @kernel
    def difference(text: NDArray[np.uint8]) -> Any:
        return less(text[0], text[1])

    plain = numba.njit(lambda text: text[0] - text[1])
    text = np.frombuffer(b"ab", np.uint8)
    assert difference(text) == plain(text)
    assert [tuple(map(str, signature)) for signature in less.inner.signatures] == [("uint8", "uint8")]


def test_garbage_is_collected_again_after_a_compilation_that_fails_or_not() -> None:
    good, bad = kernel(lambda number: number + 1), kernel(lambda number: number.nothing)
    assert gc.isenabled()
    assert good(1) == 2  # type: ignore[no-untyped-call]
    assert gc.isenabled()
    with pytest.raises(numba.TypingError):
        bad(1)  # type: ignore[no-untyped-call]
    assert gc.isenabled()
    gc.disable()
    try:
        assert good(1.0) == 2.0  # type: ignore[no-untyped-call]
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_quick_flags_are_those_of_numba() -> None:
    usual = Flags()
    usual.nrt, usual.release_gil = True, True
    quick, other = _QuickFlags(usual), _QuickFlags(usual)
    assert quick.values() == usual.values()
    assert list(quick.values()) == list(usual.values())
    assert (quick, hash(quick)) == (usual, hash(usual))
    other.no_compile = True
    assert other != quick
    assert other.copy() == other
