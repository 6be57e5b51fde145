"""What internet addresses are published as, and what their settings refuse; the laws are in `tests.conformance`."""

from __future__ import annotations

from typing import Any

import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.addresses import AddressDomain
from stream_anon.settings.loading import parse_settings


def _published(domain: AddressDomain, *values: str) -> object:
    codes = [domain.code(value) for value in values]
    return domain.publish(*domain.node(min(codes), max(codes)))


ALL = AddressDomain(4, (8, 16, 24), "0.0.0.0/0")
OFFICE = AddressDomain(4, (16, 24), "10.0.0.0/8")
PUBLIC = AddressDomain(6, (16, 24, 32), "2000::/3")
PROVIDER = AddressDomain(6, (40, 48, 56), "2001:db8::/32")
MAPPED = AddressDomain(6, (104, 112, 120), "::ffff:0.0.0.0/96")


@pytest.mark.parametrize(
    ("domain", "values", "published", "level"),
    [
        (ALL, ["10.1.2.3"], "10.1.2.0/24", 1),
        (ALL, ["10.1.2.3", "10.1.2.99"], "10.1.2.0/24", 1),
        (ALL, ["10.1.2.3", "10.1.9.9"], "10.1.0.0/16", 2),
        (ALL, ["10.1.2.3", "::FFFF:10.200.0.1"], "10.0.0.0/8", 3),
        (ALL, ["10.1.2.3", "11.1.2.3"], "*", 4),
        (OFFICE, ["10.1.2.3"], "10.1.2.3", 0),
        (OFFICE, ["10.1.2.3", "10.1.2.4"], "10.1.2.0/24", 1),
        (OFFICE, ["10.1.2.3", "10.1.3.4"], "10.1.0.0/16", 2),
        (OFFICE, ["10.1.2.3", "10.2.3.4"], "*", 3),
        (PUBLIC, ["2001:DB8::1", "2001:0db8:ffff::2"], "2001:db8::/32", 1),
        (PUBLIC, ["2001:db8::", "2001:1::"], "2001::/16", 3),
        (PROVIDER, ["2001:db8:1:2::3", "2001:db8:1:ff::"], "2001:db8:1::/56", 1),
        (PROVIDER, ["2001:db8:1:2::3", "2001:db8:1:100::"], "2001:db8:1::/48", 2),
        (MAPPED, ["10.1.2.3", "::ffff:a01:2ff"], "::ffff:10.1.2.0/120", 1),
    ],
)
def test_a_class_of_addresses_is_published_as_its_narrowest_declared_network(
    domain: AddressDomain, values: list[str], published: str, level: int
) -> None:
    assert _published(domain, *values) == published
    codes = [domain.code(value) for value in values]
    assert domain.level(min(codes), max(codes)) == level
    assert domain.ncp(*domain.node(min(codes), max(codes))) == level / domain.height


@pytest.mark.parametrize(
    "text",
    [
        "10.1.2.3",
        "10.1.2.0",
        "10.1.2.1/24",
        "10.1.2.0/25",
        "10.0.0.0/255.0.0.0",
        "0.0.0.0/0",
        "2001:db8::/32",
    ],
)
def test_an_audit_refuses_a_network_that_is_not_declared(text: str) -> None:
    assert ALL.read(text) is None


@pytest.mark.parametrize("text", ["2001:DB8::/32", "2001:db8:0::/32", "fe80::/16", "2001:db8::/33", "10.0.0.0/8"])
def test_an_audit_reads_only_the_canonical_spelling_of_a_network(text: str) -> None:
    assert PUBLIC.read(text) is None
    assert PUBLIC.read("2001:db8::/32") is not None


@pytest.mark.parametrize(
    ("given", "key", "message"),
    [
        ({"version": 5}, "attributes.a.ip.version", "4 or 6"),
        ({"version": 4, "prefixes": []}, "attributes.a.ip.prefixes", "at least 1"),
        ({"version": 4, "prefixes": [16, 8]}, "attributes.a.ip.prefixes", "ascend"),
        ({"version": 4, "prefixes": [0, 8]}, "attributes.a.ip.prefixes", "above 0"),
        ({"version": 4, "prefixes": [8, 32]}, "attributes.a.ip.prefixes", "below 32"),
        ({"version": 4, "prefixes": [8, 31]}, "attributes.a.ip.prefixes", "at most 30"),
        ({"version": 6, "prefixes": [32, 48]}, "attributes.a.ip.prefixes", "at most 33"),
        ({"version": 4, "within": "10.1.0.0/8"}, "attributes.a.ip.within", "network of version 4"),
        ({"version": 4, "within": "2000::/3"}, "attributes.a.ip.within", "network of version 4"),
        ({"version": 6, "within": "2001:DB8::/32"}, "attributes.a.ip.within", "must be written as 2001:db8::/32"),
        ({"version": 4, "prefix": [8]}, "attributes.a.ip.prefix", "allowed: version, prefixes, within"),
    ],
)
def test_impossible_settings_of_addresses_are_refused(given: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        _domain(given)
    assert raised.value.key == key
    assert message in raised.value.message


@pytest.mark.parametrize(
    ("version", "prefixes", "within"), [(4, (8, 16, 24), "0.0.0.0/0"), (6, (16, 24, 32), "2000::/3")]
)
def test_the_version_is_the_only_required_setting_of_addresses(
    version: int, prefixes: tuple[int, ...], within: str
) -> None:
    assert _domain({"version": version}) == AddressDomain(version, prefixes, within, "attributes.a.ip")


def _domain(given: dict[str, Any]) -> object:
    document = {
        "privacy": {"k": 2, "individual": "id"},
        "attributes": {"id": {"role": "identifier"}, "a": {"role": "quasi-identifier", "ip": given}},
    }
    settings = parse_settings(document).attributes["a"].ip
    assert settings is not None
    return settings.build("attributes.a.ip")
