"""Keys of individuals from columns of Arrow, also from parts of larger ones."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from stream_anon.formats.tables.arrow.arrow_columns import keys_of
from stream_anon.formats.tables.table_columns import FITS
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.keys import text_keys

IDS = [
    "a",
    "a longer one than a view holds inside",
    "",
    "\u00e9\u2028",
    "NA",
    "7",
    "x" * 40,
    None,
    "b",
    "\U0001f600",
]
WHOLE = [1, -5, 2**62, 0, None, 7, 70, 700, -1, 3]
TYPES: dict[str, tuple[list[Any], Any]] = {
    "string": (IDS, pa.string()),
    "large string": (IDS, pa.large_string()),
    "string view": (IDS, pa.string_view()),
    "large string without a missing one": ([text or "y" for text in IDS], pa.large_string()),
    "whole numbers": (WHOLE, pa.int64()),
    "whole numbers without a missing one": ([number or 9 for number in WHOLE], pa.int64()),
}


@pytest.mark.parametrize("nulls", [(), ("NA", "7")], ids=["no-texts", "texts"])
@pytest.mark.parametrize("first", [0, 1, 3, 8])
@pytest.mark.parametrize("kind", TYPES)
def test_the_keys_of_a_part_are_those_of_its_own_ids(kind: str, first: int, nulls: tuple[str, ...]) -> None:
    """A part of a column shares the buffers of the whole."""
    ids, own = TYPES[kind]
    for count in (1, 2, len(ids) - first):
        part = ids[first : first + count]
        missing = set(nulls) if own != pa.int64() else set()
        texts = ["" if value is None or value in missing else str(value) for value in part]
        found = keys_of(pa.array(ids, own).slice(first, count), nulls)
        assert found is not None
        assert found.keys.tolist() == text_keys(texts).tolist()
        assert found.reasons.tolist() == [FITS if text else Reason.NO_INDIVIDUAL for text in texts]


def test_missing_ids_of_a_part_have_no_text_left_over() -> None:
    """A missing cell may have bytes of its own in the buffer."""
    validity, ends = pa.py_buffer(bytes([0b11101])), pa.array([0, 1, 3, 4, 5, 6], pa.int64()).buffers()[1]
    whole = pa.Array.from_buffers(pa.large_string(), 5, [validity, ends, pa.py_buffer(b"aXXbcd")])
    assert whole.to_pylist() == ["a", None, "b", "c", "d"]
    for first in (0, 1, 2):
        found = keys_of(whole.slice(first, 3), ())
        assert found is not None
        assert found.keys.tolist() == text_keys(["a", "", "b", "c", "d"][first : first + 3]).tolist()
