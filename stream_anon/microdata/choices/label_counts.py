"""How often each label of a target occurs with each code: what a sample says of how values tell the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class LabelCounts:
    """Records of a sample by quasi-identifier, code and label.

    Parameters
    ----------
    counts
        int64[codes, labels] for each quasi-identifier, codes as in `QuasiIdentifier.size`.
    """

    counts: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, codes: NDArray[np.int32], labels: NDArray[np.int64], sizes: Sequence[int]) -> LabelCounts:
        """Return the counts of n records.

        Parameters
        ----------
        codes
            int32[q, n].
        labels
            int64[n], dense.
        sizes
            Codes of each quasi-identifier.
        """
        kinds = int(labels.max(initial=0)) + 1
        return cls(
            tuple(
                np.bincount(own.astype(np.int64) * kinds + labels, minlength=size * kinds).reshape(size, kinds)
                for own, size in zip(codes, sizes, strict=True)
            )
        )
