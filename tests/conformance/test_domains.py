"""The one suite for all domains: what the protocol promises, of made-up values."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from stream_anon.audit.formats.table_rows import CellReader
from stream_anon.errors import Unfit
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.json.scanner.scanner import Scanner
from stream_anon.formats.json.scanner.tables import scan_tables
from stream_anon.formats.json.single_reading import SingleReader
from stream_anon.formats.tables.csv_cells import parse
from stream_anon.microdata.attributes import Identifier, PublishedForm, Unknown
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import CodedRecord, code_value
from stream_anon.microdata.domains.domain import WHOLE_TABLE, Domain
from stream_anon.microdata.domains.domain_kinds import DOMAINS
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.microdata.texts import Texts
from stream_anon.privacy.costs import cost, lowest_nodes
from stream_anon.privacy.costs.cost import cost_model, interval_cost, level_model
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.settings.attributes.attribute import DOMAIN_SETTINGS as SETTINGS
from tests.conformance.domains import SPECIMENS, Specimen

every = pytest.mark.parametrize("name", SPECIMENS)
_MOST = 8000


def _attribute(domain: Domain, unknown: Unknown = Unknown.REJECT) -> QuasiIdentifier:
    publication = PublishedForm.TIGHT if domain.tight else PublishedForm.NODES
    return QuasiIdentifier("x", domain, unknown=unknown, publication=publication)


@cache
def _policy(name: str, unknown: Unknown = Unknown.REJECT) -> Policy:
    return Policy((Identifier("id"), _attribute(SPECIMENS[name].domain, unknown)), k=2, individual="id")


def _codes(specimen: Specimen) -> st.SearchStrategy[int]:
    """Return codes of known values and, where all codes are values', of the ends and any."""
    size = specimen.domain.size
    if not specimen.dense:
        return st.sampled_from(sorted(map(specimen.domain.code, specimen.fitting)))
    known = sorted({0, size - 1, *map(specimen.domain.code, specimen.fitting)})
    return st.sampled_from(known) | st.integers(0, size - 1)


def _interval(data: st.DataObject, specimen: Specimen) -> tuple[int, int]:
    first, second = data.draw(_codes(specimen)), data.draw(_codes(specimen))
    return min(first, second), max(first, second)


def _records(specimen: Specimen) -> list[bytes]:
    spelt = [value for group in specimen.alike for value in group]
    values = [*specimen.fitting, *specimen.outside, *specimen.wrong, *spelt, None]
    return [json.dumps({"id": f"p{i}", "x": value}).encode() for i, value in enumerate(values)]


def test_every_domain_of_the_table_has_specimens() -> None:
    assert {specimen.domain.kind for specimen in SPECIMENS.values()} == set(DOMAINS)


@every
def test_a_value_has_a_code_and_what_is_published_of_it_is_read_back(name: str) -> None:
    specimen = SPECIMENS[name]
    attribute = _attribute(specimen.domain)
    for value in specimen.fitting:
        code = specimen.domain.code(value)
        assert 0 <= code < specimen.domain.size
        bounds = attribute.read(attribute.publish(*attribute.node(code, code)))
        assert bounds is not None
        assert bounds[0] <= code <= bounds[1]


@every
def test_values_outside_and_of_a_wrong_type_have_no_code(name: str) -> None:
    specimen = SPECIMENS[name]
    for value in specimen.outside:
        with pytest.raises(Unfit) as raised:
            specimen.domain.code(value)
        assert raised.value.reason in (Reason.UNKNOWN_VALUE, Reason.OUT_OF_RANGE)
    for value in specimen.wrong:
        with pytest.raises(Unfit) as raised:
            specimen.domain.code(value)
        assert raised.value.reason is Reason.WRONG_TYPE


@every
def test_spellings_of_one_value_have_one_code(name: str) -> None:
    specimen = SPECIMENS[name]
    for group in specimen.alike:
        codes = set()
        for value in group:
            try:
                codes.add(specimen.domain.code(value))
            except Unfit as unfit:
                codes.add(-1 - unfit.reason)
        assert len(codes) == 1


@every
@given(data=st.data())
def test_what_is_published_covers_all_its_values(name: str, data: st.DataObject) -> None:
    specimen = SPECIMENS[name]
    values = data.draw(st.lists(st.sampled_from(list(specimen.fitting)), min_size=1, max_size=3))
    codes = [specimen.domain.code(value) for value in values]
    published = specimen.domain.publish(*specimen.domain.node(min(codes), max(codes)))
    assert published == ROOT_LABEL or all(specimen.covers(published, value) for value in values)


@every
@given(data=st.data())
def test_a_node_is_read_back_as_the_codes_that_it_was_written_for(name: str, data: st.DataObject) -> None:
    domain = SPECIMENS[name].domain
    low, high = _interval(data, SPECIMENS[name])
    node = domain.node(low, high)
    assert 0 <= node[0] <= low <= high <= node[1] < domain.size
    assert domain.node(*node) == node
    published = domain.publish(*node)
    assert domain.read(published) == node
    assert domain.read([published]) is None
    assert domain.read(None) is None
    if isinstance(published, str):
        assert domain.read(published + " ") is None


