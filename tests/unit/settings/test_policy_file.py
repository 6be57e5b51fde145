from __future__ import annotations

import json
import os
import re
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.errors import HierarchyError, SettingsError
from stream_anon.microdata.attributes import (
    Identifier,
    Insensitive,
    Missing,
    PublishedForm,
    ScalarType,
    Sensitive,
    Unknown,
)
from stream_anon.microdata.bounds import RecordBound, Shield
from stream_anon.microdata.choices.engine_choice import Loss
from stream_anon.microdata.choices.window_limits import AboveMost, Shortfall
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.ids import Normalization
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.privacy.promises import promises_of
from stream_anon.privacy.weakening import weakened
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import refusals, write_document, write_policy

EVERYTHING = """\
privacy: {k: 4, individual: person.id, max_share: 0.4, sensitive: {result: {distinct_l: 2}}}
window: {max_records: 500, max_delay: 2s, shortfall: hold, max_records_per_individual: 7}
engine: {name: mondrian, seed: 9}
attributes:
  person.id: {role: identifier}
  age: {role: quasi-identifier, numeric: {min: 17, max: 90, publish: tight}, weight: 2}
  weight: {role: quasi-identifier, numeric: {min: 30, max: 150, step: 0.5, decimals: 1}}
  income: {role: quasi-identifier, numeric: {min: 0, max: 100, step: 1, levels: [5, 10]}, unknown: root}
  height: {role: quasi-identifier, numeric: {min: 0.5, max: 2.5, step: 0.1}}
  zip: {role: quasi-identifier, prefix: {length: 5}, missing: reject}
  passport: {role: quasi-identifier, prefix: {length: 9, alphabet: alphanumeric}}
  day: {role: quasi-identifier, date: {min: 2024-01-01, max: 2024-12-31}}
  place: {role: quasi-identifier, hierarchy: tree.csv}
  ill: {role: quasi-identifier, hierarchy: {lung: [flu, cold], none: null}, publish: values}
  grade: {role: quasi-identifier, hierarchy: {ordered: [1, 2, 3, 4], arity: 2}, type: integer}
  smoker: {role: quasi-identifier, values: [true, false], type: boolean}
  result: {role: sensitive, accept_linkable: true}
  visits: {role: insensitive, type: integer, accept_linkable: true}
"""
TWO_YEARS = EVERYTHING.replace("max: 2024-12-31", "max: 2025-12-31")


def _write(folder: Path, text: str, table: str = "Kiel;north;*\nUlm;south;*\n") -> Path:
    (folder / "tree.csv").write_text(table)
    path = folder / "policy.yaml"
    path.write_text(text)
    return path


def _load(folder: Path, text: str = EVERYTHING, table: str = "Kiel;north;*\nUlm;south;*\n", **more: Any) -> Policy:
    return load_policy(_write(folder, text, table), **more)


def _quasi(policy: Policy, name: str) -> QuasiIdentifier:
    attribute = policy.attribute(name)
    assert isinstance(attribute, QuasiIdentifier)
    return attribute


def test_every_setting_arrives_in_the_policy(tmp_path: Path) -> None:
    policy = _load(tmp_path)
    assert (policy.k, policy.individual, policy.max_share) == (4, "person.id", 0.4)
    assert policy.diversity == {"result": Diversity(2)}
    limits = policy.window
    assert (limits.max_records, limits.max_delay, limits.max_records_per_individual) == (500, 2.0, 7)
    assert limits.shortfall is Shortfall.HOLD
    assert (policy.engine.name, policy.engine.seed) == ("mondrian", 9)
    kinds = [type(attribute) for attribute in policy.attributes]
    assert kinds == [Identifier, *[QuasiIdentifier] * 11, Sensitive, Insensitive]
    assert policy.attribute("person.id").path == ("person", "id")
    assert policy.attribute("result") == Sensitive("result", accept_linkable=True)
    assert policy.attribute("visits") == Insensitive("visits", ScalarType.INTEGER, accept_linkable=True)


def test_every_domain_is_the_one_declared(tmp_path: Path) -> None:
    policy = _load(tmp_path)
    age, weight, income = (_quasi(policy, name) for name in ("age", "weight", "income"))
    assert isinstance(age.domain, NumericDomain)
    assert (age.weight, age.publication, age.domain.tight, age.domain.size) == (2, PublishedForm.TIGHT, True, 74)
    assert weight.publish(*weight.node(weight.code(70.5), weight.code(70.5))) == {"min": 70.5, "max": 70.9}
    assert income.publish(*income.node(3, 4)) == {"min": 0, "max": 4}
    assert income.unknown is Unknown.ROOT
    height = _quasi(policy, "height").domain
    assert isinstance(height, NumericDomain)
    assert (height.size, height.decimals) == (20, None)
    zip_code = _quasi(policy, "zip")
    assert (zip_code.domain, zip_code.missing) == (PrefixDomain(5, "0123456789", 5), Missing.REJECT)
    passport = _quasi(policy, "passport").domain
    assert isinstance(passport, PrefixDomain)
    assert passport.keep == 5  # 36 ** 5 codes are possible, 36 ** 6 are not
    assert passport.size < 2**30
    day = _quasi(policy, "day").domain
    assert isinstance(day, DateDomain)
    assert day.size == 366
    place, ill = _quasi(policy, "place"), _quasi(policy, "ill")
    assert isinstance(place.domain, CategoricalDomain)
    assert place.domain.hierarchy.labels == ("*", "north", "Kiel", "south", "Ulm")
    assert ill.publication is PublishedForm.VALUES
    grade, smoker = _quasi(policy, "grade"), _quasi(policy, "smoker")
    assert grade.publish(*grade.node(0, 0)) == 1
    assert grade.publish(*grade.node(0, 1)) == "1..2"
    assert smoker.publish(*smoker.node(smoker.code(True), smoker.code(True))) is True


