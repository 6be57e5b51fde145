"""Change bytes without knowing what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.support.hostile_batches import varint

_NUMBERS = (0, 1, -1, 2, 63, 64, 127, 128, 255, 8_191, 2**31 - 1, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
_BYTES = (0x00, 0x01, 0x0A, 0x20, 0x22, 0x2F, 0x5C, 0x7F, 0x80, 0xC0, 0xED, 0xF4, 0xFE, 0xFF)
_REPEATS = (2, 3, 8, 70, 300)
_MOST = 20_000


def odd_varint(draws: Random) -> bytes:
    """Return a number at the edge of some type, sometimes in more bytes than it needs or with bits beyond them."""
    width = draws.choice((0, 0, 0, 5, 6, 9, 10, 11))
    return varint(draws.choice(_NUMBERS), width=width, beyond=draws.choice((0, 0, 0x10, 0x70)) if width else 0)


def mutated(data: bytes, draws: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Return bytes that differ in one place or in a few.

    Parameters
    ----------
    others
        Records of which parts may be taken.
    words
        What means something in the format.
    """
    for _ in range(draws.choice((1, 1, 1, 2, 3, 6))):
        data = _changed_once(data, draws, others, words)
    return data[:_MOST]


def _changed_once(data: bytes, draws: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    at = draws.randint(0, len(data))
    end = min(len(data), at + draws.choice((0, 1, 1, 2, 4, 9, 40)))
    match draws.randrange(11):
        case 0:  # flip a bit
            return (
                data[:at] + bytes([data[at] ^ 1 << draws.randrange(8)]) + data[at + 1 :] if at < len(data) else b""
            )
        case 1:
            return data[:at] + bytes([draws.choice(_BYTES)]) + data[at + 1 :]
        case 2:
            return data[:at] + draws.randbytes(draws.choice((1, 2, 5))) + data[end:]
        case 3:
            return data[:at] + data[end:]
        case 4:
            return data[:at]
        case 5:
            return data[:at] + data[at:end] * draws.choice(_REPEATS) + data[end:]
        case 6:
            return data[:at] + draws.choice(words) + data[draws.choice((at, end)) :]
        case 7:
            return data[:at] + odd_varint(draws) + data[draws.choice((at, end)) :]
        case 8:  # a number of fixed width, either end first
            number = draws.choice(_NUMBERS).to_bytes(16, draws.choice(("big", "little")), signed=True)
            width = draws.choice((1, 2, 4, 8))
            return data[:at] + draws.choice((number[:width], number[-width:])) + data[at + width :]
        case 9:  # go on as another record does
            other = draws.choice(others) if others else b""
            begin = draws.choice((at, draws.randint(0, len(other))))
            return (
                data[:at] + other[begin:]
                if draws.random() < 0.5
                else data[:at] + other[begin : begin + 30] + data[end:]
            )
        case _:  # put a part somewhere else
            place = draws.randint(0, len(data))
            return data[:place] + data[at:end] + data[place:]
