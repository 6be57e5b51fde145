"""The parts of a worker; `service/wiring/building.py` puts them together."""

from __future__ import annotations

from dataclasses import dataclass

from stream_anon.engine.engine import Engine
from stream_anon.microdata.policy import Policy
from stream_anon.ports import At, Clock, Codec, ReleaseLedger, Sink, Source
from stream_anon.service.busy_time import BusyTime
from stream_anon.service.closing.bounding import Bounding
from stream_anon.service.closing.closing_steps import ClosingSteps
from stream_anon.service.closing.leaking import LeakageSamples
from stream_anon.service.closing.rechecking import Rechecks
from stream_anon.service.closing.size_learning import SizeLearning
from stream_anon.service.counting import Counting
from stream_anon.service.events import Listener
from stream_anon.service.retrying import Reachability
from stream_anon.service.takeover.ledger_keeping import LedgerKeeper
from stream_anon.service.troubles import Troubles


@dataclass(frozen=True, slots=True)
class OperatorChoices:
    """Choices that the settings leave to the operator.

    Parameters
    ----------
    start
        Where a partition begins if nothing of it was ever released: `earliest` or `latest`.
    lost_input
        Whether to `stop` or `skip` if records were deleted before they were read.
    outputs
        Topics that must exist as long as the worker reads.
    """

    start: str
    lost_input: str
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Everything that a worker works with.

    Parameters
    ----------
    keeper
        Opens the ledger, and creates it if it is missing.
    sizes
        Where the policy names a target of loss.
    counting
        Where the policy bounds how often one person is released.
    """

    policy: Policy
    choices: OperatorChoices
    source: Source
    sink: Sink
    ledger: ReleaseLedger
    codec: Codec
    engine: Engine
    closing_steps: ClosingSteps
    reachability: Reachability
    clock: Clock
    tell: Listener
    at: At
    keeper: LedgerKeeper
    rechecks: Rechecks
    leakages: LeakageSamples
    sizes: SizeLearning | None
    troubles: Troubles
    busy: BusyTime
    bounding: Bounding
    counting: Counting | None
