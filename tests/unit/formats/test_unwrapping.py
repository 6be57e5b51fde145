"""Wrapped records: each row keeps its place, and the outermost wrapping that fails says why."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.unwrapping import FITS, Unwrapped, UnwrappingCodec
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.texts import Texts
from stream_anon.settings.policy_file import load_policy
from tests.support.marked_records import MarkUnwrapper
from tests.support.policies import write_policy


class _LateUnwrapper:
    """Rejects everything for a reason of its own, and takes nothing off."""

    def unwrap(self, values: Texts) -> Unwrapped:
        return Unwrapped(Texts.of([None] * len(values)), np.full(len(values), Reason.NOT_UTF8, np.int8))

    def warm_up(self) -> None:
        """Compile nothing."""


def _decoded(codec: UnwrappingCodec, values: list[bytes | None]) -> tuple[list[int], list[tuple[int, Reason]]]:
    batch = codec.decode(values, 0, np.arange(100, 100 + len(values)))
    rejects = zip(batch.rejects.offsets.tolist(), map(Reason, batch.rejects.reasons.tolist()), strict=True)
    return batch.offsets.tolist(), list(rejects)


def test_what_a_wrapping_holds_is_read_and_what_it_does_not_hold_is_rejected_with_its_reason(
    tmp_path: Path,
) -> None:
    codec = UnwrappingCodec([MarkUnwrapper()], JsonCodec(load_policy(write_policy(tmp_path))))
    good = b'\x01{"person": "p", "age": 5, "home": {"city": "Oslo"}}'
    assert _decoded(codec, [good, b"{}", None, b"\x01", b"\x01[]", good]) == (
        [100, 105],
        [
            (101, Reason.MALFORMED),
            (102, Reason.EMPTY),
            (103, Reason.EMPTY),
            (104, Reason.NOT_AN_OBJECT),
        ],
    )


def test_of_two_wrappings_the_outer_one_says_why_a_record_is_rejected(tmp_path: Path) -> None:
    codec = UnwrappingCodec([MarkUnwrapper(), _LateUnwrapper()], JsonCodec(load_policy(write_policy(tmp_path))))
    assert _decoded(codec, [b"x", b"\x01{}"]) == ([], [(100, Reason.MALFORMED), (101, Reason.NOT_UTF8)])


def test_a_value_that_fits_is_told_apart_from_every_reason() -> None:
    assert FITS not in list(Reason)