def test_ranges_are_of_one_width_or_begin_at_the_cuts_and_texts_lose_words(tmp_path: Path) -> None:
    attributes = {
        "age": QI | {"numeric": {"min": 0, "max": 99, "ranges": 10}},
        "height": QI | {"numeric": {"min": 0.5, "max": 2.5, "step": 0.1, "ranges": 4, "arity": 3}},
        "weight": QI | {"numeric": {"min": 30, "max": 150, "cuts": [50, 60, 75, 90]}},
        "ill": QI | {"hierarchy": {"texts": ["flu/a/1", "flu/a/2", "flu/b", "cold"], "separator": "/"}},
    }
    policy = _load(tmp_path, _changed(**attributes))
    age, height = _quasi(policy, "age").domain, _quasi(policy, "height").domain
    assert isinstance(age, NumericDomain)
    assert isinstance(height, NumericDomain)
    assert age.levels == (10, 20, 40, 80)
    assert height.levels == (Decimal("0.5"), Decimal("1.5"))
    weight = _quasi(policy, "weight").domain

    def published(low: int, high: int) -> object:
        return weight.publish(*weight.node(weight.code(low), weight.code(high)))

    assert published(55, 59) == {"min": 50, "max": 59}
    assert published(30, 55) == {"min": 30, "max": 59}  # two ranges
    assert published(55, 75) == {"min": 30, "max": 89}  # four
    assert published(55, 90) == "*"
    ill = _quasi(policy, "ill").domain
    assert ill.publish(*ill.node(*sorted((ill.code("flu/a/1"), ill.code("flu/a/2"))))) == "flu/a"
    assert PolicyDocument.of(PolicyDocument.of(policy).policy()).text == PolicyDocument.of(policy).text


def _changed(**attributes: Any) -> str:
    document = yaml.safe_load(EVERYTHING)
    document["attributes"] |= {name.replace("__", "."): value for name, value in attributes.items()}
    return yaml.safe_dump(document, sort_keys=False)


QI = {"role": "quasi-identifier"}


# Attributes without a role are quasi-identifiers; a key that begins with a dot is one of the attribute.
WRONG_ATTRIBUTES = """\
age: {} -> attributes.age: exactly one of hierarchy
age: {values: [a], prefix: {length: 2}} -> attributes.age: exactly one
visits: {role: insensitive, weight: 2} -> .weight: only
visits: {role: insensitive, values: [1]} -> .values: only
age: {numeric: {min: 0, max: 99}, accept_linkable: true} -> .accept_linkable: sensitive and insensitive only
person.id: {role: identifier, type: string} -> .type: never
age: {numeric: {min: 1, max: 9}, publish: values} -> .publish: values needs
age: {numeric: {min: 1, max: 9}, type: integer} -> .type: hierarchy and
age: {numeric: {min: 9, max: 1}} -> .numeric.min: less than max
age: {numeric: {min: 1, max: 9, levels: [0]}} -> .numeric.levels.0: 0 is no width: it must be above 0
age: {numeric: {min: 0, max: 9, levels: [4, 6]}} -> .numeric.levels.1: 6 is not a multiple of 4, the width before it
age: {numeric: {min: 0, max: 99, step: 2, levels: [5]}} -> .numeric.levels.0: 5 is not a multiple of 2, the step
age: {numeric: {min: 1, max: 9, levels: [2], ranges: 2}} -> .numeric: one of levels, ranges and cuts
age: {numeric: {min: 1, max: 9, ranges: 10}} -> .numeric.ranges: at most 9
age: {numeric: {min: 1, max: 9, cuts: [5, 5]}} -> .numeric.cuts: ascend
age: {numeric: {min: 1, max: 9, cuts: [1, 5]}} -> .numeric.cuts: above min
age: {numeric: {min: 1, max: 9, step: 2, cuts: [4]}} -> .numeric.cuts: on the grid
age: {numeric: {min: 1, max: 9, cuts: [4], publish: tight}} -> .numeric.cuts: publish: tight
age: {numeric: {min: 0, max: 2097152, cuts: [4]}} -> .numeric.step: too many for cuts
ill: {hierarchy: {texts: [flu, flu bad]}} -> .hierarchy: both a leaf and a group
age: {numeric: {min: 1, max: .inf}} -> .numeric.max: 1e15
age: {numeric: {min: .nan, max: 1}} -> .numeric.min: 1e15
zip: {prefix: {length: 3, alphabet: aab}} -> .prefix.alphabet: distinct
zip: {prefix: {length: 3, alphabet: 'a*'}} -> .prefix.alphabet: without *
day: {date: {min: May, max: '2024-12-31'}} -> .date.min: 2024-05-13
day: {date: {min: '2024-01-01', max: '2024-12-31', format: '%Y'}} -> .date.format: %Y-%m-%d
place: {hierarchy: none.csv} -> .hierarchy: no such file
place: {hierarchy: .} -> .hierarchy: is not a regular file
ill: {hierarchy: {x: [a], y: [a]}} -> .hierarchy: twice
ill: {values: [a, a]} -> .values: twice
ill: {values: [a, '*']} -> .values: '*'
grade: {values: ['1', two], type: integer} -> .type: no integer
grade: {values: ['01'], type: integer} -> .type: no integer
grade: {values: [nan, '1'], type: number} -> .type: no number
grade: {values: ['yes'], type: boolean} -> .type: no boolean
person.id: {values: [a]} -> privacy.individual: identifier
result: {role: insensitive} -> privacy.sensitive.result: sensitive
age.years: {role: insensitive} -> attributes.age: parent
b: {role: identifier, accept_missing: true} -> .accept_missing: published fields
b: {role: identifier, path: [visits]} -> attributes.b: the same field as visits
b: {role: identifier, path: [person.id]} -> attributes.b: the same field as person.id
b: {role: identifier, path: [person]} -> attributes.b: a parent of values
b: {role: identifier, path: []} -> .path: at least 1 item
b: {role: identifier, path: ['']} -> .path.0: at least 1 character
b: {prefix: {length: 3, alphabet: letters, pad: zeros}} -> .prefix.pad: an alphabet with 0
b: {prefix: {length: 3, shorter: true, pad: zeros}} -> .prefix.pad: values of one length
"""


