"""What the open window says that it holds: lists of sensitive attributes too."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from stream_anon.engine.engine import Engine
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.attributes import ScalarType, Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.windowing.bounds import WindowBound
from tests.support.batches import batch_of, small_policy

ITEMS = 100  # of each list


def _policy() -> Policy:
    policy = small_policy(distinct_l=2, max_records=10_000)
    lists = Sensitive("result", ScalarType.STRING, many=True)
    return replace(policy, attributes=(*policy.attributes[:-1], lists))


def _batch(policy: Policy, source: int, lists: Iterable[int], first: int = 0) -> CodedBatch:
    """Return records of one source, each with one of these lists, among others that no record has."""
    keys = list(lists)
    sets = {key: tuple(range(key << 20, (key << 20) + ITEMS)) for key in {*keys, 77, 78}}
    offsets = range(first, first + len(keys))
    return replace(batch_of(policy, source, offsets, people=offsets, values=keys), sets=sets)


def _engine(policy: Policy, bound: WindowBound | None = None) -> Engine:
    engine = Engine(policy, draws=np.random.default_rng(0))
    if bound is not None:
        engine.bound = bound
    for source in range(2):
        engine.open(source, 0)
    return engine


def _added(engine: Engine, *batches: CodedBatch) -> list[SealedWindow]:
    return [window for batch in batches for window in engine.add(batch, 1.0)]


def test_what_a_window_holds_of_lists_is_counted() -> None:
    policy = _policy()
    alike, different = _engine(policy), _engine(policy)
    _added(alike, _batch(policy, 0, [100] * 50))
    _added(different, _batch(policy, 0, range(100, 150)))
    kept = different._window._values.sets
    items = {item for one in kept.values() for item in one}
    size = sys.getsizeof(kept) + sum(sys.getsizeof(each) for each in [*kept, *kept.values(), *items])
    more = different._window.held - alike._window.held
    assert 0.95 * size < more + more / 49 < 1.3 * size


def test_a_list_that_no_record_of_a_window_has_is_neither_kept_nor_counted() -> None:
    policy = _policy()
    engine = _engine(policy)
    _added(engine, _batch(policy, 0, [100, 100, 101]))
    assert engine._window._values.sets.keys() == {100, 101}


def test_long_lists_close_a_window_that_memory_bounds() -> None:
    policy = _policy()
    engine = _engine(policy, WindowBound(10_000, 40 * 50 * ITEMS))
    pieces = [_batch(policy, 0, range(100 + n, 110 + n), n) for n in range(0, 200, 10)]
    windows = _added(engine, *pieces)
    assert windows
    assert {window.records for window in windows} == {50}


def test_lists_of_a_source_that_left_are_counted_no_more() -> None:
    policy = _policy()
    engine, never = _engine(policy), _engine(policy)
    stays = _batch(policy, 1, [100, 101, 102])
    _added(engine, _batch(policy, 0, range(101, 160)), stays)
    _added(never, stays)
    engine.revoke([0])
    assert engine._window.held == never._window.held
    assert engine._window._values.sets == never._window._values.sets
    window = engine.seal(2.0)
    assert window is not None
    assert len(window.columns.sets[0].items) == 3 * ITEMS  # type: ignore[union-attr]


def test_a_sealed_window_counts_its_lists() -> None:
    policy = _policy()
    short, long = (_engine(policy) for _ in range(2))
    _added(short, _batch(policy, 0, [100] * 50))
    _added(long, _batch(policy, 0, range(100, 150)))
    windows = [engine.seal(2.0) for engine in (short, long)]
    assert windows[0] is not None
    assert windows[1] is not None
    assert windows[1].held - windows[0].held == 49 * (8 + 4 * ITEMS)
