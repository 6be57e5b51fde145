"""The Mondrian of anonypyx (PyPI, MIT), which publishes sets of categories and ranges of numbers.

The package is optional: `pip install anonypyx`. It halves a category's values in the order in which they occur and
knows no hierarchies, so its classes are to be scored as sets (`sets.set_loss`), not as nodes. Its k counts rows,
not individuals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

ABSENT = "anonypyx is not installed: its Mondrian is left out (pip install anonypyx)"


def is_installed() -> bool:
    """Return whether the package can be imported."""
    try:
        import anonypyx.mondrian  # noqa: F401
    except ImportError:
        return False
    return True


def anonypyx_classes(attributes: Sequence[QuasiIdentifier], codes: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Return the class of each row of codes int32[q, n], n >= k; about a millisecond a row.

    Categories are given as categories, all else (numbers, dates, prefixes) as numbers.
    """
    import pandas as pd
    from anonypyx.models import kAnonymity
    from anonypyx.mondrian import Mondrian

    columns = {}
    for number, (attribute, column) in enumerate(zip(attributes, codes, strict=True)):
        values = pd.Series(column)
        columns[f"a{number}"] = values.astype("category") if _is_category(attribute) else values
    frame = pd.DataFrame(columns)
    answer = np.full(codes.shape[1], -1, np.int32)
    # A span of 0 over the whole window is divided by: such a column is left out.
    varied = [name for name in columns if frame[name].nunique() > 1]
    if not varied:
        return np.zeros_like(answer)
    for number, rows in enumerate(Mondrian(frame, varied).partition([kAnonymity(k)])):
        answer[rows.to_numpy()] = number
    return answer


def _is_category(attribute: QuasiIdentifier) -> bool:
    return isinstance(attribute.domain, CategoricalDomain)