@pytest.mark.parametrize(("written", "key", "allowed"), refusals(WRONG_ATTRIBUTES))
def test_a_wrong_attribute_is_refused_with_its_key_and_what_is_allowed(
    tmp_path: Path, written: str, key: str, allowed: str
) -> None:
    ((name, own),) = yaml.safe_load(written).items()
    with pytest.raises(SettingsError) as caught:
        _load(tmp_path, _changed(**{name: QI | own}))
    assert caught.value.key == (f"attributes.{name}{key}" if key.startswith(".") else key)
    assert allowed in caught.value.message
    assert str(caught.value).startswith(f"{tmp_path / 'policy.yaml'}: ")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("Kiel;north;*\nKiel;south;*\n", "stands twice"),
        ("Kiel;north;*\nUlm;south\n", "one root"),
        ("Kiel;north;*\nUlm;;*\n", "empty label"),
        ("", "one root is needed, found 0"),
        ("a;b\n" + "x" * 200_000 + ";b\n", "no such tree|delimited"),
        ("Kiel;north;south;north;*\n", "cycle"),
    ],
)
def test_a_hierarchy_file_that_is_no_tree_is_refused_by_its_key(tmp_path: Path, table: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint) as caught:
        _load(tmp_path, table=table)
    assert caught.value.key == "attributes.place.hierarchy"
    assert isinstance(caught.value, HierarchyError) or "delimited" in complaint


ACCOUNTS = (
    "root:x:0:0:root:/root:/bin/bash\n"
    "\n"
    "daemon:x:1:1:daemon,keeper:/usr/sbin:/usr/sbin/nologin\n"
    "daemon:x:1:1:daemon,keeper:/usr/sbin:/usr/sbin/nologin\n"
)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (ACCOUNTS, "line 4: the leaf of this row stands twice"),
        ("root:x:0\n\nbin:x:1\n", "one root is needed, found 2: a label of line 1, a label of line 3"),
        ("root,users,all\nbin,users,none\n", "line 2: a label lies under two parents"),
        ("root,all\nall,all\n", "a label of line 1 is both a leaf and a group"),
        ("root,all\nbin,root,all,root\n", "line 2: a label lies above itself"),
        ("root,all\nbin,,all\n", "line 2 holds an empty label"),
        ("root,all\n" + "x" * 200_000 + ",all\n", r"is not a delimited table \(line 2\)"),
    ],
)
def test_an_error_about_a_hierarchy_file_names_lines_and_quotes_nothing_of_it(
    tmp_path: Path, table: str, complaint: str
) -> None:
    with pytest.raises(SettingsError, match=complaint) as caught:
        _load(tmp_path, table=table)
    said = str(caught.value)
    assert not [word for word in ("root:", "'root", "bin", "daemon", "users", "xxx") if word in said]


def test_an_error_about_the_type_of_a_files_leaf_does_not_quote_it(tmp_path: Path) -> None:
    text = _changed(place=QI | {"hierarchy": "tree.csv", "type": "integer"})
    with pytest.raises(SettingsError, match="leaf 2 of 2, in the tree's order, is no integer") as caught:
        _load(tmp_path, text, table="12;*\nsecret;*\n")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("place", ["/dev/zero", "pipe"])
