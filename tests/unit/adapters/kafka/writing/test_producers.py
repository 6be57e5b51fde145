"""How large the batches are that follow a refused one."""

from __future__ import annotations

import numpy as np

from stream_anon.adapters.kafka.bulk.packed_batch import PackedBatch
from stream_anon.adapters.kafka.writing.producers import BATCH_BYTES, smaller
from stream_anon.microdata.keys import PADDING
from stream_anon.microdata.texts import Texts


def test_batches_become_smaller_until_each_holds_one_record() -> None:
    """Else a topic that takes no record would be asked for ever, in batches of a few small ones."""
    size, before = BATCH_BYTES, 0
    while size != before:
        size, before = smaller(size), size
    values = Texts(np.frombuffer(b"12" + PADDING, np.uint8), np.array([1, 2]))
    assert PackedBatch(size, transactional=True).extend(values, 0, 0, ()) == 1
