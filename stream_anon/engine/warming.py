"""Warm up: compile every kernel that a policy's windows will call, before the first record waits for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.forest import Forest
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.keyed_draws import DrawsKey, keyed_order
from stream_anon.engine.partitioners import partitioners
from stream_anon.engine.returning import Returns, ReturnsKey
from stream_anon.microdata.attributes import PassThrough, Sensitive
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.columns import Columns, Sets
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.sensitive_keys import family_keys
from stream_anon.privacy.content_digests import class_digests
from stream_anon.privacy.criteria import Criteria

_KEY = DrawsKey(bytes(32))  # of made-up windows
_COUNTED = ReturnsKey(b"of people who are made up")


def warm_up(policy: Policy) -> None:
    """Run windows of made-up codes through a separate engine and discard them.

    Two windows of people who come once, one of them prepared before its end; another of people who return, where
    the policy can tell: engines have kernels of their own for these, and the first real window must not wait for a
    compiler.
    """
    draws = np.random.default_rng(0)
    count = _count(policy)
    once, *returning = _crowds(policy, draws)
    returns = None if policy.returning is None else Returns(policy.returning, _COUNTED, lambda: 0.0)
    engine, closers = Engine(policy, draws=draws, returns=returns), _closers(policy)
    engine.open(0, 0)
    now = 0.0
    for turn, people in enumerate([once, once, *returning]):
        closer = closers[min(turn, len(closers) - 1)]
        batch, rows = _made_up(policy, people, turn * count, draws), np.arange(count)
        sealed = engine.add(batch.take(rows[:-2]), now)
        deadline = engine.deadline
        if deadline is not None:
            # Near the end of its age: one more record, then what is due is prepared, and one that comes too late.
            now += 0.98 * (deadline - now)
            sealed += engine.add(batch.take(rows[-2:-1]), now)
            now += 0.5 * (deadline - now)
            while (work := engine.preparation(now)) is not None:
                work()
        sealed += engine.add(batch.take(rows[-1:]), now)
        rest = engine.seal(now)
        for window in [*sealed, *([rest] if rest else [])]:
            columns = window.columns
            keyed_order(columns.codes, columns.individuals, window.payload, len(policy.passed), _KEY)
            release = closer.release(window, draws)
            class_digests(release, policy, "", "")
            if returns is not None and release.people is not None:
                returns.settle(window, release.people)


def _closers(policy: Policy) -> list[Closer]:
    """Return what closes made-up windows: of a policy's presence the first one, and the last one what comes after.

    Nobody fits a class of the first window, so that all are united and then suppressed.
    """
    population = policy.population
    if population is None:
        return [Closer(policy)]
    empty = replace(population, counts=np.zeros_like(population.counts))
    return [Closer(replace(policy, population=empty)), Closer(replace(policy, presence=None, population=None))]


def warm_up_first_half(policy: Policy) -> None:
    """Compile half of what takes `warm_up` longest, where the stages of the policy's engine can be run apart.

    Another process compiles the other half meanwhile, and `warm_up` then finds both on disk.
    """
    _warm_up_half(policy, refining=False)


def warm_up_second_half(policy: Policy) -> None:
    """Compile the other half."""
    _warm_up_half(policy, refining=True)


def _warm_up_half(policy: Policy, *, refining: bool) -> None:
    draws = np.random.default_rng(0)
    partitioner = partitioners(policy, draws=draws)()
    if not isinstance(partitioner, Forest):
        return
    for people in _crowds(policy, draws):
        batch = _made_up(policy, people, 0, draws)
        sensitive = [_numbered(keys) for keys in batch.sensitive]
        rows = Columns(
            batch.codes,
            _numbered(people),
            np.array(sensitive, np.int32).reshape(len(sensitive), len(people)),
            tuple(
                _made_up_sets(policy, numbers) for policy, numbers in zip(policy.diverse, sensitive, strict=True)
            ),
        )
        partitioner.warm_up(rows, Criteria.of(policy), refining=refining)


def _numbered(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.unique(keys, return_inverse=True)[1].astype(np.int32)


def _made_up_sets(attribute: PassThrough, numbers: NDArray[np.int32]) -> Sets | None:
    """Return sets of one item each."""
    return Sets.of([[number] for number in range(int(numbers.max()) + 1)]) if attribute.many else None


def _count(policy: Policy) -> int:
    crowd = max((shield.k for shield in policy.shields), default=0)
    return min(policy.window.max_records, max(8 * policy.crowd, 2 * crowd))


def _crowds(policy: Policy, draws: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return people who come once; then, where the policy can tell who returns, people of whom a few do often.

    These have half of the records, so that some classes do not come out legal at first.
    """
    once = np.arange(_count(policy), dtype=np.int64)
    if policy.individual == EVERY_RECORD:
        return [once]
    often = draws.integers(0, policy.crowd, len(once))
    return [once, np.where(draws.random(len(once)) < 0.5, often, once + policy.crowd)]


def _made_up(policy: Policy, people: NDArray[np.int64], first: int, draws: np.random.Generator) -> CodedBatch:
    count = len(people)
    codes = [draws.integers(*_alike(attribute), count, np.int32) for attribute in policy.quasi_identifiers]
    keys = [_made_up_keys(attribute, 4 * policy.crowd, count, draws) for attribute in policy.diverse]
    return CodedBatch(
        np.array(codes, np.int32),
        np.array(keys, np.int64).reshape(len(keys), count),
        people,
        np.zeros(count, np.int32),
        np.arange(first, first + count, dtype=np.int64),
        [(None,) * len(policy.passed)] * count,
        Rejects.of([]),
        {key: (key,) for key in range(4 * policy.crowd)},
    )


def _made_up_keys(attribute: Sensitive, most: int, count: int, draws: np.random.Generator) -> NDArray[np.int64]:
    """Return keys of values; of families that classes keep whole those of the first one: no others form a class."""
    if not attribute.keeps_whole:
        return draws.integers(0, most, count)
    first = [key for key, family in family_keys(attribute).items() if family == 0]
    return draws.choice(np.array(first, np.int64), count)


def _alike(attribute: QuasiIdentifier) -> tuple[int, int]:
    """Return the first code under a node of the highest level and the one after it: rows that may be a class.

    Rows spread over the whole domain would form no class, and an engine with nothing to do compiles nothing.
    """
    if attribute.max_level is None:
        return 0, attribute.size
    low, high = attribute.node_at(0, attribute.max_level)
    return low, high + 1