@pytest.mark.parametrize("key", ["attributes.place.hierarchy", "engine.sample", "engine.order"])
def test_every_file_that_the_settings_name_must_be_a_regular_file(tmp_path: Path, key: str, place: str) -> None:
    """A device never ends, and a pipe that nobody writes to never begins."""
    os.mkfifo(tmp_path / "pipe")
    document = yaml.safe_load(EVERYTHING)
    if key == "attributes.place.hierarchy":
        document["attributes"]["place"]["hierarchy"] = place
    elif key == "engine.sample":
        few = ("person.id", "place", "ill", "result", "visits")
        document["attributes"] = {name: document["attributes"][name] for name in few}
        document["engine"] = {"loss": "classification", "target": "visits", "sample": place}
    else:
        document["engine"] = {"order": place}
    with pytest.raises(SettingsError, match="is not a regular file") as caught:
        _load(tmp_path, yaml.safe_dump(document, sort_keys=False))
    assert caught.value.key == key


def test_a_settings_file_may_come_through_a_pipe_and_has_a_largest_size(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="larger than 64 MiB"):
        load_policy(Path("/dev/zero"))
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    (tmp_path / "tree.csv").write_text("Kiel;north;*\nUlm;south;*\n")
    writer = threading.Thread(target=pipe.write_text, args=(EVERYTHING,))
    writer.start()
    assert load_policy(pipe).digest == _load(tmp_path).digest
    writer.join()


def test_neither_commas_nor_a_byte_order_mark_spoil_a_hierarchy(tmp_path: Path) -> None:
    place = _quasi(_load(tmp_path, table="\ufeffKiel, north, *\r\n\r\nUlm, south, *\r\n"), "place")
    assert isinstance(place.domain, CategoricalDomain)
    assert sorted(place.domain.hierarchy.code_of) == ["Kiel", "Ulm"]


def test_too_small_a_window_or_share_is_refused_when_the_file_is_read(tmp_path: Path) -> None:
    for change, key in (
        ({"window": {"max_records": 3}}, "window.max_records"),
        ({"privacy": {"k": 2}}, "privacy.max_share"),
    ):
        with pytest.raises(SettingsError) as caught:
            _load(tmp_path, overrides=change)
        assert caught.value.key == key


def test_numbers_of_any_decimals_can_be_categories(tmp_path: Path) -> None:
    text = _changed(grade=QI | {"values": ["0.5", "1", "1234567.25", "-2"], "type": "number"})
    grade = _quasi(_load(tmp_path, text), "grade")
    assert [grade.publish(code, code) for code in range(4)] == [0.5, 1.0, 1234567.25, -2.0]


def test_policies_that_differ_have_different_digests(tmp_path: Path) -> None:
    digest = _load(tmp_path).digest
    assert digest == _load(tmp_path).digest
    document = yaml.safe_load(_write(tmp_path, EVERYTHING).read_text())
    other_order = dict(reversed(document["attributes"].items()))
    others = [
        _load(tmp_path, overrides={"privacy": {"k": 5}}),
        _load(tmp_path, table="Kiel;north;*\nUlm;north;*\n"),
        _load(tmp_path, yaml.safe_dump(document | {"attributes": other_order}, sort_keys=False)),
        _load(tmp_path, _changed(visits={"role": "insensitive"})),
    ]
    assert len({digest, *(policy.digest for policy in others)}) == 5
    with_http = _load(tmp_path, EVERYTHING + "http: {port: 0}\n")
    assert with_http.digest == digest  # where metrics are served is no matter of privacy


def test_classification_learns_from_the_records_of_the_sample_that_fit(tmp_path: Path) -> None:
    text = """\
privacy: {k: 2, individual: every-record}
engine: {loss: classification, target: ill, sample: past.csv}
attributes:
  age: {role: quasi-identifier, numeric: {min: 0, max: 3}}
  sex: {role: quasi-identifier, values: [f, m]}
  ill: {role: sensitive}
"""
    sample = tmp_path / "past.csv"
    sample.write_text("ill,sex,age\nflu,f,0\nflu,f,1\ncold,m,1\ncold,x,1\n")
    policy = _load(tmp_path, text)
    assert policy.engine.loss is Loss.CLASSIFICATION
    assert policy.engine.labels is not None
    age, sex = policy.engine.labels.counts
    # The record of an unknown sex does not fit and teaches nothing.
    assert age.tolist() == [[1, 0], [1, 1], [0, 0], [0, 0], [0, 0], [0, 0]]
    assert sex.tolist() == [[2, 0], [0, 1], [0, 0], [0, 0]]
    sample.write_text("ill,sex,age\ncold,f,0\nflu,f,1\ncold,m,1\n")
    assert _load(tmp_path, text).digest != policy.digest

    for wrong, key in (
        (("target: ill", "target: age"), "engine.target"),
        (("past.csv", "nowhere.csv"), "engine.sample"),
        (("target: ill, ", ""), "engine"),
        (("classification", "prec"), "engine"),
        (("max: 3}", "max: 3000}"), "engine.loss"),
    ):
        with pytest.raises(SettingsError) as error:
            _load(tmp_path, text.replace(*wrong))
        assert error.value.key == key
        assert "flu" not in str(error.value)


def test_extra_levels_are_refused_where_nodes_are_not_published(tmp_path: Path) -> None:
    text = "privacy: {k: 2, individual: every-record, extra_levels: 2}\nattributes:\n"
    nodes = "  age: {role: quasi-identifier, numeric: {min: 0, max: 99}}\n"
    assert _load(tmp_path, text + nodes).extra_levels == 2
    for other in (
        "  b: {role: quasi-identifier, numeric: {min: 0, max: 99, publish: tight}}\n",
        "  b: {role: quasi-identifier, values: [x, y], publish: values}\n",
    ):
        with pytest.raises(SettingsError, match="b publishes") as error:
            _load(tmp_path, text + nodes + other)
        assert error.value.key == "privacy.extra_levels"


