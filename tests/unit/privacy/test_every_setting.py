"""Every setting is a promise that two policies are compared by, or stands here as none, with the reason."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from stream_anon.privacy.promises import stated_by
from stream_anon.privacy.weakening import weakened
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_document

CITIES = ["Oslo", "Bergen", "Rome", "Bari"]
POLICY: dict[str, Any] = {
    "privacy": {"k": 5, "individual": "person", "sensitive": {"illness": {"distinct_l": 3}}},
    "window": {"max_records": 2000, "max_delay": 60, "max_records_per_individual": 1},
    "engine": {"name": "forest"},
    "input": {"null_values": ["NA"]},
    "attributes": {
        "person": {"role": "identifier"},
        "event": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "step": 1, "levels": [10, 20]}},
        "city": {"role": "quasi-identifier", "values": CITIES},
        "zip": {"role": "quasi-identifier", "prefix": {"length": 4}},
        "day": {
            "role": "quasi-identifier",
            "date": {"format": "iso8601", "min": "2024-01-01", "max": "2024-12-31"},
        },
        "net": {"role": "quasi-identifier", "ip": {"version": 4, "prefixes": [8, 16]}},
        "note": {"role": "insensitive"},
        "dose": {"role": "sensitive", "type": "number"},
        "illness": {"role": "sensitive"},
    },
}
Changes = dict[str, Any]

AGE, CITY, ILLNESS = "attributes/age/numeric", "attributes/city", "privacy/sensitive/illness"


def _quasi(domain: str, value: Any, **more: Any) -> Changes:
    return {CITY: {"role": "quasi-identifier", domain: value, **more}}


def _criterion(name: str, value: Any, weaker: Any) -> tuple[Changes, Changes, str]:
    return {f"{ILLNESS}/{name}": value}, {f"{ILLNESS}/{name}": weaker}, f"privacy.sensitive.illness.{name}"


def _families(*families: list[str | None], publish: str = "family") -> Changes:
    return {ILLNESS: {"invariant": 2, "families": list(families), "publish": publish}}


def _dose(**closeness: Any) -> Changes:
    return {"privacy/sensitive/dose": {"t_closeness": closeness}}


def _returning(most: int, period: str) -> Changes:
    return {"privacy/returning": {"most": most, "period": period, "key_file": "returns.key"}}


def _presence(most: float, population: str = "counts.csv") -> Changes:
    return {"privacy/presence": {"most": most, "population": population}}


def _age(**grid: Any) -> Changes:
    return {AGE: {"min": 0, "max": 99, **grid}}


COMPLETED: Changes = {
    "privacy/counterfeits": "1%",
    "attributes": {name: POLICY["attributes"][name] for name in ("person", "age", "city", "illness")},
}
CLOSE = {f"{ILLNESS}/t_closeness": {"t": 0.3}}
# Of each setting: a policy, one that promises less by this setting, and the place that is told.
COMPARED: dict[str, tuple[Changes, Changes, str]] = {
    "privacy.k": ({}, {"privacy/k": 4}, "privacy.k"),
    "privacy.max_risk": ({"privacy/max_risk": 0.2}, {"privacy/k": 4, "privacy/max_risk": 0.25}, "privacy.k"),
    "privacy.individual": ({}, {"privacy/individual": "event"}, "privacy.individual"),
    "privacy.individual.field": ({}, {"privacy/individual": {"field": "event"}}, "privacy.individual"),
    "privacy.individual.normalize": (
        {"privacy/individual": {"field": "person", "normalize": ["strip"]}},
        {},
        "privacy.individual.normalize",
    ),
    "privacy.max_share": ({}, {"privacy/max_share": 0.6}, "privacy.max_share"),
    "privacy.sensitive.*.distinct_l": _criterion("distinct_l", 4, 3),
    "privacy.sensitive.*.entropy_l": _criterion("entropy_l", 2.5, 2),
    "privacy.sensitive.*.recursive_cl.c": _criterion("recursive_cl", {"c": 2, "l": 3}, {"c": 3, "l": 3}),
    "privacy.sensitive.*.recursive_cl.l": _criterion("recursive_cl", {"c": 2, "l": 3}, {"c": 2, "l": 2}),
    "privacy.sensitive.*.t_closeness.t": _criterion("t_closeness", {"t": 0.3}, {"t": 0.4}),
    "privacy.sensitive.*.t_closeness.distance": (
        _dose(t=0.3),
        _dose(t=0.3, distance="ordered"),
        "privacy.sensitive.dose.t_closeness",
    ),
    "privacy.sensitive.*.p_sensitive": (
        {f"{ILLNESS}/p_sensitive": 4},
        {},
        "privacy.sensitive.illness.distinct_l",  # the same by another name
    ),
    "privacy.sensitive.*.alpha": _criterion("alpha", 0.5, 0.6),
    "privacy.sensitive.*.delta_disclosure": _criterion("delta_disclosure", 1, 2),
    "privacy.sensitive.*.beta_likeness": _criterion("beta_likeness", 1, 2),
    "privacy.sensitive.*.families.*": (
        _families(["flu", "cold"], ["stroke", None]),
        _families(["flu", "stroke"], ["cold", None]),
        "privacy.sensitive.illness.families",
    ),
    "privacy.sensitive.*.rest": (
        _families(["flu", "cold"]),
        {ILLNESS: {"invariant": 2, "families": [["flu", "cold"]], "rest": "other"}},
        "privacy.sensitive.illness.rest",
    ),
    "privacy.sensitive.*.publish": (
        _families(["flu", "cold"], ["stroke", None]),
        _families(["flu", "cold"], ["stroke", None], publish="value"),
        "privacy.sensitive.illness.publish",
    ),
    "privacy.returning.most": (_returning(9, "30d"), _returning(10, "30d"), "privacy.returning.most"),
    "privacy.returning.period": (_returning(9, "30d"), _returning(9, "29d"), "privacy.returning.period"),
    "privacy.presence.most": (_presence(0.3), _presence(0.4), "privacy.presence.most"),
    "privacy.presence.population": (_presence(0.3), _presence(0.3, "other.csv"), "privacy.presence.population"),
    "privacy.counterfeits": (COMPLETED, COMPLETED | {"privacy/counterfeits": "2%"}, "privacy.counterfeits"),
    "privacy.extra_levels": ({"privacy/extra_levels": 1}, {}, "privacy.extra_levels"),
    "privacy.shields.*.attributes": (
        {"privacy/shields": [{"attributes": ["age", "zip"], "k": 9}]},
        {"privacy/shields": [{"attributes": ["age"], "k": 9}]},
        "privacy.shields[age, zip]",
    ),
    "privacy.shields.*.k": (
        {"privacy/shields": [{"attributes": ["age"], "k": 9}]},
        {"privacy/shields": [{"attributes": ["age"], "k": 8}]},
        "privacy.shields[age]",
    ),
    "window.max_records": (CLOSE, CLOSE | {"window/max_records": 1000}, "window.max_records"),
    "window.max_delay": (CLOSE, CLOSE | {"window/max_delay": 30}, "window.max_delay"),
    "window.least_people": (
        CLOSE | {"window/shortfall": "hold", "window/least_people": 20},
        CLOSE | {"window/shortfall": "hold", "window/least_people": 10},
        "window.least_people",
    ),
    "window.shortfall": ({}, {"window/shortfall": "hold"}, "window.shortfall"),
    "window.max_records_per_individual": (
        {},
        {"window/max_records_per_individual": 100},
        "window.max_records_per_individual",
    ),
    "engine.name": ({"engine": {"name": "full-domain", "levels": {}}}, {}, "engine.name"),
    "engine.levels": (
        {"engine": {"name": "full-domain", "levels": {"age": 1}}},
        {"engine": {"name": "full-domain", "levels": {}}},
        "attributes.age.min_level",
    ),
    "engine.seed": ({}, {"engine/seed": 7}, "engine.seed"),
    "input.null_values": ({}, {"input/null_values": []}, "input.null_values"),
    "attributes.*.role": ({}, {"attributes/zip": {"role": "insensitive"}}, "attributes.zip"),
    "attributes.*.type": ({}, {"attributes/note/type": "string[]"}, "attributes.note.type"),
    "attributes.*.hierarchy": (
        _quasi("hierarchy", {"north": CITIES[:2], "south": CITIES[2:]}),
        _quasi("hierarchy", {"west": CITIES[::2], "east": CITIES[1::2]}),
        "attributes.city",
    ),
    "attributes.*.hierarchy.ordered": (
        _quasi("hierarchy", {"ordered": CITIES}),
        _quasi("hierarchy", {"ordered": [CITIES[0], CITIES[2], CITIES[1], CITIES[3]]}),
        "attributes.city",
    ),
    "attributes.*.hierarchy.arity": (
        _quasi("hierarchy", {"ordered": CITIES, "arity": 3}),
        _quasi("hierarchy", {"ordered": CITIES, "arity": 2}),
        "attributes.city",
    ),
    "attributes.*.hierarchy.texts": (
        _quasi("hierarchy", {"texts": ["a b", "a c", "d e"]}),
        _quasi("hierarchy", {"texts": ["a b", "a c", "d e", "f g"]}),
        "attributes.city",
    ),
    "attributes.*.hierarchy.separator": (
        _quasi("hierarchy", {"texts": ["a-b c", "a-d c", "e f"], "separator": " "}),
        _quasi("hierarchy", {"texts": ["a-b c", "a-d c", "e f"], "separator": "-"}),
        "attributes.city",
    ),
    "attributes.*.values": ({}, _quasi("values", [*CITIES, "Naples"]), "attributes.city"),
    "attributes.*.order": (_quasi("order", CITIES), _quasi("order", CITIES[::-1]), "attributes.city"),
    "attributes.*.numeric.min": ({}, _age(min=-5, levels=[10, 20]), "attributes.age"),
    "attributes.*.numeric.max": (_age(), _age(max=79), "attributes.age"),
    "attributes.*.numeric.step": (_age(step=5, levels=[10, 20]), _age(step=1, levels=[10, 20]), "attributes.age"),
    "attributes.*.numeric.decimals": (_age(), _age(decimals=1), "attributes.age"),
    "attributes.*.numeric.levels": ({}, _age(levels=[5, 20]), "attributes.age"),
    "attributes.*.numeric.publish": ({}, _age(levels=[10, 20], publish="tight"), "attributes.age.publish"),
    "attributes.*.numeric.ranges": (_age(ranges=4), _age(ranges=8), "attributes.age"),
    "attributes.*.numeric.cuts": (_age(cuts=[18, 60]), _age(cuts=[18, 40, 60]), "attributes.age"),
    "attributes.*.numeric.arity": (
        _age(cuts=[20, 40, 60, 80], arity=3),
        _age(cuts=[20, 40, 60, 80], arity=2),
        "attributes.age",
    ),
    "attributes.*.prefix.length": ({}, {"attributes/zip/prefix/length": 5}, "attributes.zip"),
    "attributes.*.prefix.alphabet": ({}, {"attributes/zip/prefix/alphabet": "alphanumeric"}, "attributes.zip"),
    "attributes.*.prefix.shorter": ({}, {"attributes/zip/prefix/shorter": True}, "attributes.zip"),
    "attributes.*.date.zone": (
        {"attributes/day/date/zone": "Europe/Berlin"},
        {"attributes/day/date/zone": "Asia/Tokyo"},
        "attributes.day",
    ),
    "attributes.*.date.finest": ({}, {"attributes/day/date/finest": "hour"}, "attributes.day"),
    "attributes.*.ip.version": ({}, {"attributes/net/ip": {"version": 6}}, "attributes.net"),
    "attributes.*.ip.prefixes": ({}, {"attributes/net/ip/prefixes": [8, 16, 24]}, "attributes.net"),
    "attributes.*.ip.within": (
        {},
        {"attributes/net/ip/within": "10.0.0.0/8", "attributes/net/ip/prefixes": [16]},
        "attributes.net",
    ),
    "attributes.*.publish": (
        _quasi("values", CITIES),
        _quasi("values", CITIES, publish="values"),
        "attributes.city.publish",
    ),
    "attributes.*.min_level": ({"attributes/age/min_level": 1}, {}, "attributes.age.min_level"),
    "attributes.*.max_level": (
        {"privacy/extra_levels": 1},
        {"privacy/extra_levels": 1, "attributes/age/max_level": 1},
        "attributes.age.max_level",
    ),
    "attributes.*.path": ({}, {"attributes/person/path": ["event_id"]}, "privacy.individual"),
    "attributes.*.accept_linkable": (
        {},
        {"attributes/note/accept_linkable": True},
        "attributes.note.accept_linkable",
    ),
}

CLASSES = "which legal classes are formed; the gate recounts each"
PLACES = "which topic, not what is promised of its records; certificates name those of the input"
NO_PROMISE = {
    "kafka.bootstrap_servers": "which brokers",
    "kafka.group": "who shares the work; the ledger is what keeps records from being released twice",
    "kafka.input": PLACES,
    "kafka.input.pattern": PLACES,
    "kafka.output": "another output has certificates of its own",
    "kafka.certificates": "where the policy before is read: a new topic has nothing to compare with",
    "kafka.dead_letters": PLACES,
    "kafka.ledger": PLACES,
    "kafka.returns": PLACES,
    "kafka.start": "which records are read",
    "kafka.envelope": "what stands around a record; fields are named within it",
    "kafka.updates": "which records are read",
    "kafka.output_envelope": "how records are written",
    "kafka.lost_input": "whether a run goes on",
    "kafka.delivery": "no setting of a policy: compared where a service starts, see test_rollout.py",
    "kafka.development": "how durable topics are",
    "kafka.max_record_bytes": "which records are rejected",
    "kafka.session_timeout": "when another worker takes over",
    "kafka.transaction_timeout": "when brokers abort",
    "kafka.format": "how bytes are read and written; fields have the same names",
    "kafka.format.input": "how bytes are read; fields have the same names",
    "kafka.format.output": "how bytes are written",
    "kafka.compression": "how bytes are written",
    "kafka.assignment": "who shares the work",
    "kafka.accept_risks": "each is accepted by its own name, and certificates name it",
    "kafka.paused": "whether records are read at once",
    "kafka.fault": "for tests",
    "privacy.sensitive.*.invariant": "the least size of `families`, which are compared themselves",
    "privacy.max_suppressed": "how much may be missing, not how safe what is published is",
    "privacy.above_max_suppressed": "whether what is safe is published too where much is missing",
    "privacy.returning.key_file": "where a secret lies; counts by another one begin anew, and a worker says so",
    "privacy.revision": "orders policies",
    "privacy.accept_weaker": "the answer to this comparison",
    "window.max_memory": "when windows close; smaller ones are compared by what may close them, `max_records`",
    "window.target_loss": "when windows close; not for criteria that compare classes with their window",
    "engine.relaxed": CLASSES,
    "engine.least_loss": CLASSES,
    "engine.order": CLASSES,
    "engine.draws_key_file": "where a secret lies; it bears on what a second release of the same records tells",
    "engine.rounds": CLASSES,
    "engine.loss": CLASSES,
    "engine.target": CLASSES,
    "engine.sample": CLASSES,
    "output.shape": "how records are written",
    "output.digest_key_file": "who can check what was released; certificates tell whether there is one",
    "certificates.sign.key_file": "by which key certificates are signed; each signature names it",
    "attributes.*.prefix.pad": "how a whole number is read as digits",
    "attributes.*.date.format": "how a text tells its day",
    "attributes.*.date.min": "which days fit; they are grouped alike",
    "attributes.*.date.max": "which days fit; they are grouped alike",
    "attributes.*.weight": CLASSES,
    "attributes.*.missing": "a missing value is published as null, in a class as any other value",
    "attributes.*.unknown": "a value outside is published as *, in a class as any other value",
    "attributes.*.coerce": "which texts count as the same number; others are rejected",
    "attributes.*.accept_missing": "whether a run begins without a field; certificates count missing values",
}
NO_PROMISE_WHOLE = {
    "kafka.registry": "where schemas are; fields have the same names",
    "kafka.security": "how to log in",
    "release": "words, and days after which nothing is released; no record is the safer or the less safe by them",
    "method": "of files: a service, which has a policy before, refuses it",
    "http": "who may see figures, not what is released",
    "logs": "how log lines look",
}
"""Sections of which no setting is a promise, those that come to be added neither."""


def _places(kind: Any, place: str) -> Iterator[str]:
    """Yield where settings of a type stand: `*` for a name or a place in a list."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for key, field in kind.model_fields.items():
            yield from _places(field.annotation, f"{place}.{key}")
    elif get_origin(kind) in (Union, UnionType):
        for part in get_args(kind):
            yield from _places(part, place)
    elif get_origin(kind) is Annotated:
        yield from _places(get_args(kind)[0], place)
    elif get_origin(kind) in (list, dict):
        yield from _places(get_args(kind)[-1], f"{place}.*")
    elif kind is not NoneType:
        yield place.removesuffix(".*")


