from decimal import Decimal

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from stream_anon.formats.writing.fractions import decimal_doubles


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=20))
@example(
    [
        0.0,
        -0.0,
        0.1,
        36.6,
        3.4028235e38,
        1e-45,
        2.0**-44,
        16777216.0,
        1e23,
        6.313423175963537e29,
        2.0**87,
        2.0**-140,
    ]
)
@example([2.0**power for power in range(-149, 128)])
@example([float(np.float32(10.0**power)) for power in range(-44, 39)])
def test_a_short_float_becomes_the_double_of_its_shortest_decimal(values: list[float]) -> None:
    floats = np.array(values, np.float32)
    found = decimal_doubles(floats)
    assert (found.astype(np.float32) == floats).all()
    for value, double in zip(floats, found.tolist(), strict=True):
        assert len(_digits(double)) <= 9
        assert Decimal(repr(double)) == Decimal(str(value))


def _digits(value: float) -> str:
    return "".join(map(str, Decimal(repr(value)).normalize().as_tuple().digits))
