"""What several windows are as one publication."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.ports import Parcel, Place, Publication
from stream_anon.ports.publication import bundled


def _window(number: int, stretches: dict[Place, tuple[int, int]]) -> Publication:
    starts = {place: start for place, (start, _) in stretches.items()}
    ends = {place: end for place, (_, end) in stretches.items()}
    parcels = (Parcel("out", 0, [b"%d" % number], 1000 * number),)
    return Publication(f"b{number}", parcels, starts, ends, f"d{number}", 1000 * number, {"in": "id"})


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 2), st.integers(1, 5), min_size=1), min_size=1, max_size=6))
def test_a_bundle_covers_what_its_windows_cover_and_is_known_by_the_last_one(taken: list[dict[int, int]]) -> None:
    reached, windows = dict.fromkeys(range(3), 7), []
    for number, counts in enumerate(taken):
        windows.append(
            _window(number, {("in", n): (reached[n], reached[n] + count) for n, count in counts.items()})
        )
        reached |= {n: reached[n] + count for n, count in counts.items()}
    bundle, touched = bundled(windows), {n for counts in taken for n in counts}
    assert bundle.starts == {("in", n): 7 for n in touched}
    assert bundle.ends == {("in", n): reached[n] for n in touched}
    assert [parcel.values for parcel in bundle.parcels] == [[b"%d" % n] for n in range(len(taken))]
    last = windows[-1]
    assert (bundle.batch, bundle.digest, bundle.time) == (last.batch, last.digest, last.time)
    assert bundle.topic_ids == last.topic_ids


@pytest.mark.parametrize("start", [4, 6])
def test_windows_that_do_not_join_are_no_bundle(start: int) -> None:
    with pytest.raises(ValueError, match="do not join"):
        bundled([_window(1, {("in", 0): (0, 5)}), _window(2, {("in", 0): (start, 9)})])
