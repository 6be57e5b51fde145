"""One release of a series: groups of rows and counterfeits, and the signature of everybody in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from stream_anon.recoding.invariance.buckets import Signature, bucketed
from stream_anon.recoding.invariance.slices import Slice, sliced, united

NO_GROUP = -1


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The groups of a release.

    Parameters
    ----------
    group_of_row
        int32[n], `NO_GROUP` for rows that are in none.
    signatures
        Of each row's person; None for rows in no group.
    groups, values
        int64[f], the group and the value of each counterfeit.
    made_for
        The signature that each counterfeit stands for.
    like
        int64[f], a row of the same group, drawn by chance: a counterfeit takes its place among the codes.
    """

    group_of_row: NDArray[np.int32]
    signatures: list[Signature | None]
    groups: NDArray[np.int64]
    values: NDArray[np.int64]
    made_for: list[Signature]
    like: NDArray[np.int64]


def grouped(
    codes: NDArray[np.int32],
    sizes: NDArray[np.int64],
    values: NDArray[np.int64],
    known: Sequence[Signature | None],
    least: tuple[int, int],
    draws: np.random.Generator,
    *,
    together: bool = False,
) -> Grouping:
    """Return the groups of one release of a series: m-invariant, and of k people or more.

    Parameters
    ----------
    codes
        int32[q, n].
    sizes
        int64[q], of the domains.
    values
        int64[n], the number of each row's value.
    known
        The signature that each row's person was published with before; None for people who are new.
    least
        k, which counts people and no counterfeits, and m.
    draws
        From the operating system's entropy wherever it matters.
    together
        Whether all new people get one signature.
    """
    k, m = least
    buckets = bucketed(values, known, m, draws, together=together)
    slices = list(chain.from_iterable(sliced(Slice.of(bucket), codes, sizes, k) for bucket in buckets))
    group_of_row = np.full(len(values), NO_GROUP, np.int32)
    signatures: list[Signature | None] = [None] * len(values)
    made: list[tuple[int, int, int]] = []
    made_for: list[Signature] = []
    for number, group in enumerate(united(slices, codes, sizes, k)):
        rows = np.concatenate([one.all_rows for one in group])
        group_of_row[rows] = number
        for one in group:
            for row in one.all_rows.tolist():
                signatures[row] = one.signature
            for value, count in zip(one.signature, one.counterfeits, strict=True):
                like = draws.choice(rows, count).tolist()
                made += [(number, value, row) for row in like]
                made_for += [one.signature] * count
    groups, wanted, rows = np.array(made, np.int64).reshape(-1, 3).T
    return Grouping(group_of_row, signatures, groups, wanted, made_for, rows)