@every
@given(data=st.data())
def test_the_node_of_a_level_holds_just_the_nodes_around_a_code_that_are_not_above_it(
    name: str, data: st.DataObject
) -> None:
    domain = SPECIMENS[name].domain
    nodes = domain.by_nodes()
    assert not nodes.tight
    low, high = _interval(data, SPECIMENS[name])
    wider = nodes.node(low, high)
    assert domain.node_at(low, 0) == (low, low)
    for level in range(domain.height):
        first, last = domain.node_at(low, level)
        assert (first, last) in ((low, low), nodes.node(first, last))
        within = first <= wider[0] and wider[1] <= last
        assert within == (nodes.level(*wider) <= level or wider == (low, low))


@every
@given(data=st.data())
def test_any_two_nodes_are_nested_or_disjoint(name: str, data: st.DataObject) -> None:
    domain = SPECIMENS[name].domain
    if domain.tight:
        return
    first, second = (domain.node(*_interval(data, SPECIMENS[name])) for _ in range(2))
    shared = max(first[0], second[0]), min(first[1], second[1])
    assert shared[0] > shared[1] or shared in (first, second)


@every
@given(data=st.data())
def test_levels_and_loss_grow_with_the_interval(name: str, data: st.DataObject) -> None:
    domain = SPECIMENS[name].domain
    low, high = _interval(data, SPECIMENS[name])
    wider = min(low, data.draw(_codes(SPECIMENS[name]))), max(high, data.draw(_codes(SPECIMENS[name])))
    assert 0 <= domain.level(low, high) <= domain.level(*wider) <= domain.height
    losses = [domain.ncp(*domain.node(*bounds)) for bounds in ((low, high), wider, (0, domain.size - 1))]
    assert 0 <= losses[0] <= losses[1] <= losses[2] <= 1
    assert losses[2] == pytest.approx(1)


@every
@given(data=st.data())
def test_kernels_count_the_loss_that_the_domain_says(name: str, data: st.DataObject) -> None:
    attribute = _attribute(SPECIMENS[name].domain)
    low, high = _interval(data, SPECIMENS[name])
    ncp, level = _models(name)
    node = attribute.domain.node(low, high)
    assert interval_cost(ncp, 0, low, high) == pytest.approx(attribute.domain.ncp(*node), abs=1e-5)
    share = attribute.domain.level(low, high) / attribute.domain.height
    assert interval_cost(level, 0, low, high) == pytest.approx(share, abs=1e-5)


@cache
def _models(name: str, min_level: int = 0, whole_table: int = WHOLE_TABLE) -> tuple[Any, Any]:
    """Return the costs of a specimen by NCP and by level, with tables for domains of up to so many codes."""
    attributes = [replace(_attribute(SPECIMENS[name].domain), min_level=min_level)]
    with patch.object(cost, "WHOLE_TABLE", whole_table), patch.object(lowest_nodes, "WHOLE_TABLE", whole_table):
        lowest = lowest_nodes.LowestNodes(attributes)
        return lowest.charged(cost_model(attributes)), lowest.charged(level_model(attributes))


@every
@pytest.mark.parametrize("whole_table", [WHOLE_TABLE, 0])
@given(data=st.data())
def test_kernels_charge_at_least_the_node_of_the_lowest_level(
    name: str, whole_table: int, data: st.DataObject
) -> None:
    domain = SPECIMENS[name].domain
    if domain.tight:
        return
    attribute = replace(_attribute(domain), min_level=data.draw(st.integers(0, domain.height)))
    low, high = _interval(data, SPECIMENS[name])
    if data.draw(st.integers(0, 9)) == 0:
        low, high = data.draw(
            st.sampled_from([(low, attribute.missing_code), (attribute.missing_code,) * 2, (low, domain.size + 1)])
        )
    published = attribute.lifted(*attribute.node(low, high))
    ncp, level = _models(name, attribute.min_level, whole_table)
    if not SPECIMENS[name].dense and domain.size > whole_table:  # nodes of short texts are no arithmetic
        assert interval_cost(ncp, 0, low, high) <= attribute.ncp(*published) + 1e-5
        return
    assert interval_cost(ncp, 0, low, high) == pytest.approx(attribute.ncp(*published), abs=1e-5)
    share = attribute.level(*published) / domain.height
    assert interval_cost(level, 0, low, high) == pytest.approx(share, abs=1e-5)


