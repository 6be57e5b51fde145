"""Small things done with classes, beside plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.forest.classes import (
    boxes_of,
    changed_classes,
    gathered,
    name_owners,
    put_back,
    sizes_of,
    spliced,
    strided,
)


def _ends(classes: Sequence[Sequence[int]]) -> np.ndarray:
    return np.cumsum([len(rows) for rows in classes])


@st.composite
def _classes(draw: st.DrawFn) -> list[list[int]]:
    """Draw all of n rows in classes of one row and more."""
    rows = draw(st.permutations(range(draw(st.integers(1, 25)))))
    cuts = sorted(draw(st.sets(st.integers(1, max(len(rows) - 1, 1)), max_size=8)) | {0, len(rows)})
    return [rows[a:b] for a, b in pairwise(cuts)]


@given(_classes())
def test_every_row_has_its_owner_and_every_class_its_size(classes: list[list[int]]) -> None:
    ends = _ends(classes)
    owner = np.full(ends[-1], -1)
    name_owners(np.concatenate(classes), ends, owner)
    assert sizes_of(ends).tolist() == [len(rows) for rows in classes]
    assert all(owner[row] == number for number, rows in enumerate(classes) for row in rows)


@given(_classes(), st.integers(1, 3), st.integers(0, 99))
def test_a_box_holds_exactly_the_codes_of_its_class(classes: list[list[int]], q: int, seed: int) -> None:
    ends = _ends(classes)
    codes = np.random.default_rng(seed).integers(0, 9, (ends[-1], q), np.int32)
    low, high = boxes_of(codes, np.concatenate(classes), ends)
    assert low.tolist() == [codes[members].min(axis=0).tolist() for members in classes]
    assert high.tolist() == [codes[members].max(axis=0).tolist() for members in classes]


@given(st.lists(st.integers(0, 99), max_size=12), st.lists(st.integers(0, 12), max_size=6))
def test_splicing_gives_what_inserting_gives(values: list[int], places: list[int]) -> None:
    at = np.sort(np.minimum(np.array(places, np.int64), len(values)))
    fresh = 100 + np.arange(len(at))
    whole = np.array(values, np.int64)
    assert spliced(whole, at, fresh).tolist() == np.insert(whole, at, fresh).tolist()


@given(_classes(), st.integers(1, 9))
def test_a_class_is_followed_by_the_one_a_stride_away(classes: list[list[int]], step: int) -> None:
    rows, ends = strided(np.concatenate(classes), _ends(classes), step)
    expected = [members for first in range(step) for members in classes[first::step]]
    assert rows.tolist() == [row for members in expected for row in members]
    assert ends.tolist() == _ends(expected).tolist()


@given(_classes(), st.data(), st.booleans())
def test_the_classes_near_a_change_are_picked_and_come_back_to_their_places(
    classes: list[list[int]], data: st.DataObject, wide: bool
) -> None:
    rows, ends = np.concatenate(classes), _ends(classes)
    fresh = np.zeros(len(rows), np.bool_)
    fresh[data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=4))] = True
    hit = [any(fresh[row] for row in members) for members in classes]
    near = [any(hit[max(c - wide, 0) : c + wide + 1]) for c in range(len(classes))]
    picked = changed_classes(rows, ends, fresh, wide)
    part, part_ends = gathered(rows, ends, np.flatnonzero(picked))
    count = len(part_ends)
    assert picked.tolist() == near
    chosen = [members for members, there in zip(classes, near, strict=True) if there]
    assert part_ends.tolist() == np.cumsum([len(members) for members in chosen]).tolist()
    if not count:
        return
    moved = [row for members in chosen for row in members]
    assert part.tolist() == moved
    # Rows change places and classes their sizes, as RESPLIT and SWAP do it.
    moved = data.draw(st.permutations(moved))
    cuts = [
        *sorted(data.draw(st.lists(st.integers(0, len(moved)), min_size=count - 1, max_size=count - 1))),
        len(moved),
    ]
    parts = iter([moved[a:b] for a, b in zip([0, *cuts], cuts, strict=False)])
    expected = [next(parts) if there else members for members, there in zip(classes, near, strict=True)]
    answer = np.empty_like(rows)
    put_back(rows, ends, picked, np.array(moved), np.array(cuts), answer)
    assert answer.tolist() == [row for members in expected for row in members]
    assert ends.tolist() == np.cumsum([len(members) for members in expected]).tolist()
