"""Texts that count as numbers and truth values, in settings and in cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_anon.errors import SettingsError, Unfit
from stream_anon.formats.tables.csv_cells import parse
from stream_anon.microdata.coding import code_value
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy

AGE = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}}
DAY = {"role": "quasi-identifier", "date": {"format": "epoch-s", "min": "2024-01-01", "max": "2024-12-31"}}


def _policy(**attributes: Any) -> Any:
    given = {
        "privacy": {"k": 2, "individual": "id", "max_share": 1.0},
        "attributes": {"id": {"role": "identifier"}, **attributes},
    }
    return build_policy(parse_settings(given), Path("policy.yaml"))


@pytest.mark.parametrize("key", ["age", "day"])
def test_a_policy_without_the_settings_keeps_its_digest_and_document(key: str) -> None:
    given = {"age": AGE, "day": DAY}[key]
    plain, said = _policy(**{key: given}), _policy(**{key: {**given, "coerce": False}})
    assert plain.digest == said.digest
    coercing = _policy(**{key: {**given, "coerce": True}})
    assert coercing.digest != plain.digest
    # A reader of the output cannot check how the input wrote its numbers.
    assert PolicyDocument.of(coercing) == PolicyDocument.of(plain) == PolicyDocument.of(said)


def test_a_zone_is_part_of_what_is_promised() -> None:
    berlin = {**DAY, "date": DAY["date"] | {"zone": "Europe/Berlin"}}
    assert _policy(day=berlin).digest != _policy(day=DAY).digest
    assert PolicyDocument.of(_policy(day=berlin)) != PolicyDocument.of(_policy(day=DAY))


@pytest.mark.parametrize(
    "given",
    [
        {"role": "identifier"},
        {"role": "insensitive"},
        {"role": "sensitive", "type": "string"},
        {"role": "quasi-identifier", "values": ["1", "2"], "type": "integer"},
        {"role": "quasi-identifier", "date": {"min": "2024-01-01", "max": "2024-12-31"}},
        {"role": "quasi-identifier", "prefix": {"length": 5}},
    ],
    ids=str,
)
def test_coerce_is_refused_where_texts_are_values_already(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as caught:
        _policy(x={**given, "coerce": True})
    assert caught.value.key == "attributes.x.coerce"


def test_a_cell_may_have_a_decimal_comma_where_the_policy_says_so() -> None:
    height = {"role": "quasi-identifier", "numeric": {"min": 0.0, "max": 3.0, "step": 0.01, "decimals": 2}}
    for coerce in (True, False):
        attribute = _policy(height={**height, "coerce": coerce}).quasi_identifiers[0]
        assert isinstance(attribute, QuasiIdentifier)
        if coerce:
            assert code_value(attribute, parse(attribute, "1,75")) == attribute.code(1.75)
        else:
            with pytest.raises(Unfit):
                code_value(attribute, parse(attribute, "1,75"))


def test_a_cell_of_an_epoch_is_a_number() -> None:
    attribute = _policy(day=DAY).quasi_identifiers[0]
    assert code_value(attribute, parse(attribute, "1704067200")) == 0