SETTINGS = sorted({place.removeprefix(".") for place in _places(Settings, "")})


def _is_whole(place: str) -> bool:
    return any(place.startswith(f"{section}.") for section in NO_PROMISE_WHOLE)


def test_every_setting_is_compared_or_stands_here_as_no_promise_with_a_reason() -> None:
    named = {place for place in SETTINGS if not _is_whole(place)}
    assert not COMPARED.keys() & NO_PROMISE.keys()
    assert named == COMPARED.keys() | NO_PROMISE.keys()
    assert all([*NO_PROMISE.values(), *NO_PROMISE_WHOLE.values()])
    assert all(any(place.startswith(f"{section}.") for place in SETTINGS) for section in NO_PROMISE_WHOLE)


def _stated(folder: Path, changes: Changes) -> dict[str, Any]:
    for name, count in (("counts.csv", 9), ("other.csv", 8)):
        (folder / name).write_text(f"age,city,zip,day,net,count\n30,Oslo,1234,2024-05-01,10.0.0.1,{count}\n")
    document = copy.deepcopy(POLICY)
    for path, value in changes.items():
        *above, key = path.split("/")
        branch = document
        for name in above:
            branch = branch.setdefault(name, {})
        branch[key] = value
    return stated_by(load_policy(write_document(folder, document)))


@pytest.mark.parametrize("setting", COMPARED)
def test_a_policy_that_promises_less_by_one_setting_is_told(tmp_path: Path, setting: str) -> None:
    before, after, place = COMPARED[setting]
    had, has = _stated(tmp_path, before), _stated(tmp_path, after)
    assert place in {each.place for each in weakened(had, has)}
    assert weakened(had, had) == weakened(has, has) == ()
