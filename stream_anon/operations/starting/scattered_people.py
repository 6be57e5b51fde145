"""Whether records of one person lie in several partitions, where releases of people are counted by partition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_anon.adapters.kafka.reading.topic_sample import TopicSample
from stream_anon.conditions import Condition
from stream_anon.judging.findings import Finding, Severity
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec


def scattered_findings(policy: Policy, readings: Sequence[TopicSample], codec: Codec) -> list[Finding]:
    """Return what forbids to count releases: a sampled person with records in two partitions or more."""
    if policy.returning is None:
        return []
    people = [
        np.unique(codec.decode(list(part.values), 0, np.arange(len(part), dtype=np.int64)).individuals)
        for reading in readings
        for part in reading.records.values()
        if len(part)
    ]
    found, partitions = np.unique(np.concatenate([np.empty(0, np.int64), *people]), return_counts=True)
    scattered = int(np.count_nonzero(partitions > 1))
    if not scattered:
        return []
    return [
        Finding(
            Severity.FORBIDS,
            "privacy.returning",
            f"{scattered:,} of {len(found):,} sampled individuals have records in several partitions of the input. "
            "They could be released as often as allowed from each of them. Let producers key records by individual",
            Condition.SCATTERED_PEOPLE,
        )
    ]
