"""Learn an order from a sample file, and read and write it.

The file holds names of attributes in a row and a hash of their domains: no value, no count.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from stream_anon.adapters.codecs import codec_of
from stream_anon.adapters.tables.format_names import Format
from stream_anon.adapters.tables.formats import open_reader
from stream_anon.clustering.forest.ordering.order_file import learned_from
from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.policy import LearnedOrder, Policy
from stream_anon.privacy.objective import objective

FORMAT = 1
MOST_RECORDS = 100_000


def learn_from_file(policy: Policy, sample: str, standard: Format = Format.JSONL) -> tuple[LearnedOrder, int]:
    """Return the order learned from the first records of a CSV or JSON Lines file, and their number.

    Parameters
    ----------
    policy
        Says what the records look like. A window's worth of them is learned from, 100,000 at the most.
    sample
        As in `FileJob`; `-` for standard input.
    standard
        The format of standard input.

    Raises
    ------
    InputError
        If the file cannot be read or has too few valid records.
    """
    most = min(policy.window.max_records, MOST_RECORDS)
    parts, count = [], 0
    with closing(open_reader(sample, policy, codec_of(policy).decode, standard)) as reader:
        for batch in reader:
            parts.append(batch.codes)
            count += len(batch)
            if count >= most:
                break
    if count < 2 * policy.k:
        raise InputError(f"{sample}: holds {count} valid records; at least {2 * policy.k} are needed to learn from")
    codes = np.ascontiguousarray(np.concatenate(parts, axis=1)[:, :most])
    model = objective(policy.quasi_identifiers, policy.engine.loss, policy.engine.labels)
    return learned_from(codes, policy.quasi_identifiers, model, policy.k, policy.engine.seed), codes.shape[1]


def order_text(order: LearnedOrder) -> str:
    """Return an order as the text of a file."""
    document = {"stream_anon_order": FORMAT, "attributes": order.attributes, "order": list(order.owners)}
    return json.dumps(document, indent=2) + "\n"


def read_order(path: Path) -> LearnedOrder:
    """Return the order of a file.

    Raises
    ------
    SettingsError
        If it cannot be read or is no order; the message names the file, nothing of its content.
    """
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError("engine.order", f"{path}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise SettingsError("engine.order", f"{path}: is not JSON") from None
    valid = (
        isinstance(document, dict)
        and document.get("stream_anon_order") == FORMAT
        and isinstance(document.get("attributes"), str)
        and isinstance(document.get("order"), list)
        and all(isinstance(name, str) for name in document["order"])
    )
    if not valid:
        raise SettingsError("engine.order", f"{path}: is no order that `stream-anon learn` wrote")
    return LearnedOrder(document["attributes"], tuple(document["order"]))
