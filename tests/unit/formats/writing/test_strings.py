import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel
from stream_anon.formats.writing.copying import copied
from stream_anon.formats.writing.strings import GROWTH, is_utf8, put_string
from stream_anon.microdata.keys import PADDING, padded_words


@bare_kernel
def string(text: Any, words: Any, stop: int, out: Any, out_words: Any) -> int:
    return put_string(text, words, 0, stop, out, out_words, 0)


@bare_kernel
def sound(text: Any, words: Any, stop: int) -> bool:
    return is_utf8(text, words, 0, stop)


@given(st.text(max_size=40) | st.lists(st.sampled_from(['"', "\\", "\n", "\x00", "a", "ü", "😀"])).map("".join))
def test_a_string_is_written_so_that_it_is_read_as_it_was(text: str) -> None:
    raw = np.frombuffer(text.encode() + PADDING, np.uint8)
    out = np.zeros(GROWTH * len(raw) + 16, np.uint8)
    end = string(raw, padded_words(raw), len(raw) - 8, out, padded_words(out))
    assert json.loads(out[:end].tobytes()) == text


@given(st.binary(max_size=20) | st.lists(st.sampled_from([*range(128, 256), ord("a")])).map(bytes))
@example(b"\xf4\x8f\xbf\xbf")
@example(b"\xf4\x90\x80\x80")
@example(b"\xe0\x9f\xbf")
@example(b"\xed\xa0\x80")
def test_what_python_decodes_is_utf_8_and_nothing_else(raw: bytes) -> None:
    try:
        raw.decode()
        expected = True
    except UnicodeDecodeError:
        expected = False
    text = np.frombuffer(raw + b"\x80" * 8, np.uint8)  # what lies behind does not count
    out = np.zeros(GROWTH * len(text) + 16, np.uint8)
    assert sound(text, padded_words(text), len(raw)) == expected
    assert (string(text, padded_words(text), len(raw), out, padded_words(out)) >= 0) == expected


@bare_kernel
def string_between(
    text: Any, words: Any, at: int, stop: int, out: Any, out_words: Any, place: int
) -> tuple[bool, int, int]:
    return (
        is_utf8(text, words, at, stop),
        put_string(text, words, at, stop, out, out_words, place),
        copied(words, at, stop, out_words, place),
    )


def test_no_string_is_read_or_written_beyond_its_text_and_the_room_for_it() -> None:
    text = np.frombuffer(b"0123456789" + PADDING, np.uint8)
    out = np.zeros(GROWTH * 10 + 10 + 7, np.uint8)

    def written(at: int, stop: int, place: int, room: NDArray[np.uint8] = out) -> tuple[bool, int, int]:
        return string_between(text, padded_words(text), at, stop, room, padded_words(room), place)

    assert written(0, 10, 0) == (True, 12, 10)
    for at, stop, place in ((-1, 10, 0), (0, 12, 0), (0, 2**40, 0), (0, 10, -1), (0, 10, 1), (3, 2, 2**40)):
        with pytest.raises(IndexError, match="reaches beyond"):
            written(at, stop, place)
    with pytest.raises(IndexError, match="reaches beyond"):
        written(0, 10, 0, out[:-1])
