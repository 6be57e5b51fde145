"""Settings of when a window closes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from stream_anon.microdata.choices.window_limits import MOST_RECORDS
from stream_anon.settings.sections.section import SIZE_PATTERN, Duration, Section, size_of
from stream_anon.windowing.bounds import LEAST_MEMORY


class WindowSettings(Section):
    """When a window closes."""

    explanation = """\
A window closes when it is full, or when its oldest record is as old as a limit that is drawn anew for
each window, between 0.9 and 1 times `max_delay`. A larger window loses less information and costs less per
record, so leave `max_records` out: then `max_delay` decides. With `auto` a window is full when what it holds
takes `max_memory`, or at 1,000,000 records (10,000 with `k-forest`). A service begins with 100,000 and doubles
that while full windows are published fast. If it finds one too large for `kafka.transaction_timeout`, or to be
closed and written within a quarter of `max_delay`, or memory short, it goes on with smaller ones, and says so.
`auto` promises only this, which certificates state: no window is made smaller than 10,000 records for lack of
time. A number must not be below `privacy.k`.

`stream-anon anonymize` and `anonymize_frame` take a file or a frame as one table: of this section, only
`max_records_per_individual` applies there, and it counts over the whole table. With `--by-arrival`
(`by_arrival=True`) a window closes whenever `max_records` have come, as in a stream. Engine `k-forest` has no
other windows.

`shortfall: hold` lets an overdue window wait for people: for `least_people`, or for as many as a class needs at
least, which is `k`, that of the largest shield, or `distinct_l`. This breaks the bound of `max_delay` on purpose.
It waits for nothing else: a window of enough people that misses a sensitive value is suppressed whole when it is
due, since the moment of publication would tell who brought that value. So with `privacy.sensitive` let it wait for
many times as many people as a class needs, or most windows of a quiet topic are suppressed.

`target_loss` closes windows as early as the loss allows: that of the records that are published, for suppressed
ones do not count here. A service learns from the windows that it has published how loss falls with their records,
and closes a window at the size that promises the target: no later than `max_records` and `max_delay`, at 10 times
`k` records or more, and not by its size while it has fewer people than a class or `least_people` needs. The first
windows, before anything is learned, close as if it were not given. Whatever is not a service, such as `anonymize
--by-arrival` and `Anonymizer`, does not learn, and ignores `target_loss`. It is not for `t_closeness`,
`delta_disclosure` and `beta_likeness`, which ask less of a smaller window. See
[operations.md](../guides/operations.md#windows-by-loss)."""

    max_records: Annotated[int, Field(ge=2, le=MOST_RECORDS)] | Literal["auto"] = "auto"
    """Records after which a window closes, 2 to 10,000,000; auto: as many as delay and memory allow."""
    max_memory: Annotated[str, Field(pattern=SIZE_PATTERN)] | Literal["auto"] = "auto"
    """Bytes, such as 256MiB or 1GB, that what a window of a service holds may take, 16MiB or more. The process
    takes up to eight times as much: a window is closed and written while the one before it is published. auto: an
    eighth of what the process may still use when it begins, 16MiB to 1GiB; no bound where max_records is a number.
    It closes no window of fewer records than twice the people that a class, or least_people, needs."""
    max_delay: Duration = Field(default=30.0, ge=0.05, le=86_400)
    """Age of its oldest record at which a window closes."""
    shortfall: Literal["suppress", "hold"] = "suppress"
    """What happens to a window that has too few people at its deadline: it is suppressed whole, or held."""
    max_records_per_individual: int = Field(default=100, ge=1, le=10_000_000)
    """Records of one individual beyond which further ones are suppressed."""
    least_people: int = Field(default=0, ge=0, le=MOST_RECORDS)
    """With `shortfall: hold`, for how many people an overdue window waits; 0: as many as a class needs at least."""
    target_loss: float | None = Field(default=None, gt=0, lt=1)
    """Information loss (mean NCP) of the records that are published at which a window closes before `max_delay`,
    such as 0.10; without it none does."""

    @property
    def memory(self) -> int | None:
        """Return the bytes of `max_memory`; None for auto."""
        return None if self.max_memory == "auto" else size_of(self.max_memory)

    @model_validator(mode="after")
    def _has_memory(self) -> WindowSettings:
        if self.memory is not None and self.memory < LEAST_MEMORY:
            raise ValueError(f"max_memory must be {LEAST_MEMORY >> 20}MiB or more")
        return self
