"""Count the labels of a target in a sample of the input."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import cast

import numpy as np

from stream_anon.errors import InputError, SettingsError
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.record_files import open_reader
from stream_anon.formats.tables.small_texts import raise_unless_regular
from stream_anon.microdata.attributes import PassThrough
from stream_anon.microdata.choices.label_counts import LabelCounts
from stream_anon.microdata.coding import Passed
from stream_anon.microdata.policy import Policy

MOST_LABELS = 1000


def sample_labels(policy: Policy, target: str, path: Path) -> LabelCounts:
    """Return how often each label of `target` occurs with each code in a file of records.

    Records that do not fit the policy are left out. Nothing of the sample is kept but these counts.

    Raises
    ------
    SettingsError
        If the target is no field that passes, the file cannot be read, or no record fits. It names the file, no
        content.
    """
    if target not in policy.index or not isinstance(policy.attribute(target), PassThrough):
        raise SettingsError("engine.target", "must be an attribute with role: sensitive or insensitive")
    column = policy.passed.index(cast("PassThrough", policy.attribute(target)))
    numbers: dict[object, int] = {}
    labels: list[int] = []
    codes = []
    try:
        raise_unless_regular(path)
        with closing(open_reader(str(path), policy, codec_of(policy).decode)) as reader:
            for batch in reader:
                codes.append(batch.codes)
                values = (passed[column] for passed in cast("list[Passed]", batch.payload))
                labels.extend(numbers.setdefault(value, len(numbers)) for value in values)
    except OSError as error:
        raise SettingsError("engine.sample", f"{path}: cannot be opened ({error.strerror})") from None
    except InputError as error:
        raise SettingsError("engine.sample", str(error)) from None
    if not labels:
        raise SettingsError("engine.sample", f"{path}: holds no record that fits the attributes")
    if len(numbers) > MOST_LABELS:
        raise SettingsError("engine.target", f"must have at most {MOST_LABELS} different values in the sample")
    sizes = [attribute.size for attribute in policy.quasi_identifiers]
    return LabelCounts.of(np.concatenate(codes, axis=1), np.array(labels, np.int64), sizes)
