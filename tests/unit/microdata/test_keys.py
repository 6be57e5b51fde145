from __future__ import annotations

import numpy as np
import pytest

from stream_anon.microdata.keys import PADDING, PROCESS_KEY, keyed_by, padded_words, span_keys, text_key, text_keys

_ALL = 2**64 - 1


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & _ALL


def siphash_1_3(key: tuple[int, int], data: bytes) -> int:
    """Return the hash as its authors describe it."""
    v = [
        key[0] ^ 0x736F6D6570736575,
        key[1] ^ 0x646F72616E646F6D,
        key[0] ^ 0x6C7967656E657261,
        key[1] ^ 0x7465646279746573,
    ]

    def mix() -> None:
        v[0] = (v[0] + v[1]) & _ALL
        v[1] = _rotated(v[1], 13) ^ v[0]
        v[0] = _rotated(v[0], 32)
        v[2] = (v[2] + v[3]) & _ALL
        v[3] = _rotated(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & _ALL
        v[3] = _rotated(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & _ALL
        v[1] = _rotated(v[1], 17) ^ v[2]
        v[2] = _rotated(v[2], 32)

    whole = len(data) // 8 * 8
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, whole, 8)]
    for word in [*words, int.from_bytes(data[whole:], "little") | (len(data) & 255) << 56]:
        v[3] ^= word
        mix()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(3):
        mix()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


@pytest.mark.parametrize("text", ["", "a", "1234567", "12345678", "123456789", "é" * 9, "x" * 300])
def test_a_key_is_the_keyed_hash_of_all_bytes(text: str) -> None:
    key = (int(PROCESS_KEY[0]) & _ALL, int(PROCESS_KEY[1]) & _ALL)
    assert text_key(text) & _ALL == siphash_1_3(key, text.encode())


def test_texts_side_by_side_have_the_keys_that_they_have_alone() -> None:
    texts = ["a", "", "ab", "b" * 17, "a"]
    assert text_keys(texts).tolist() == [text_key(text) for text in texts]
    assert len(text_keys([])) == 0


def test_another_process_has_other_keys() -> None:
    keys = np.empty(1, np.int64)
    span_keys(padded_words(b"somebody" + PADDING), np.array([8]), PROCESS_KEY ^ 1, keys)
    assert keys[0] != text_key("somebody")


def test_processes_that_share_a_secret_give_equal_texts_equal_keys() -> None:
    own = text_keys(["Ada", "Bob"])
    with keyed_by((3, -4)):
        shared = text_keys(["Ada", "Bob"])
    assert text_keys(["Ada", "Bob"]).tolist() == own.tolist() != shared.tolist()
    with keyed_by((3, -4)):
        assert text_keys(["Ada", "Bob"]).tolist() == shared.tolist()
    found = [siphash_1_3((3, -4 % 2**64), text) for text in (b"Ada", b"Bob")]
    assert found == [key % 2**64 for key in shared.tolist()]