@every
@given(data=st.data())
def test_digits_tell_every_code_from_any_other(name: str, data: st.DataObject) -> None:
    domain = SPECIMENS[name].domain
    codes = data.draw(_codes(SPECIMENS[name])), data.draw(_codes(SPECIMENS[name]))
    digits = _digits(name)
    written = [[int(d.listed[c]) if len(d.listed) else c // d.width % d.values for d in digits] for c in codes]
    assert all(0 <= value < digit.values for row in written for value, digit in zip(row, digits, strict=True))
    assert (written[0] == written[1]) == (codes[0] == codes[1])
    if not any(len(digit.listed) for digit in digits):
        sums = [sum(v * digit.width for v, digit in zip(row, digits, strict=True)) for row in written]
        assert sums == list(codes)
        assert (written[0] < written[1]) == (codes[0] < codes[1])
    assert domain.size <= 2**30


@cache
def _digits(name: str) -> Any:
    return SPECIMENS[name].domain.digits()


@every
@given(data=st.data())
def test_the_schema_accepts_what_is_published_and_audits_read_it_from_cells(name: str, data: st.DataObject) -> None:
    domain, attribute = SPECIMENS[name].domain, _attribute(SPECIMENS[name].domain)
    low, high = _interval(data, SPECIMENS[name])
    published = attribute.publish(*attribute.node(low, high))
    validator, reader = _readers(name)
    assert validator.is_valid({"x": published})
    assert not validator.is_valid({"x": [published]})
    cell = published if isinstance(published, str) else json.dumps(published)
    record = reader.read([cell])
    assert record is not None
    assert attribute.read(record["x"]) == attribute.read(published)
    longest = max(len(json.dumps(value)) for value in domain.longest())
    assert len(json.dumps(domain.publish(*domain.node(low, high)))) <= max(longest, len('"*"'))


@cache
def _readers(name: str) -> tuple[Any, CellReader]:
    policy = _policy(name)
    return Draft7Validator(released_schema(policy)), CellReader(policy, ["x"])


@every
@pytest.mark.parametrize("unknown", Unknown)
def test_slow_and_fast_readers_agree(name: str, unknown: Unknown) -> None:
    specimen, policy = SPECIMENS[name], _policy(name, unknown)
    values = _records(specimen)
    batch = JsonCodec(policy, max_record_bytes=_MOST).decode(values, 0, np.arange(len(values)))
    codes = dict(zip(batch.offsets.tolist(), batch.codes[0].tolist(), strict=True))
    rejects = dict(zip(batch.rejects.offsets.tolist(), batch.rejects.reasons.tolist(), strict=True))
    for place, value in enumerate(values):
        read = SingleReader(policy, _MOST).read(value)
        if isinstance(read, CodedRecord):
            assert codes[place] == read.codes[0]
        else:
            assert rejects[place] == read.reason


@every
@pytest.mark.parametrize("unknown", Unknown)
def test_no_domain_turns_the_scanner_off(name: str, unknown: Unknown) -> None:
    policy, specimen = _policy(name, unknown), SPECIMENS[name]
    tables = scan_tables(policy)
    assert tables is not None
    texts = [json.dumps({"id": "p", "x": value}, ensure_ascii=False).encode() for value in specimen.fitting]
    batch, left = Scanner(policy, tables, _MOST).scan(Texts.of(texts), 0, np.arange(len(texts)))
    assert not len(left)
    assert batch.codes[0].tolist() == [specimen.domain.code(value) for value in specimen.fitting]


@every
def test_a_cell_is_the_value_that_json_would_hold(name: str) -> None:
    attribute, specimen = _attribute(SPECIMENS[name].domain), SPECIMENS[name]
    for value in specimen.fitting:
        if isinstance(value, str) or not isinstance(specimen.domain, PrefixDomain):  # a cell has no numbers there
            assert code_value(attribute, parse(attribute, str(value))) == code_value(attribute, value)


@every
def test_the_document_of_a_policy_holds_its_domain(name: str) -> None:
    document = PolicyDocument.of(_policy(name))
    rebuilt = document.policy()
    assert PolicyDocument.of(rebuilt).text == document.text
    domain = rebuilt.quasi_identifiers[0].domain
    # What a reader of the output cannot check, such as zeros that are filled in, is no part of it.
    values = [v for v in SPECIMENS[name].fitting if isinstance(v, str) or not isinstance(domain, PrefixDomain)]
    assert [domain.code(v) for v in values] == [SPECIMENS[name].domain.code(v) for v in values]


@every
def test_an_outline_names_levels_from_fine_to_coarse(name: str) -> None:
    domain = SPECIMENS[name].domain
    outline = json.loads(json.dumps(domain.outline()))
    groups = [level["groups"] for level in outline["levels"]]
    assert outline["kind"] == domain.kind
    assert groups == sorted(groups, reverse=True)
    assert groups[0] <= domain.size
    assert len({level["name"] for level in outline["levels"]}) == len(groups)
    assert domain.words()


@every
def test_settings_that_a_domain_proposes_cover_the_values_and_reveal_none(name: str) -> None:
    specimen = SPECIMENS[name]
    for kind in DOMAINS.values():
        proposed = kind.proposal(specimen.fitting)
        if proposed is None:
            continue
        ((key, given),) = proposed.items()
        domain = SETTINGS[key].model_validate(given).build(key)
        for value in specimen.fitting:
            assert 0 <= domain.code(value) < domain.size
            assert str(value) not in json.dumps(proposed)
