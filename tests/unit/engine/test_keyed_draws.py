"""By a key, a window's release follows from its records: not from where, when or beside which windows they came."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.keyed_draws import DrawnWindow, DrawsKey, KeyedWindows
from stream_anon.engine.partitioners import partitioners_by_draws
from stream_anon.engine.recoding_closer import WholeTable
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.formats.codecs import codec_of
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.coding import BatchBuilder
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy
from tests.attacks.town import town_policy, townspeople
from tests.support.data import ROOT
from tests.support.effort import examples
from tests.support.object_coder import ObjectCoder

KEY, OTHER = DrawsKey(b"a key of 32 bytes, kept secretly"), DrawsKey(b"another key that is long enough.")
SOURCES = 3
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "person": st.integers(0, 20).map(str),
            "age": st.integers(30, 34),
            "city": st.sampled_from(["Oslo", "Rome"]),
            "illness": st.sampled_from(["flu", "cold", "gout", None]),
            "symptoms": st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=2),
        }
    ),
    min_size=1,
    max_size=40,
)

WHOLE = {"invariant": 2, "families": [["cold", "flu"], [None, "gout"]], "publish": "value"}


class Arrived(NamedTuple):
    """A record with the source that it came from."""

    source: int
    record: Mapping[str, Any]


def policy_of(engine: Mapping[str, Any], asked: Mapping[str, Any]) -> Policy:
    document = {
        "privacy": {"k": 3, "individual": "person", "sensitive": asked},
        "window": {"max_records": 10_000},
        "engine": engine,
        "attributes": {
            "person": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
            "city": {"role": "quasi-identifier", "values": ["Oslo", "Rome"]},
            "illness": {"role": "sensitive", "accept_missing": True},
            "symptoms": {"role": "sensitive", "type": "string[]"},
        },
    }
    return build_policy(parse_settings(document), ROOT / "policy.yaml")


def window_of(policy: Policy, arrived: Sequence[Arrived], pieces: int = 2) -> SealedWindow:
    """Return the window of records that came in some pieces; offsets count within each source."""
    engine, coder = Engine(policy, draws=np.random.default_rng(0), partitioner=WholeTable), ObjectCoder(policy)
    offsets = [0] * SOURCES
    for source in range(SOURCES):
        engine.open(source, 0)
    for piece in range(pieces):
        builders = [BatchBuilder(policy, source) for source in range(SOURCES)]
        for source, record in arrived[piece::pieces]:
            builders[source].add(coder.code_object(record), offsets[source])
            offsets[source] += 1
        for builder in builders:
            assert not engine.add(builder.build(None), float(piece))
    window = engine.seal(float(pieces))
    assert window is not None
    return window


def released(policy: Policy, window: SealedWindow, key: DrawsKey = KEY) -> tuple[Release, list[bytes], list[int]]:
    """Return a release, the records as they are published, and where they go."""
    turned, draws, places = KeyedWindows(key, partitioners_by_draws(policy)).turned(window)
    release = Closer(policy).release(turned, draws)
    return release, codec_of(policy).encode(release), places.integers(0, 1000, 9).tolist()


@pytest.mark.parametrize("name", ["forest", "k-forest", "mondrian", "full-domain"])
@pytest.mark.parametrize(
    "asked",
    [{}, {"illness": {"distinct_l": 2}}, {"symptoms": {"distinct_l": 2}}, {"illness": WHOLE}],
    ids=["none", "values", "lists", "whole families"],
)
@settings(examples(20))
@given(records=RECORDS, seed=st.integers(0, 2**32 - 1))
def test_the_same_records_give_the_same_release_from_whatever_sources_and_in_whatever_order(
    name: str, asked: dict[str, Any], records: list[dict[str, Any]], seed: int
) -> None:
    policy = policy_of({"name": name} | ({"levels": {"age": 2}} if name == "full-domain" else {}), asked)
    chance = np.random.default_rng(seed)
    mixed = [
        Arrived(int(chance.integers(SOURCES)), {**records[i], "person": f"id {records[i]['person']}"})
        for i in chance.permutation(len(records)).tolist()
    ]
    one, *written = released(policy, window_of(policy, [Arrived(0, record) for record in records], 1))
    other, *again = released(policy, window_of(policy, mixed, int(chance.integers(1, 4))))
    assert written == again
    assert (one.classes.records == other.classes.records).all()
    assert one.suppressed == other.suppressed


def test_another_key_and_one_record_more_draw_everything_anew() -> None:
    policy, people = town_policy(max_records=10_000), townspeople(801)
    window = window_of(policy, [Arrived(0, person) for person in people[:800]])
    _, once, places = released(policy, window)
    assert len(set(once) & set(released(policy, window, OTHER)[1])) < 700
    assert released(policy, window, OTHER)[2] != places
    more = window_of(policy, [Arrived(0, person) for person in people])
    assert len(set(once) & set(released(policy, more)[1])) < 700


@pytest.mark.parametrize("seed", [None, 5])
def test_windows_before_have_no_part_in_a_release(seed: int | None) -> None:
    """A worker that was started anew has seen none of them."""
    policy = policy_of({"seed": seed}, {})
    chance = np.random.default_rng(1)
    ages = chance.integers(0, 100, (4, 400)).tolist()
    windows = [
        window_of(
            policy,
            [
                Arrived(0, {"person": str(n), "age": age, "city": ["Oslo", "Rome"][n % 2], "symptoms": ["a"]})
                for n, age in enumerate(row)
            ],
        )
        for row in ages
    ]
    keyed, closer, codec = KeyedWindows(KEY, partitioners_by_draws(policy)), Closer(policy), codec_of(policy)
    lasting = [codec.encode(closer.release(*keyed.turned(window)[:2])) for window in windows]
    assert lasting == [released(policy, window)[1] for window in windows]


def test_each_row_keeps_its_place_and_its_time() -> None:
    policy, people = town_policy(max_records=10_000), townspeople(60)
    arrived = [Arrived(n % SOURCES, person) for n, person in enumerate(people)]
    window = window_of(policy, arrived, 4)

    def rows(of: SealedWindow) -> set[tuple[object, ...]]:
        codes, stretches = of.columns.codes.T.tolist(), of.stretches.tolist()
        coded = zip(codes, of.payload, stretches, of.offsets.tolist(), strict=True)
        return {(*code, *passed, of.sources[s], of.arrivals[s][0], offset) for code, passed, s, offset in coded}

    turned = KeyedWindows(KEY).turned(window).window
    assert turned.offsets.tolist() != window.offsets.tolist()
    assert rows(turned) == rows(window)
    assert len(rows(turned)) == 60
    assert turned.arrivals == window.arrivals
    # A row that turns out too large is told by its own place, and leaves the stretch that it came in.
    row = 7
    judged = turned.rejecting(np.array([row]), Reason.TOO_LARGE)
    stretch = int(turned.stretches[row])
    assert judged.rejects.sources.tolist() == [turned.sources[stretch]]
    assert judged.rejects.offsets.tolist() == [turned.offsets[row]]
    fewer = [before - after for (_, before), (_, after) in zip(turned.arrivals, judged.arrivals, strict=True)]
    assert fewer == [int(n == stretch) for n in range(len(fewer))]


def test_a_window_without_a_row_is_drawn_for_too() -> None:
    engine = Engine(town_policy(), draws=np.random.default_rng(0), partitioner=WholeTable)
    engine.open(0, 0)
    coder, builder = ObjectCoder(town_policy()), BatchBuilder(town_policy(), 0)
    builder.add(coder.code_object({**townspeople(1)[0], "age": 1000}), 0)
    engine.add(builder.build(None), 0.0)
    window = engine.seal(1.0)
    assert window is not None
    drawn = KeyedWindows(KEY).turned(window)
    assert isinstance(drawn, DrawnWindow)
    assert drawn.window is window


def test_a_copy_of_a_key_gives_the_same() -> None:
    """A host hands it to its tasks, as pickle does."""
    moved = copy.copy(KEY)
    assert moved.draws(b"window").integers(2**62) == KEY.draws(b"window").integers(2**62)
    assert moved.salt(b"groups") == KEY.salt(b"groups") != OTHER.salt(b"groups")