def test_rounds_are_refused_for_an_engine_without_rounds(tmp_path: Path) -> None:
    text = """\
privacy: {k: 2, individual: every-record}
engine: {name: NAME, rounds: 3}
attributes: {sex: {role: quasi-identifier, values: [f, m]}}
"""
    assert _load(tmp_path, text.replace("NAME", "forest")).engine.rounds == 3
    for name in ("mondrian", "k-forest"):
        with pytest.raises(SettingsError) as error:
            _load(tmp_path, text.replace("NAME", name))
        assert error.value.key == "engine.rounds"
    with pytest.raises(SettingsError):
        _load(tmp_path, text.replace("NAME", "forest").replace("3", "6"))


def test_a_loss_that_an_engine_cannot_minimise_is_refused(tmp_path: Path) -> None:
    text = """\
privacy: {k: 2, individual: every-record}
engine: {name: NAME, loss: discernibility}
attributes: {sex: {role: quasi-identifier, values: [f, m]}}
"""
    assert _load(tmp_path, text.replace("NAME", "forest")).engine.loss is Loss.DISCERNIBILITY
    assert _load(tmp_path, text.replace("NAME", "mondrian, least_loss: true")).engine.least_loss
    for name in ("mondrian", "k-forest"):
        with pytest.raises(SettingsError, match="discernibility is for"):
            _load(tmp_path, text.replace("NAME", name))


def test_later_settings_leave_the_digest_of_policies_that_do_not_use_them(tmp_path: Path) -> None:
    # Certificates name a policy by its digest: this one was published under before these settings were there.
    before = "sha256:2c7b049a872bbfb0acf209480c7f9f59384ca37c52ed41cf133b1862a9c77d2b"
    assert _load(tmp_path).digest == before
    for old, new in (
        ("visits: {", "visits: {accept_missing: true, "),
        ("visits: {", 'visits: {path: ["visits"], '),
        ("prefix: {length: 5}", "prefix: {length: 5, pad: zeros}"),
        ("prefix: {length: 5}", "prefix: {length: 5, shorter: true}"),
        ("place: {", "place: {max_level: 1, "),
        ("place: {", "place: {min_level: 1, "),
        ("max_share: 0.4", "max_share: 0.4, max_suppressed: 5%"),
        ("max_share: 0.4", "max_share: 0.4, max_suppressed: 40, above_max_suppressed: suppress"),
        ("max_share: 0.4", "max_share: 0.4, shields: [{attributes: [age, zip], k: 20}]"),
        ("engine: {name: mondrian", "engine: {name: full-domain, levels: {place: 1}"),
    ):
        assert _load(tmp_path, EVERYTHING.replace(old, new)).digest != before


WRONG_SHIELDS = """\
{attributes: [visits], k: 50} -> privacy.shields.0.attributes: visits is not a quasi-identifier; these
{attributes: [nobody], k: 50} -> privacy.shields.0.attributes: nobody is not a quasi-identifier; these
{attributes: [], k: 50} -> privacy.shields.0.attributes: at least 1 item
{attributes: [age, age], k: 50} -> privacy.shields.0.attributes: each named once
{attributes: [age, zip], k: 50}, {attributes: [zip, age], k: 60} -> privacy.shields.1.attributes: another shield
{attributes: [age], k: 1} -> privacy.shields.0.k: greater than or equal to 2
{attributes: [age], k: 501} -> window.max_records: must be at least 501, the k of privacy.shields.0
{attributes: [age]} -> privacy.shields.0.k: required
{attributes: [age], k: 50, l: 2} -> privacy.shields.0.l: unknown key; allowed: attributes, k
"""


def test_shields_arrive_in_the_policy_and_name_quasi_identifiers_once(tmp_path: Path) -> None:
    def shielded(text: str) -> Policy:
        return _load(tmp_path, EVERYTHING.replace("max_share: 0.4", f"max_share: 0.4, shields: {text}"))

    policy = shielded("[{attributes: [zip, age], k: 50}, {attributes: [place], k: 3}, {attributes: [zip], k: 30}]")
    assert policy.shields == (Shield(("zip", "age"), 50), Shield(("place",), 3), Shield(("zip",), 30))
    # k is 4, and what holds for zip and age together holds for zip alone.
    assert policy.open_shields == policy.shields[:1]
    assert PolicyDocument.of(policy).policy().shields == policy.shields
    assert shielded("[]").digest == _load(tmp_path).digest
    assert promises_of(shielded("[]")) == promises_of(_load(tmp_path))
    assert "shields" not in PolicyDocument.of(_load(tmp_path)).text
    for text, key, message in refusals(WRONG_SHIELDS):
        with pytest.raises(SettingsError, match=re.escape(message)) as raised:
            shielded(f"[{text}]")
        assert raised.value.key == key


