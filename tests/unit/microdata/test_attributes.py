from __future__ import annotations

import pytest

from stream_anon.errors import Unfit
from stream_anon.microdata.attributes import Insensitive, ScalarType, pass_value


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (ScalarType.STRING, "x", "x"),
        (ScalarType.INTEGER, 25.0, 25),
        (ScalarType.INTEGER, -3, -3),
        (ScalarType.NUMBER, 2.5, 2.5),
        (ScalarType.NUMBER, 2, 2),
        (ScalarType.NUMBER, 2.0, 2),
        (ScalarType.NUMBER, -0.0, 0),
        (ScalarType.NUMBER, 2.0**53 - 1, 2**53 - 1),
        (ScalarType.NUMBER, 2.0**53, 2**53),
        (ScalarType.NUMBER, -(2.0**53), -(2**53)),
        (ScalarType.NUMBER, 2.0**53 + 2, 2.0**53 + 2),
        (ScalarType.NUMBER, 2**53 + 1, 2**53 + 1),
        (ScalarType.BOOLEAN, False, False),
        (ScalarType.BOOLEAN, None, None),
    ],
)
def test_a_field_that_passes_keeps_its_value(kind: ScalarType, value: object, expected: object) -> None:
    got = pass_value(Insensitive("x", kind), value)
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ScalarType.STRING, 1),
        (ScalarType.STRING, ["x"]),
        (ScalarType.INTEGER, True),
        (ScalarType.INTEGER, 2.5),
        (ScalarType.INTEGER, "2"),
        (ScalarType.INTEGER, float("inf")),
        (ScalarType.NUMBER, True),
        (ScalarType.NUMBER, "2"),
        (ScalarType.BOOLEAN, 0),
        (ScalarType.BOOLEAN, "true"),
        (ScalarType.STRING, {"raw": "bytes"}),
    ],
)
def test_a_field_of_a_wrong_type_is_rejected(kind: ScalarType, value: object) -> None:
    with pytest.raises(Unfit):
        pass_value(Insensitive("x", kind), value)
