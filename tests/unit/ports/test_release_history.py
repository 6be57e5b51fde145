"""An entry of the topic of returns is read as it was written, and nothing else is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.release import ReleasedPeople
from stream_anon.ports.release_history import MOST_TOGETHER, entries_of, released_in

NAME, OTHER = b"name it!", b"another!"


@given(st.integers(0, 2**40), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_an_entry_is_read_as_it_was_written(sealed: int, people: list[int]) -> None:
    (entry,) = entries_of(ReleasedPeople(sealed, np.array(people, np.int64)), NAME)
    read = released_in(entry, NAME)
    assert read is not None
    assert (read.sealed, read.people.tolist()) == (sealed, people)
    assert released_in(entry, OTHER) is None


def test_many_people_take_several_entries_and_nobody_none() -> None:
    people = np.arange(2 * MOST_TOGETHER + 1)
    entries = list(entries_of(ReleasedPeople(7, people), NAME))
    read = [released.people for entry in entries if (released := released_in(entry, NAME)) is not None]
    assert np.array_equal(np.concatenate(read), people)
    assert [len(part) for part in read] == [MOST_TOGETHER, MOST_TOGETHER, 1]
    assert not list(entries_of(ReleasedPeople(7, people[:0]), NAME))


@pytest.mark.parametrize(
    "entry",
    [b"", b"{}", bytes(17), b"\x01" + NAME + bytes(8), b"\x02" + NAME + bytes(16), b"\x01" + NAME + bytes(12)],
)
def test_what_is_no_entry_is_refused(entry: bytes) -> None:
    with pytest.raises(ValueError, match="no entry"):
        released_in(entry, NAME)


def test_an_entry_before_the_epoch_is_refused() -> None:
    with pytest.raises(ValueError, match="is of no time"):
        released_in(b"\x01" + NAME + b"\xff" * 8 + bytes(8), NAME)