def test_anatomy_takes_no_shield(tmp_path: Path) -> None:
    text = EVERYTHING.replace("max_share: 0.4", "max_share: 0.4, shields: [{attributes: [age], k: 20}]")
    with pytest.raises(SettingsError, match="is not for method: anatomy, which publishes exact values"):
        _load(tmp_path, text + "method: {name: anatomy, target: result}\n")


def test_a_bound_on_suppression_is_a_share_or_a_number(tmp_path: Path) -> None:
    def bounded(text: str) -> Policy:
        return _load(tmp_path, EVERYTHING.replace("max_share: 0.4", f"max_share: 0.4, {text}"))

    assert bounded("max_suppressed: 2.5%").max_suppressed == RecordBound(0.025)
    assert bounded('max_suppressed: "7 %"').max_suppressed == RecordBound(0.07)
    assert bounded("max_suppressed: 40").max_suppressed == RecordBound(records=40)
    whole = bounded("max_suppressed: 0, above_max_suppressed: suppress")
    assert (whole.max_suppressed, whole.above_max_suppressed) == (RecordBound(records=0), AboveMost.SUPPRESS)
    assert bounded("max_suppressed: 0").above_max_suppressed is AboveMost.PUBLISH
    for wrong in ("101%", "-1", "a few", "5 percent", "0.05"):
        with pytest.raises(SettingsError, match=r"privacy\.max_suppressed"):
            bounded(f"max_suppressed: {wrong}")
    for wrong in ("max_suppressed: 5%, above_max_suppressed: hold", "above_max_suppressed: suppress"):
        with pytest.raises(SettingsError, match=r"privacy\.above_max_suppressed"):
            bounded(wrong)


def test_a_highest_level_is_one_of_the_hierarchy_and_for_quasi_identifiers_only(tmp_path: Path) -> None:
    def limited(old: str, level: int) -> Policy:
        return _load(tmp_path, EVERYTHING.replace(old, f"{old}max_level: {level}, "))

    attribute = _quasi(limited("zip: {", 3), "zip")
    assert (attribute.min_level, attribute.max_level) == (0, 3)
    with pytest.raises(SettingsError, match=r"attributes\.zip\.max_level: must lie between 0 and 5, its height"):
        limited("zip: {", 6)
    with pytest.raises(SettingsError, match=r"attributes\.zip\.max_level"):
        limited("zip: {", -1)
    with pytest.raises(SettingsError, match=r"attributes\.visits\.max_level: is for role: quasi-identifier only"):
        limited("visits: {", 1)
    both = EVERYTHING.replace("zip: {", "zip: {max_level: 2, ")
    both = both.replace("name: mondrian", "name: full-domain, levels: {zip: 3}")
    with pytest.raises(SettingsError, match=r"engine\.levels\.zip: must be at most 2, its max_level"):
        _load(tmp_path, both)


def test_a_lowest_level_is_one_of_the_hierarchy_and_not_above_the_highest(tmp_path: Path) -> None:
    def limited(old: str, text: str) -> Policy:
        return _load(tmp_path, EVERYTHING.replace(old, f"{old}{text}, "))

    attribute = _quasi(limited("zip: {", "min_level: 3"), "zip")
    assert (attribute.min_level, attribute.max_level) == (3, None)
    assert limited("zip: {", "min_level: 0").digest == _load(tmp_path).digest
    for wrong in ("min_level: 6", "min_level: -1", "min_level: 3, max_level: 2"):
        with pytest.raises(SettingsError, match=r"attributes\.zip\.min_level"):
            limited("zip: {", wrong)
    with pytest.raises(SettingsError, match=r"attributes\.visits\.min_level: is for role: quasi-identifier only"):
        limited("visits: {", "min_level: 1")
    both = EVERYTHING.replace("zip: {", "zip: {min_level: 2, ")
    for levels in ("place: 0", "zip: 1"):
        with pytest.raises(SettingsError, match=r"engine\.levels\.zip: must be at least 2, its min_level"):
            _load(tmp_path, both.replace("name: mondrian", f"name: full-domain, levels: {{{levels}}}"))
    on_it = both.replace("name: mondrian", "name: full-domain, levels: {zip: 2}")
    assert _quasi(_load(tmp_path, on_it), "zip").min_level == 2


def test_a_path_names_the_keys_to_a_value(tmp_path: Path) -> None:
    policy = _load(tmp_path, EVERYTHING.replace("  weight: {", '  weight: {path: ["patient", "weight.kg"], '))
    assert (policy.attribute("weight").path, policy.attribute("weight").column) == (
        ("patient", "weight.kg"),
        "patient.weight.kg",
    )
    assert policy.attribute("person.id").path == ("person", "id")


def test_null_values_change_the_policy_and_their_order_does_not(tmp_path: Path) -> None:
    given = [
        _load(tmp_path, f"input: {{null_values: {texts}}}\n" + EVERYTHING) for texts in ('[NA, ""]', '["", NA]')
    ]
    assert given[0].null_values == {"NA", ""}
    assert given[0].digest == given[1].digest != _load(tmp_path).digest
    assert _load(tmp_path, "input: {null_values: []}\n" + EVERYTHING).digest == _load(tmp_path).digest


