"""What a release costs: GCP (Xu et al., KDD 2006; Ghinita et al., VLDB 2007)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def gcp(ncp: NDArray[np.float64], records: NDArray[np.int64], suppressed: int) -> float | None:
    """Return the mean NCP over records and quasi-identifiers; None for no record at all.

    Parameters
    ----------
    ncp
        float64[q, c], unweighted, of each class.
    records
        int64[c].
    suppressed
        Number of suppressed records; each counts 1 in every attribute. Rejected ones are left out.
    """
    total = int(records.sum()) + suppressed
    if total == 0:
        return None
    published = float((ncp.mean(axis=0) * records).sum())
    return (published + suppressed) / total
