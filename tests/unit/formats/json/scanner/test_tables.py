from __future__ import annotations

import json

import numpy as np
import pytest

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.scanner.tables import MOST_PARENTS, TABLE, ScanTables, scan_tables, spread
from stream_anon.formats.json.single_reading import MOST_LEVELS
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


def policy_of(*labels: str, name: str = "place") -> Policy:
    domain = CategoricalDomain(Hierarchy.flat(list(labels)))
    return Policy((Identifier("id"), QuasiIdentifier(name, domain)), k=2, individual="id")


def tables_of(*labels: str) -> ScanTables:
    tables = scan_tables(policy_of(*labels))
    assert tables is not None
    return tables


@pytest.mark.parametrize(
    "labels",
    [
        [f"North-western sales region, district {i:05} of the old numbering" for i in range(3000)],
        [f"{'x' * (i % 40)}{i}" for i in range(3000)],
        [f"A{i:02}.{j}" for i in range(100) for j in range(10)],
    ],
)
def test_labels_that_are_alike_make_no_long_chains(labels: list[str]) -> None:
    tables = tables_of(*labels)
    base, mask = tables.labels.tables[tables.fields[0, TABLE]].tolist()
    taken = int((tables.labels.slots[base : base + mask + 1, 0] >= 0).sum())
    assert taken == len(labels) <= (mask + 1) / 4
    assert tables.longest <= 16


def test_every_label_is_found_under_its_own_code_and_no_lookalike_is() -> None:
    labels = ["", "a", "1234567", "12345678", "123456789", "ä" * 8, "x" * 64, "x" * 63 + "y"]
    codec = JsonCodec(policy_of(*labels[1:]))
    code_of = {label: code for code, label in enumerate(labels[1:])}
    tried = [
        *labels,
        *(label + "z" for label in labels),
        *(label[:-1] for label in labels if label),
        "x" * 62 + "zy",
    ]
    values = [json.dumps({"id": 1, "place": label}, ensure_ascii=False).encode() for label in tried]
    batch = codec.decode(values, 0, np.arange(len(values)))
    found = dict(zip(batch.offsets.tolist(), batch.codes[0].tolist(), strict=True))
    assert found == {i: code_of[label] for i, label in enumerate(tried) if label in code_of}


def test_the_place_of_a_label_depends_on_every_byte_of_it() -> None:
    text = bytearray(b"a label of some length, in three words")
    before = spread(bytes(text))
    for place in range(len(text)):
        changed = text.copy()
        changed[place] ^= 1
        assert spread(bytes(changed)) != before


def test_attributes_too_deep_for_the_scanner_are_named_and_read_one_by_one() -> None:
    deep, deeper = ".".join("a" * MOST_PARENTS), ".".join("b" * (MOST_PARENTS + 1))
    assert JsonCodec(policy_of("x", name=deep)).slow_attributes == ()
    for name, singly in ((deep, 0), (deeper, 2)):
        codec = JsonCodec(policy_of("x", name=name))
        value: object = "x"
        for key in reversed(name.split(".")):
            value = {key: value}
        records = [json.dumps({"id": i, **value}).encode() for i in range(2)]  # type: ignore[dict-item]
        assert len(codec.decode(records, 0, np.arange(2))) == 2
        assert codec.slow_attributes == ((name,) if singly else ())
        assert codec.read_singly == singly


def test_objects_within_the_deepest_attribute_are_skipped_to_where_a_record_is_too_deep() -> None:
    name = ".".join("a" * MOST_PARENTS)
    codec = JsonCodec(policy_of("x", name=name))
    for nested, fits in ((MOST_LEVELS - MOST_PARENTS, True), (MOST_LEVELS - MOST_PARENTS + 1, False)):
        inner = '{"z":' + "[" * nested + "]" * nested + ',"a":"x"}'
        text = '{"id":1,' + '"a":{' * (MOST_PARENTS - 2) + '"a":' + inner + "}" * (MOST_PARENTS - 1)
        batch = codec.decode([text.encode()], 0, np.arange(1))
        assert (len(batch) == 1) is fits