def test_a_shape_is_another_policy_and_the_natural_one_is_none(tmp_path: Path) -> None:
    policy = _load(tmp_path, TWO_YEARS)
    shaped = {shape: _load(tmp_path, f"output: {{shape: {shape}}}\n" + TWO_YEARS) for shape in Shape}
    assert [each.shape for each in shaped.values()] == list(Shape)
    assert shaped[Shape.NATURAL].digest == policy.digest
    assert len({each.digest for each in shaped.values()}) == 3


def test_a_shape_stands_in_the_policy_document_and_is_no_promise(tmp_path: Path) -> None:
    policy = _load(tmp_path, TWO_YEARS)
    assert "shape" not in PolicyDocument.of(policy).text
    for shape in (Shape.TYPED, Shape.FLAT):
        other = _load(tmp_path, f"output: {{shape: {shape}}}\n" + TWO_YEARS)
        document = PolicyDocument.of(other)
        assert document.text == PolicyDocument.of(policy).text[:-1] + f',"shape":"{shape}"}}'
        assert document.policy().shape is shape
        assert promises_of(other) == promises_of(policy)
        assert weakened(promises_of(policy), promises_of(other)) == ()
        assert weakened(promises_of(other), promises_of(policy)) == ()


def test_a_category_cannot_mean_a_missing_value(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="a category of ill") as refused:
        _load(tmp_path, "input: {null_values: [NA, flu]}\n" + EVERYTHING)
    assert refused.value.key == "input.null_values"


def test_a_name_alone_is_short_for_an_individual_whose_every_spelling_counts(tmp_path: Path) -> None:
    policy = _load(tmp_path)
    for written in ("{field: person.id}", "{field: person.id, normalize: []}"):
        given = _load(tmp_path, EVERYTHING.replace("individual: person.id", f"individual: {written}"))
        assert given.digest == policy.digest
        assert PolicyDocument.of(given) == PolicyDocument.of(policy)
        assert (given.individual, given.normalize) == ("person.id", ())


