"""Fingerprints: the way a producer writes JSON identifies it, unless every value is written again in one form."""

from __future__ import annotations

import numpy as np
import pytest

from stream_anon.files.anonymizing import Anonymization
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.attributes import Identifier, Insensitive, ScalarType, Sensitive
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from tests.attacks.town import town_policy

POLICY = Policy(
    (
        Identifier("person"),
        QuasiIdentifier("age", town_policy().quasi_identifiers[0].domain),
        Insensitive("visit.cost", ScalarType.NUMBER),
        Insensitive("visit.count", ScalarType.INTEGER),
        Insensitive("visit.first", ScalarType.BOOLEAN),
        Sensitive("illness"),
    ),
    2,
    "person",
)

# One and the same record, by producers with habits of their own.
ALIKE = (
    b'{"person":1,"age":30,"visit":{"cost":25,"count":0,"first":true},"illness":"\xc3\xa9"}',
    b'{"person":"1","age":30.0,"visit":{"cost":25.0,"count":0.0,"first":true},"illness":"\\u00e9"}',
    b'{ "illness" : "\xc3\xa9" , "visit" : {"first":true,"count":-0,"cost":2.5e1}, "age":3e1, "person":1 }',
    b'{"person":1.0,"age":30,"visit":{"cost":2500e-2,"count":0e5,"first":true,"x":1},"illness":"\xc3\xa9","y":[]}',
    b'{"person":9,"person":1,"age":30,"visit":{"cost":25.000,"count":0,"first":true},"illness":"\\u00E9"}',
)
NOTHING = (
    b'{"person":1,"age":30,"visit":{"cost":0,"count":null,"first":null},"illness":null}',
    b'{"person":1,"age":30,"visit":{"cost":-0.0}}',
    b'{"person":1,"age":30,"visit":{"cost":-0,"count":null}}',
    b'{"person":1,"age":30,"visit":{"cost":0.0,"first":null,"x":null}}',
)
LARGEST = tuple(
    b'{"person":1,"age":30,"visit":{"cost":%b,"count":%b}}' % (number, number)
    for number in (b"9007199254740992", b"9007199254740992.0", b"9.007199254740992e15", b"90071992547409920e-1")
)


@pytest.mark.parametrize("records", [ALIKE, NOTHING, LARGEST], ids=["values", "nulls-and-zeros", "2^53"])
def test_equal_values_are_published_in_equal_bytes(records: tuple[bytes, ...]) -> None:
    """Promised: nothing passes as raw bytes: fields are decoded by their declared type and encoded anew.

    Else a trailing `.0`, a sign of zero, an escape, a null or the order of keys would tell one hospital's software
    from another's for each published record.
    """
    codec, anonymization = JsonCodec(POLICY), Anonymization(POLICY)
    values = [record.replace(b'"person":1', f'"person":{i}'.encode(), 1) for i, record in enumerate(records)]
    list(anonymization.add(codec.decode([*values, *values], 0, np.arange(2 * len(records)))))
    (certified,) = anonymization.close()
    assert certified.release.released == 2 * len(records)
    assert len(set(codec.encode(certified.release))) == 1
