"""Policy documents: what an audit needs of a policy, as text with a hash."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replace_struct

from stream_anon.errors import CertificateError, LaterVersionError
from stream_anon.microdata.attributes import (
    Attribute,
    Identifier,
    Insensitive,
    Missing,
    ScalarType,
    Sensitive,
    Unknown,
)
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.diversity import Closeness, Distance, Diversity, Recursion
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.domains.hierarchy import MOST_LEVELS, Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.output.statement import Statement
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.certificate import PART_BYTES
from stream_anon.privacy.policy_document import NO_PROMISE, PolicyDocument, join_document, read_document_part
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy, load_policy
from tests.support.audited_files import SETTINGS
from tests.support.data import ROOT
from tests.support.policies import write_policy
from tests.support.releases import ward_policy
from tests.unit.microdata.test_read import CHAIN, RAGGED

EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*/*.yaml")) if path.stat().st_size]


def _rich() -> Policy:
    """Return a policy that uses whatever a policy can say."""
    return ward_policy(
        attributes=(
            Identifier("person"),
            QuasiIdentifier("ward", CategoricalDomain(RAGGED), missing=Missing.REJECT, unknown=Unknown.ROOT),
            QuasiIdentifier("wing", CategoricalDomain(CHAIN)),
            QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal("99.50"), Decimal("0.5"), 1, (Decimal(5),))),
            QuasiIdentifier("zip", PrefixDomain(7, "0123456789ABCDEF", 7)),
            QuasiIdentifier("day", DateDomain("%d.%m.%Y", dt.date(2020, 1, 1), dt.date(2020, 3, 1))),
            Sensitive("pay", ScalarType.INTEGER),
            Sensitive("result", families=(("good", "fair", None), ("bad", "none"))),
            Sensitive("wound", families=(("fall", "cut", None), ("burn", "bite")), shown_as=ShownAs.VALUE),
            Insensitive("visits", ScalarType.NUMBER),
        ),
        k=12,
        max_share=0.25,
        extra_levels=2,
        diversity={
            "pay": Diversity(3, 2.5, Recursion(1.5, 3), Closeness(0.2, Distance.ORDERED), 3, 0.5, 1.5, 2.0),
            "result": Diversity(2),
        },
        shields=(Shield(("ward", "day"), 20_000), Shield(("ward",), 30_000)),
        window=WindowLimits(max_records=30_000),
    )


def _same(policy: Policy, other: Policy) -> bool:
    """Return whether two policies publish alike: the same attributes, domains and criteria."""
    hierarchies = [
        [(d.hierarchy.labels, d.hierarchy.parents.tolist(), d.hierarchy.code_of, d.hierarchy.leaves.tolist())]
        for each in (policy, other)
        for d in (qi.domain for qi in each.quasi_identifiers)
        if isinstance(d, CategoricalDomain)
    ]
    half = len(hierarchies) // 2
    return hierarchies[:half] == hierarchies[half:] and (
        repr((policy.diversity, policy.shields)) == repr((other.diversity, other.shields))
    )


WITHOUT_K = ward_policy(k=None, max_share=1.0, shields=(Shield(("illness", "day"), 20),))


@pytest.mark.parametrize("policy", [ward_policy(), _rich(), WITHOUT_K], ids=["ward", "rich", "without k"])
def test_a_policy_that_is_read_from_its_document_makes_the_same_promises(policy: Policy) -> None:
    document = PolicyDocument.of(policy)
    rebuilt = document.policy()
    assert PolicyDocument.of(rebuilt) == document
    assert (rebuilt.k, rebuilt.max_share, rebuilt.extra_levels) == (policy.k, policy.max_share, policy.extra_levels)
    assert [(a.name, a.role, type(a)) for a in rebuilt.attributes] == [
        (a.name, a.role, type(a)) for a in policy.attributes
    ]
    assert _same(policy, rebuilt)
    for ours, theirs in zip(policy.quasi_identifiers, rebuilt.quasi_identifiers, strict=True):
        for code in range(min(ours.size, 500)):
            bounds = ours.node(code, min(code + 2, ours.size - 1))
            assert theirs.read(ours.publish(*bounds)) == ours.read(ours.publish(*bounds))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_every_example_has_a_document(path: Any) -> None:
    policy = load_policy(path)
    assert PolicyDocument.of(PolicyDocument.of(policy).policy()) == PolicyDocument.of(policy)


def test_settings_that_only_steer_the_service_change_no_promise() -> None:
    policy = ward_policy()
    steered = replace(
        policy,
        window=WindowLimits(max_records=500, max_delay=300),
        engine=EngineChoice("mondrian", seed=7),
        revision=4,
        digest="sha256:" + "1" * 64,
        attributes=tuple(
            replace(a, weight=3.0) if isinstance(a, QuasiIdentifier) else a for a in policy.attributes
        ),
    )
    assert PolicyDocument.of(steered) == PolicyDocument.of(policy)


@pytest.mark.parametrize(
    "changes",
    [
        {"k": 4},
        {"max_share": 0.6},
        {"diversity": {}},
        {"diversity": {"result": Diversity(3)}},
        {"individual": "every-record"},
        {"shields": (Shield(("plan", "day"), 9),)},
        {"attributes": ward_policy().attributes[:-1]},
        {"attributes": (*ward_policy().attributes, Insensitive("note"))},
    ],
)
def test_settings_that_a_reader_can_check_change_the_hash(changes: dict[str, Any]) -> None:
    assert PolicyDocument.of(ward_policy(**changes)).promises != PolicyDocument.of(ward_policy()).promises


def test_a_field_that_is_added_counts_as_a_promise_unless_it_is_named_here() -> None:
    # A new field of a policy, attribute or domain travels by itself; one that promises nothing joins NO_PROMISE.
    kinds = (Policy, Identifier, QuasiIdentifier, Sensitive, Insensitive, NumericDomain, PrefixDomain, DateDomain)
    names = {field.name for kind in kinds for field in fields(kind)}
    assert names >= NO_PROMISE


@pytest.mark.parametrize("lost", ["k", "shields", "max_share"])
def test_a_document_that_lost_a_promise_is_no_document_without_k(lost: str) -> None:
    plain = json.loads(PolicyDocument.of(WITHOUT_K).text)
    del plain[lost]
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    with pytest.raises(CertificateError):
        PolicyDocument.from_text(text).policy()


def test_a_document_travels_in_parts_below_the_limit_of_brokers() -> None:
    labels = [f'"{"ü" * 20}{number:06}"' for number in range(40_000)]
    wide = QuasiIdentifier("job", CategoricalDomain(Hierarchy.flat(labels)))
    document = PolicyDocument.of(ward_policy(attributes=(*ward_policy().attributes, wide)))
    parts = document.parts()
    assert len(parts) > 3
    assert all(len(part) < PART_BYTES for part in parts)
    read = [read_document_part(part) for part in reversed(parts)]
    assert join_document(read) == document
    with pytest.raises(CertificateError, match="is not the one that it states"):
        join_document(read[1:])


def test_a_changed_text_is_refused_by_its_hash() -> None:
    (part,) = PolicyDocument.of(ward_policy()).parts()
    changed = json.loads(part)
    changed["text"] = changed["text"].replace('"k":3', '"k":2')
    with pytest.raises(CertificateError, match="is not the one that it states"):
        join_document([read_document_part(json.dumps(changed).encode())])


def _changed(change: dict[str, Any]) -> str:
    return json.dumps(json.loads(PolicyDocument.of(_rich()).text) | change, sort_keys=True, separators=(",", ":"))


def _domain(**domain: Any) -> dict[str, Any]:
    return {
        "attributes": [{"role": "quasi-identifier", "name": "a", "domain": domain}],
        "individual": "every-record",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        _changed({"k": 1}),
        _changed({"k": 10**400}),
        _changed({"k": "Mrs Smith"}),
        _changed({"later": 1}),
        _changed({"attributes": [{"role": "guest", "name": "Mrs Smith"}]}),
        _changed({"attributes": 7}),
        _changed(_domain(kind="prefix", length=10**9, alphabet="01", keep=10**9)),
        _changed(_domain(kind="prefix", length=-1, alphabet="01", keep=-1)),
        _changed(_domain(kind="numeric", minimum="0", maximum="1e999999", step="1", decimals=0)),
        _changed(_domain(kind="numeric", minimum="0", maximum="NaN", step="1", decimals=0)),
        _changed(_domain(kind="categorical", hierarchy={"labels": ["*"] * 9, "parents": list(range(-1, 8))})),
        _changed(
            _domain(
                kind="categorical",
                hierarchy={"labels": [f"{i}" for i in range(99_999)], "parents": list(range(-1, 99_998))},
            )
        ),
        _changed(_domain(kind="categorical", hierarchy={"labels": ["*", "a"], "parents": [-1, -1]})),
        _changed(_domain(kind="date", format="%Y", earliest="2020-01-01", latest="2020-01-02")),
        _changed(_domain(kind="magic")),
        PolicyDocument.of(ward_policy()).text + " ",
    ],
)
def test_a_text_that_is_no_document_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(CertificateError) as caught:
        PolicyDocument.from_text(text).policy()
    assert "Smith" not in str(caught.value)


def test_a_document_of_a_later_release_is_refused_with_a_reason() -> None:
    part = json.loads(PolicyDocument.of(ward_policy()).parts()[0]) | {"schema": 2, "more": True}
    with pytest.raises(LaterVersionError, match="policy document of version 2: made by a later release"):
        read_document_part(json.dumps(part).encode())


def test_max_delay_and_seed_of_a_settings_file_promise_nothing(tmp_path: Any) -> None:
    plain = build_policy(parse_settings(SETTINGS), tmp_path / "policy.yaml")
    other = SETTINGS | {"window": {"max_records": 200, "max_delay": "5m"}, "engine": {"seed": 9}}
    changed = build_policy(parse_settings(other), tmp_path / "policy.yaml")
    assert changed.digest != plain.digest
    assert PolicyDocument.of(changed) == PolicyDocument.of(plain)


def test_every_role_of_an_attribute_has_a_name_in_a_document() -> None:
    # Every kind of attribute and domain that exists can be written and read.
    assert {kind.role for kind in Attribute.__subclasses__() if kind.role} | {"sensitive", "insensitive"} == {
        "identifier",
        "quasi-identifier",
        "sensitive",
        "insensitive",
    }


def test_a_small_limit_of_the_topic_cuts_a_document_into_more_parts(tmp_path: Path) -> None:
    document = PolicyDocument.of(load_policy(write_policy(tmp_path, input={"null_values": ["NA", "-"]})))
    parts = document.parts(1024)
    assert len(parts) > 1
    assert max(map(len, parts)) <= 1024
    assert join_document([read_document_part(part) for part in parts]) == document
    assert document.policy().k == 3, "texts that mean a missing value change no promise"


# The text that release 0.1 wrote for `_STORED_POLICY`, and its digest: neither may ever change.
_STORED_POLICY = """
privacy: {k: 2, individual: person_id}
attributes:
  person_id: {role: identifier}
  age: {role: quasi-identifier, numeric: {min: 17, max: 90, levels: [5, 10, 20]}}
  height: {role: quasi-identifier, numeric: {min: 0.5, max: 2.5, decimals: 2, publish: tight}}
  zip: {role: quasi-identifier, prefix: {length: 5, pad: zeros}}
  post: {role: quasi-identifier, prefix: {length: 7, alphabet: alphanumeric, shorter: true}, unknown: root}
  day: {role: quasi-identifier, date: {min: "2024-01-01", max: "2027-12-31"}, missing: reject}
  job: {role: quasi-identifier, hierarchy: {work: {a: null, b: null}, other: {c: null, d: {e: null}}}}
  floor: {role: quasi-identifier, values: [1, 2, 3], type: integer, publish: values}
