"""Coded batches and policies by hand, for tests of the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stream_anon.microdata.attributes import Attribute, Identifier, PublishedForm, Sensitive
from stream_anon.microdata.batch import CodedBatch, Reason, Rejects
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

ILL = Hierarchy.from_tree({"heart": ["infarct", "angina"], "lung": ["flu", "cold", "asthma"], "none": None})


def small_policy(k: int = 3, *, distinct_l: int | None = None, **limits: Any) -> Policy:
    """Return a policy of two categories, one published as nodes and one as sets."""
    attributes: tuple[Attribute, ...] = (
        Identifier("person"),
        QuasiIdentifier("age", CategoricalDomain(balanced([str(i) for i in range(16)]))),
        QuasiIdentifier("ill", CategoricalDomain(ILL), publication=PublishedForm.VALUES),
        Sensitive("result"),
    )
    return Policy(
        attributes,
        k,
        "person",
        diversity={} if distinct_l is None else {"result": Diversity(distinct_l)},
        window=WindowLimits(**{"max_records": 20, "max_delay": 10.0} | limits),
    )


def batch_of(
    policy: Policy,
    source: int,
    offsets: Sequence[int],
    *,
    people: Iterable[int] | None = None,
    codes: Sequence[Sequence[int]] | None = None,
    values: Sequence[int] | None = None,
    rejected: Sequence[int] = (),
) -> CodedBatch:
    """Return a batch of one source whose payload is (source, offset)."""
    n, q, s = len(offsets), len(policy.quasi_identifiers), len(policy.diverse)
    columns = np.zeros((q, n), np.int32) if codes is None else np.array(codes, np.int32).reshape(n, q).T
    persons = np.array(list(range(n) if people is None else people), np.int64) * 2_654_435_761
    keys = np.zeros(n, np.int64) if values is None else np.array(values, np.int64)
    return CodedBatch(
        columns,
        np.tile(keys, (s, 1)),
        persons,
        np.full(n, source, np.int32),
        np.array(offsets, np.int64),
        [(source, offset) for offset in offsets],
        Rejects.of([(Reason.MALFORMED, -1, source, offset) for offset in rejected]),
    )


def both(*batches: CodedBatch) -> CodedBatch:
    """Join several batches into one, in the order of their sources."""
    return CodedBatch(
        np.concatenate([b.codes for b in batches], axis=1),
        np.concatenate([b.sensitive for b in batches], axis=1),
        np.concatenate([b.individuals for b in batches]),
        np.concatenate([b.sources for b in batches]),
        np.concatenate([b.offsets for b in batches]),
        [payload for b in batches for payload in b.payload],
        Rejects.concatenate([b.rejects for b in batches]),
    )
