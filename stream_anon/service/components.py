"""What a worker is made of; `service/wiring.py` puts it together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.clock import Clock
from stream_anon.engine.engine import Engine
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Ledger, Sink, Source
from stream_anon.service.closing.rechecking import Rechecks
from stream_anon.service.closing.steps import Checkpoint
from stream_anon.service.events import Listener
from stream_anon.service.fault_points import At
from stream_anon.service.retrying import Reachability
from stream_anon.service.takeover.ledger_keeping import LedgerKeeper


class Codec(Protocol):
    """Decodes records into coded batches; see `adapters.json.codec.JsonCodec`."""

    def decode(self, values: Any, source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        """Return the columns of a stretch of one partition."""
        ...


@dataclass(frozen=True, slots=True)
class Choices:
    """What the settings leave to the operator.

    Parameters
    ----------
    start
        Where a partition begins of which nothing was ever released: `earliest` or `latest`.
    lost_input
        Whether to `stop` or `skip` where records were deleted before they were read.
    inputs
        Topics that must exist before the group is joined.
    outputs
        Topics for records, certificates and dead letters.
    """

    start: str
    lost_input: str
    inputs: tuple[str, ...]
    outputs: tuple[str, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """All that a worker works with.

    Parameters
    ----------
    keeper
        Opens the ledger, and makes it where it is missing.
    """

    policy: Policy
    choices: Choices
    source: Source
    sink: Sink
    ledger: Ledger
    codec: Codec
    engine: Engine
    checkpoint: Checkpoint
    reachability: Reachability
    clock: Clock
    tell: Listener
    at: At
    keeper: LedgerKeeper
    rechecks: Rechecks
