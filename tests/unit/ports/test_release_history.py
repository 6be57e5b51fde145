"""An entry of the topic of returns is read as it was written, and nothing else is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.release import ReleasedPeople
from stream_anon.ports.release_history import MOST_TOGETHER, entries_of, read_entry

NAME = b"name it!"


@given(st.integers(0, 2**40), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_an_entry_is_read_as_it_was_written(sealed: int, people: list[int]) -> None:
    (entry,) = entries_of(ReleasedPeople(sealed, np.array(people, np.int64)), NAME)
    key, read = read_entry(entry)
    assert (key, read.sealed, read.people.tolist()) == (NAME, sealed, people)


def test_many_people_take_several_entries_and_nobody_none() -> None:
    people = np.arange(2 * MOST_TOGETHER + 1)
    entries = list(entries_of(ReleasedPeople(7, people), NAME))
    read = [read_entry(entry)[1].people for entry in entries]
    assert np.array_equal(np.concatenate(read), people)
    assert [len(part) for part in read] == [MOST_TOGETHER, MOST_TOGETHER, 1]
    assert not list(entries_of(ReleasedPeople(7, people[:0]), NAME))


@pytest.mark.parametrize(
    "entry",
    [b"", b"{}", bytes(17), b"\x01" + NAME + bytes(8), b"\x02" + NAME + bytes(16), b"\x01" + NAME + bytes(12)],
)
def test_what_is_no_entry_is_refused(entry: bytes) -> None:
    with pytest.raises(ValueError, match="not an entry"):
        read_entry(entry)


def test_an_entry_before_the_epoch_is_refused() -> None:
    with pytest.raises(ValueError, match="is of no time"):
        read_entry(b"\x01" + NAME + b"\xff" * 8 + bytes(8))