"""
_STORED_DIGEST = "sha256:b1b0677b0e7200c8ab1710a41079cf0f42feacbbc97b4ebcacd8c7136a1f40dc"
_STORED_PROMISES = "sha256:17140ed12b672f62c50744a622a09d6c74ffa5156cebc27a044ad9ba007b8712"
_STORED = (
    '{"attributes":[{"name":"person_id","role":"identifier"},{"domain":{"decimals":0,"kind":"numeric","levels"'
    ':["5","10","20"],"maximum":"90","minimum":"17","step":"1"},"name":"age","role":"quasi-identifier"},{"doma'
    'in":{"decimals":2,"kind":"numeric","maximum":"2.5","minimum":"0.5","step":"0.01","tight":true},"name":"he'
    'ight","publication":"tight","role":"quasi-identifier"},{"domain":{"alphabet":"0123456789","keep":5,"kind"'
    ':"prefix","length":5},"name":"zip","role":"quasi-identifier"},{"domain":{"alphabet":"0123456789ABCDEFGHIJ'
    'KLMNOPQRSTUVWXYZ","keep":5,"kind":"prefix","length":7,"shorter":true},"name":"post","role":"quasi-identif'
    'ier","unknown":"root"},{"domain":{"earliest":"2024-01-01","format":"%Y-%m-%d","kind":"date","latest":"202'
    '7-12-31"},"missing":"reject","name":"day","role":"quasi-identifier"},{"domain":{"hierarchy":{"labels":["*'
    '","work","a","b","other","c","d","e"],"parents":[-1,0,1,1,0,4,4,6]},"kind":"categorical"},"name":"job","r'
    'ole":"quasi-identifier"},{"domain":{"hierarchy":{"labels":["*","1","2","3"],"parents":[-1,0,0,0]},"kind":'
    '"categorical"},"name":"floor","publication":"values","role":"quasi-identifier","type":"integer"}],"indivi'
    'dual":"person_id","k":2}'
)


def test_the_document_and_the_digest_of_an_old_policy_stay_the_same(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(_STORED_POLICY)
    policy = load_policy(path)
    document = PolicyDocument.of(policy)
    assert document.text == _STORED
    assert document.promises == _STORED_PROMISES
    assert policy.digest == _STORED_DIGEST
    assert PolicyDocument.of(document.policy()).text == _STORED


def test_the_text_has_sorted_keys_unescaped_letters_and_no_default() -> None:
    job = QuasiIdentifier("job", CategoricalDomain(Hierarchy.flat(["maçon", "b"])))
    document = PolicyDocument.of(Policy((job,), 2, EVERY_RECORD))
    plain = json.loads(document.text)
    assert document.text == json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert "maçon" in document.text
    assert list(plain) == ["attributes", "individual", "k"]
    assert list(plain["attributes"][0]) == ["domain", "name", "role"]


def test_parts_stay_below_a_limit_though_every_letter_is_escaped() -> None:
    document = PolicyDocument.from_text("\x01" * 5_000)
    parts = document.parts(2_000)
    assert max(map(len, parts)) <= 2_000
    assert join_document([read_document_part(part) for part in parts]) == document
    assert [read_document_part(part).text for part in PolicyDocument.from_text("abc").parts(1)] == ["a", "b", "c"]


def test_a_text_that_is_no_part_is_not_taken_for_a_part_of_a_later_release() -> None:
    for text in (b'{"schema":9}', b'{"schema":9,"batch":"ab","promises":"x"}'):
        with pytest.raises(CertificateError) as caught:
            read_document_part(text)
        assert type(caught.value) is CertificateError


def test_a_part_beyond_the_last_one_is_refused() -> None:
    part = json.loads(PolicyDocument.of(ward_policy()).parts()[0])
    assert read_document_part(json.dumps(part | {"part": 2, "parts": 2}).encode()).part == 2
    with pytest.raises(CertificateError, match="exceeds"):
        read_document_part(json.dumps(part | {"part": 2}).encode())


def test_one_part_under_another_name_is_enough_to_refuse_a_document() -> None:
    first, second, *rest = map(read_document_part, PolicyDocument.of(ward_policy()).parts(1_000))
    stray = replace_struct(second, promises="sha256:" + "0" * 64)
    with pytest.raises(CertificateError, match="is not the one that it states"):
        join_document([first, stray, *rest])


def test_a_window_of_the_policy_in_a_document_has_room_for_a_class() -> None:
    large = ward_policy(k=20_000, window=WindowLimits(max_records=30_000))
    assert PolicyDocument.of(large).policy().window.max_records == 20_000
    assert PolicyDocument.of(ward_policy()).policy().window == WindowLimits()


def _one(**domain: Any) -> str:
    """Return the text of a policy of one attribute with this domain."""
    return json.dumps(
        {
            "attributes": [{"domain": domain, "name": "a", "role": "quasi-identifier"}],
            "individual": "every-record",
            "k": 2,
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def _is_read(text: str) -> bool:
    try:
        return PolicyDocument.from_text(text).policy().k == 2
    except CertificateError:
        return False


@pytest.mark.parametrize(
    ("right", "prefix"),
    [
        (True, {"length": 2, "alphabet": "01", "keep": 1}),
        (True, {"length": 2, "alphabet": "01", "keep": 2}),
        (True, {"length": 64, "alphabet": "01", "keep": 30}),
        (True, {"length": 19, "alphabet": "01", "keep": 19}),
        (True, {"length": 18, "alphabet": "01", "keep": 18, "shorter": True}),
        (False, {"length": 2, "alphabet": "01", "keep": 0}),
        (False, {"length": 2, "alphabet": "01", "keep": 3}),
        (False, {"length": 65, "alphabet": "01", "keep": 2}),
        (False, {"length": 64, "alphabet": "01", "keep": 31}),
        (False, {"length": 19, "alphabet": "01", "keep": 19, "shorter": True}),
        (False, {"length": 2, "alphabet": "0", "keep": 1}),
        (False, {"length": 2, "alphabet": "010", "keep": 1}),
        (False, {"length": 2, "alphabet": "0*", "keep": 1}),
    ],
)
def test_a_prefix_is_read_only_if_the_settings_allow_it(right: bool, prefix: dict[str, Any]) -> None:
    assert _is_read(_one(kind="prefix", **prefix)) is right


def _chain(nodes: int) -> dict[str, Any]:
    return {"labels": ["*", *(f"n{i}" for i in range(1, nodes))], "parents": list(range(-1, nodes - 1))}


@pytest.mark.parametrize(
    ("right", "hierarchy"),
    [
        (True, {"labels": ["*", "a", "b"], "parents": [-1, 0, 0]}),
        (True, _chain(MOST_LEVELS)),
        (False, _chain(MOST_LEVELS + 1)),
        (False, {"labels": ["*", "a", "b"], "parents": [-1, 5, 0]}),
        (False, {"labels": ["*", "a", "b"], "parents": [-1, 1, 0]}),
        (False, {"labels": ["*", "a", "b"], "parents": [-1, 0, -1]}),
        (False, {"labels": ["*", "a", "b"], "parents": [0, 0, 0]}),
        (False, {"labels": ["*", "a", 5], "parents": [-1, 0, 0]}),
        (False, {"labels": ["*", "a", "b", "c"], "parents": [-1, 0, 0]}),
    ],
)
def test_a_hierarchy_is_read_only_if_each_node_comes_after_its_parent(
    right: bool, hierarchy: dict[str, Any]
) -> None:
    assert _is_read(_one(kind="categorical", hierarchy=hierarchy)) is right


def test_what_is_stated_of_a_release_is_read_from_its_document_and_a_document_without_it_states_nothing() -> None:
    stated = Statement("the public", "research", "§ 75", "", dt.date(2027, 3, 31), dt.date(2027, 1, 31), "dpo")
    policy = ward_policy(release=stated)
    document = PolicyDocument.of(policy)
    assert json.loads(document.text)["release"] == {
        "recipient": "the public",
        "purpose": "research",
        "legal_basis": "§ 75",
        "valid_until": "2027-03-31",
        "review_by": "2027-01-31",
        "owner": "dpo",
    }
    assert document.policy().release == stated
    without = PolicyDocument.of(ward_policy())
    assert "release" not in json.loads(without.text)
    assert without.policy().release == Statement()


@pytest.mark.parametrize(
    "release",
    [
        {},
        {"owner": ""},
        {"owner": "a\nb"},
        {"owner": "x" * 1001},
        {"owner": 5},
        {"valid_until": "2027-3-31"},
        {"valid_until": "2027-03-31", "review_by": "2028-01-01"},
        {"until": "2027-03-31"},
        "the public",
    ],
)
def test_a_statement_is_read_only_if_the_settings_allow_it(release: Any) -> None:
    plain = json.loads(PolicyDocument.of(ward_policy()).text)

    def read(stated: Any) -> Policy:
        text = json.dumps(plain | {"release": stated}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return PolicyDocument.from_text(text).policy()

    assert read({"owner": "dpo"}).release.owner == "dpo"
    with pytest.raises(CertificateError, match="cannot read the policy document"):
        read(release)
