"""What is kept of windows that are not complete: all of it, and not more than a bound of it in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.audit.digests.kept_lines import KeptLines, Spill, WindowLines
from stream_anon.operations.audit.temporary_lines import TemporaryLines
from tests.support.traced import traced

_HEX = st.binary(max_size=3).map(lambda drawn: drawn.hex().encode())
LINES = st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), _HEX), min_size=1)


@pytest.fixture
def spill() -> Iterator[Spill]:
    with TemporaryLines() as lines:
        yield lines


def _check(kept: KeptLines) -> None:
    """Check that what is in memory is counted, and within the bound."""
    held = {number: window._lines for number, window in kept._windows.items()}
    sizes = [sum(len(line) + 64 for own in lines.values() for line in own) for lines in held.values()]
    assert sizes == [window.size for window in kept._windows.values()]
    assert all(held.values())
    assert kept._size == sum(sizes) <= kept._most


def _counted(lines: dict[bytes, list[bytes]]) -> dict[bytes, Counter[bytes]]:
    return {published: Counter(own) for published, own in lines.items()}


@given(
    st.lists(st.tuples(st.integers(0, 2), LINES | st.none()), max_size=20), st.sampled_from([0, 100, 300, 10**6])
)
def test_all_lines_of_a_window_come_back_once(
    turns: list[tuple[int, list[tuple[bytes, bytes]] | None]], most: int
) -> None:
    """None takes a window's lines: they were added before in as many pieces as there were turns."""
    with TemporaryLines() as spill:
        kept = KeptLines(spill, most)
        windows = [kept.window() for _ in range(3)]
        expected = [defaultdict[bytes, list[bytes]](list) for _ in windows]
        for number, lines in [*turns, (0, None), (1, None), (2, None)]:
            if lines is not None:
                windows[number].add([own for own, _ in lines], [line for _, line in lines])
                for own, line in lines:
                    expected[number][own].append(line)
            else:
                assert _counted(windows[number].taken()) == _counted(expected[number])
                expected[number].clear()
                windows[number] = kept.window()
            _check(kept)
        assert not any(spill.taken(number) for number in range(30))


def _fill(kept: KeptLines, windows: int) -> list[WindowLines]:
    """Return windows of 100 records of a kilobyte each, added by tens as they come by turns."""
    opened = [kept.window() for _ in range(windows)]
    for turn in range(10):
        for window in opened:
            window.add([b"a", b"b"] * 5, [b"%d" % (turn * 10 + i) * 500 for i in range(10)])
    return opened


def _peak(kept: KeptLines, windows: int) -> int:
    with traced() as memory:
        opened = _fill(kept, windows)
        for window in opened:
            assert sum(map(len, window.taken().values())) == 100
        return memory()[1]


def test_many_incomplete_windows_need_no_more_memory_than_few(spill: Spill) -> None:
    few, many = (_peak(KeptLines(spill, 2 * 2**20), windows) for windows in (30, 200))
    assert many < few + 2**20 < 7 * 2**20
    assert _peak(KeptLines(None, most=0), 200) > 18 * 2**20  # what they hold


def test_memory_is_counted_anew_when_windows_are_taken() -> None:
    puts: list[int] = []

    class Noted(TemporaryLines):
        def put(self, window: int, lines: object) -> None:
            puts.append(window)

    kept = KeptLines(Noted(), most=2 * 1_064)
    for _ in range(50):  # windows one after another never fill the memory
        window = kept.window()
        window.add([b"a"], [b"x" * 1_000])
        window.taken()
    assert puts == []
    first, second = kept.window(), kept.window()
    first.add([b"a"], [b"x" * 1_000])
    second.add([b"a"], [b"x" * 1_000])
    assert puts == []
    second.add([b"a"], [b""])
    assert puts == [50, 51]
