"""What befalls frames and workers, drawn from a seed.

Each worker's client draws from a stream of its own, so that what one does changes nothing for the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.simulation.wire.model import frames

_TRANSACTION = {
    frames.PRODUCE,
    frames.INIT,
    frames.ADD_PARTITIONS,
    frames.ADD_OFFSETS,
    frames.TXN_OFFSET_COMMIT,
    frames.END_TXN,
}
_CUTS = ("late", "before", "after", "")
_HOW_OFTEN = (12, 3, 3, 4)
_FURTHEST = (12, 30)  # requests: about as many as a window takes, and as a new producer and a window take
_LATEST = 1.5  # seconds


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one request.

    Parameters
    ----------
    delay
        Seconds until it arrives.
    cut
        When its connection breaks: `before` it arrives, which it never does then; `after` it was handled, so that
        the answer is lost; or `late`: at once, and the request arrives all the same. Empty if it does not break.
    answer
        Seconds that the answer takes.
    behind
        It arrives behind so many later requests of the same client, if they come before its delay is over.
    """

    delay: float
    cut: str
    answer: float
    behind: int = 0


@dataclass(frozen=True, slots=True)
class Blow:
    """What befalls a worker once its sink has sent so many requests.

    It is killed (`kill`), its line carries nothing for a time (`hang`), it waits for a time before a step of a
    closing (`stick`), or another one joins its group (`join`).

    Parameters
    ----------
    which
        The worker, counted around.
    lasts
        Seconds that it hangs or sticks after its group has let go of it.
    step
        Of the closing, where it sticks.
    """

    kind: str
    after: int
    which: int
    lasts: float
    step: int


@dataclass
class Weather:
    """One run's weather.

    Parameters
    ----------
    now
        Returns the time, for what is told of faults.
    """

    seed: int
    now: Callable[[], float]
    blows: list[Blow] = field(init=False)
    told: list[str] = field(default_factory=list)
    is_calm: bool = False

    def __post_init__(self) -> None:
        draws = self._draws("scene")
        self.nodes = draws.choice((1, 2, 2))
        self.groups = draws.choice((1, 1, 1, 2))
        self.workers = draws.choice((1, 1, 2))
        self.leaders = [draws.randint(1, self.nodes) for _ in range(8)]
        self.transaction_timeout = draws.choice((0.8, 0.8, 2.0, 4.0))
        self.window = draws.randint(2, 4)
        self._often = draws.choice((0.04, 0.08, 0.12))
        kinds = draws.choices(("kill", "hang", "stick", "join"), (2, 2, 3, 1), k=draws.choice((0, 1, 1, 2)))
        self.blows = [
            Blow(
                kind,
                after=draws.randint(5, 80),
                which=draws.randrange(8),
                lasts=10 ** draws.uniform(-1.3, 0.0),
                step=draws.randint(4, 9),
            )
            for kind in kinds
        ]
        self._hops = self._draws("hops")
        self._streams: dict[str, random.Random] = {}

    def _draws(self, name: str) -> random.Random:
        return random.Random(f"{self.seed} {name}")

    def fate(self, client: str, key: int) -> Fate:
        """Draw what becomes of a request of a worker's client."""
        draws = self._streams.get(client)
        if draws is None:
            draws = self._streams[client] = self._draws(client)
        often = self._often * (2 if key == frames.END_TXN else 1) if key in _TRANSACTION else self._often / 20
        delay, answer, struck = draws.uniform(0.0002, 0.0015), draws.uniform(0.0002, 0.0015), draws.random() < often
        if not struck or self.is_calm:
            return Fate(delay, "", answer)
        (cut,) = draws.choices(_CUTS, _HOW_OFTEN)
        slow, behind = 10 ** draws.uniform(-2.4, -0.4), draws.randint(1, draws.choice(_FURTHEST))
        if cut == "late" and draws.random() < 0.5:
            fate = Fate(_LATEST, cut, answer, behind)
        elif cut == "late" or (not cut and draws.random() < 0.7):
            fate = Fate(delay + slow, cut, answer)
        else:
            fate = Fate(delay, cut, answer if cut else answer + slow)
        how = f"behind {behind} more" if fate.behind else f"{fate.delay + fate.answer:.4f} s"
        self.tell(f"{client}: {frames.NAMES[key]} {cut or 'slow'} {how}")
        return fate

    def hop(self) -> float:
        """Draw how long one node's word takes to another."""
        quick, slow = self._hops.uniform(0.0002, 0.002), self._hops.random() < 0.05
        return quick + 10 ** self._hops.uniform(-2, -0.7) if slow and not self.is_calm else quick

    def tell(self, what: str) -> None:
        """Note a fault."""
        self.told.append(f"{self.now() - 1000:9.4f} {what}")