def test_normalization_of_ids_changes_the_policy_and_its_order_does_not(tmp_path: Path) -> None:
    def given(steps: str) -> Policy:
        written = f"individual: {{field: person.id, normalize: [{steps}]}}"
        return _load(tmp_path, EVERYTHING.replace("individual: person.id", written))

    one, other = given("casefold, nfkc"), given("nfkc, casefold, nfkc")
    assert one.normalize == other.normalize == (Normalization.NFKC, Normalization.CASEFOLD)
    assert one.digest == other.digest
    assert PolicyDocument.of(one) == PolicyDocument.of(other)
    assert len({policy.digest for policy in (_load(tmp_path), one, given("strip"))}) == 3
    again = PolicyDocument.of(one).policy()
    assert (again.individual, again.normalize) == (one.individual, one.normalize)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("{field: every-record, normalize: [strip]}", "privacy.individual.normalize"),
        ("{field: person.id, normalize: [upper]}", "privacy.individual.normalize"),
        ("{field: person.id, normalise: [strip]}", "privacy.individual.normalise"),
        ("{normalize: [strip]}", "privacy.individual.field"),
        ("{field: who}", "privacy.individual"),
    ],
)
def test_an_impossible_setting_of_the_individual_is_refused(tmp_path: Path, written: str, key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _load(tmp_path, EVERYTHING.replace("individual: person.id", f"individual: {written}"))
    assert caught.value.key.startswith(key)


def test_the_environment_says_who_is_an_individual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_ANON__PRIVACY__INDIVIDUAL", "every-record")
    assert _load(tmp_path).individual == "every-record"
    monkeypatch.setenv("STREAM_ANON__PRIVACY__INDIVIDUAL", '{"field": "person.id", "normalize": ["digits"]}')
    assert _load(tmp_path).normalize == (Normalization.DIGITS,)


def test_a_seed_of_zero_makes_another_policy_than_no_seed(tmp_path: Path) -> None:
    without = EVERYTHING.replace(", seed: 9", "")
    policies = [
        _load(tmp_path, EVERYTHING.replace("seed: 9", "seed: 0")),
        _load(tmp_path, without),
        _load(tmp_path),
    ]
    assert [policy.engine.seed for policy in policies] == [0, None, 9]
    assert len({policy.digest for policy in policies}) == 3


CRITERIA = """
privacy:
  k: 5
  individual: person
  sensitive:
    illness: {distinct_l: 2, alpha: 0.5}
    pay: {entropy_l: 2.5, recursive_cl: {c: 2, l: 3}, t_closeness: {t: 0.3, distance: ordered}, p_sensitive: 3}
attributes:
  person: {role: identifier}
  age: {role: quasi-identifier, numeric: {min: 0, max: 99}}
  illness: {role: sensitive}
  pay: {role: sensitive, type: integer}
"""


def test_later_criteria_leave_the_hashes_of_policies_without_them(tmp_path: Path) -> None:
    """The hashes and texts were written down before there were delta_disclosure and beta_likeness."""
    file = tmp_path / "policy.yaml"
    file.write_text(CRITERIA)
    policy = load_policy(file)
    assert policy.digest == "sha256:9bedc6e4aea7ff3ba6a5f5c5422446337bcd85fcfd7cf273d04715e6e5dc3e9c"
    document = PolicyDocument.of(policy)
    assert document.promises == "sha256:57799b3d08ecde9f1104741d6b7a18e90a40977488bc3feecb04cc051dc53cfd"
    assert json.loads(document.text)["diversity"] == {
        "illness": {"alpha": 0.5, "distinct_l": 2},
        "pay": {
            "entropy_l": 2.5,
            "p_sensitive": 3,
            "recursive_cl": {"c": 2.0, "l": 3},
            "t_closeness": {"distance": "ordered", "t": 0.3},
        },
    }
    assert promises_of(policy)["asked"] == {
        "k": 5,
        "max_share": 0.5,
        "distinct_l": {"illness": 2, "pay": 3},
        "sensitive": {
            "illness": {"alpha": 0.5},
            "pay": {
                "entropy_l": 2.5,
                "recursive_cl": {"c": 2.0, "l": 3},
                "t_closeness": {"t": 0.3, "distance": "ordered"},
            },
        },
    }
    file.write_text(CRITERIA.replace("alpha: 0.5", "alpha: 0.5, delta_disclosure: 1.5, beta_likeness: 2"))
    more = load_policy(file)
    assert more.diversity["illness"] == Diversity(2, alpha=0.5, delta_disclosure=1.5, beta_likeness=2)
    assert more.digest != policy.digest
    assert PolicyDocument.of(more).promises != document.promises


WITHOUT_K: dict[str, Any] = {"k": "none", "shields": [{"attributes": ["age"], "k": 8}]}


def test_only_the_word_none_asks_for_no_k(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = load_policy(write_policy(tmp_path, privacy=WITHOUT_K, method={"name": "iab"}))
    assert (policy.k, policy.max_share, policy.crowd) == (None, 1.0, 8)
    assert policy.without_k.endswith("and nothing protects home.city, in no shield")
    path = write_policy(tmp_path, privacy=WITHOUT_K)
    for wrong in (None, "", "None", "NONE", "no", 0, 1, False, [], "null"):
        with pytest.raises(SettingsError) as error:
            load_policy(write_policy(tmp_path, privacy={**WITHOUT_K, "k": wrong}))
        assert error.value.key == "privacy.k"
    document = yaml.safe_load(path.read_text())
    del document["privacy"]["k"]
    with pytest.raises(SettingsError, match=r"privacy: k or max_risk is required"):
        load_policy(write_document(tmp_path, document))
    path = write_policy(tmp_path, privacy={**WITHOUT_K, "k": 5})
    monkeypatch.setenv("STREAM_ANON__PRIVACY__K", "")
    with pytest.raises(SettingsError):
        load_policy(path)
    monkeypatch.setenv("STREAM_ANON__PRIVACY__K", "none")
    assert load_policy(path).k is None


@pytest.mark.parametrize(
    ("privacy", "key"),
    [
        ({"k": "none"}, "privacy.k"),
        ({"k": "none", "shields": []}, "privacy.k"),
        ({**WITHOUT_K, "max_share": 0.5}, "privacy.max_share"),
        ({**WITHOUT_K, "max_share": 0.99}, "privacy.max_share"),
    ],
)
def test_no_k_needs_shields_and_has_no_share_of_a_class(privacy: dict[str, Any], key: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error:
        load_policy(write_policy(tmp_path, privacy=privacy, method={"name": "iab"}))
    assert error.value.key == key


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("privacy: {k: 2, individual: i, sensitive: {ill: {t_closeness: 0.2}}}", "of keys; allowed: t, distance"),
        ("privacy: {k: 2, individual: i, sensitive: {ill: {recursive_cl: 3}}}", "of keys; allowed: c, l"),
        ("privacy: {k: 2, individual: i, sensitive: [ill]}", "privacy.sensitive: must be a mapping"),
        ("privacy: {k: 2, individual: i, shields: {age: 3}}", "privacy.shields: must be a list"),
        (
            "privacy: {k: 2, individual: i}\nattributes: {age: {role: identifier, date: 2024}}",
            "allowed: format, min",
        ),
    ],
)
def test_a_number_or_text_in_place_of_keys_is_told_which_keys_there_are(
    tmp_path: Path, written: str, told: str
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(written)
    with pytest.raises(SettingsError) as caught:
        load_policy(path)
    assert told in str(caught.value)
    assert "instance" not in str(caught.value)


@pytest.mark.parametrize("name", ["people.csv", "people.jsonl", "people.parquet"])
def test_a_file_of_records_is_no_policy_and_nothing_of_it_is_quoted(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"Jane: \xff")
    with pytest.raises(SettingsError, match="is a file of records; a policy is a YAML file") as caught:
        load_policy(path)
    assert "Jane" not in str(caught.value)


@pytest.mark.parametrize(("engine", "most"), [("forest", 1_000_000), ("mondrian", 1_000_000), ("k-forest", 10_000)])
def test_nobody_need_choose_how_many_records_a_window_holds(tmp_path: Path, engine: str, most: int) -> None:
    limits = load_policy(write_policy(tmp_path, window={"max_records": "auto"}, engine={"name": engine})).window
    assert (limits.max_records, limits.auto) == (most, True)
    chosen = load_policy(write_policy(tmp_path, window={"max_records": 7_000}, engine={"name": engine})).window
    assert (chosen.max_records, chosen.auto) == (7_000, False)
