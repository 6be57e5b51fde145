"""Which of the ids that nothing is known of a registry is asked for.

Anybody who may write to an input can name made-up ids, and each would cost a question. Two attacks are weighed:

- To stall. If records waited until all their ids were asked for, 50 made-up ids a second would hold a partition for
  ever. So a poll asks for about a second, however slow the registry is, and waits for further questions only as
  `Schemas` allows, 5 % of the time. Then records whose ids were not asked for become dead letters that say so
  (`unasked-schema`).
- To starve. Made-up ids must not use up the questions that a real new schema needs. So ids are asked for in the
  order of how many records have named them, which also loses the fewest records. A flood of fresh ids names each
  once. It costs a new schema its first record at the most: the second one makes it pass before all of them, if it
  comes before 20,000 other ids do. Some questions are reserved for this.

Whoever repeats made-up ids must name each of them in as many records as the new schema has by then. Let the schema
have x records a second, and the made-up ids w times as many. To be asked for before it up to second t takes 50 ids
a second, with x s records each at second s. That is 25 x t^2 of the w x t records, so the schema is asked for
within w / 25 seconds. Ids that were repeated before it appeared add 400 seconds at the most, since 20,000 are
remembered. An id that was asked for counts as absent, and costs another question after a minute.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

A_SECOND = 50.0
"""Answers that there is no such schema, a second: a registry gives about a thousand, and several workers ask it."""
MOST_SAVED = 300
"""Such answers at once: more unknown ids than a topic has whose registry is seconds behind its producers."""
RESERVED = 50
"""The last of them are for ids that two records have named."""
SECONDS_AT_ONCE = 1.0
"""For which unknown ids are asked for at once, by how long the last answers took: meanwhile nothing is read."""
_USUAL = 0.003  # seconds an answer, until some are measured
MOST_COUNTED = 20_000
"""Ids whose records are counted, those that were named latest: two polls name no more."""


class QuestionBudget:
    """Chooses ids by the records that name them, and counts answers that there is no such schema: a token bucket.

    A schema that is there costs nothing, however many are new, and a registry that is away costs nothing either.
    All times are seconds of one clock.
    """

    def __init__(self) -> None:
        self._left, self._then = float(MOST_SAVED), 0.0
        self._took = _USUAL  # seconds an answer, on the average of the last ones
        self._records: dict[int | str, int] = {}  # of ids that were not asked for, the one named least lately first

    def chosen(self, named: Mapping[int | str, int], now: float) -> list[int | str]:
        """Return the ids to ask for now, those of most records first.

        Parameters
        ----------
        named
            How many records at hand name each id.
        """
        self._fill(now)
        records = {number: count + self._records.get(number, 0) for number, count in named.items()}
        repeated = sum(count > 1 for count in records.values())
        left = int(self._left)
        most = min(max(min(repeated, left), left - RESERVED), max(1, int(SECONDS_AT_ONCE / self._took)))
        return sorted(records, key=records.__getitem__, reverse=True)[:most]

    def spend(self, now: float) -> None:
        """Note that an id which was chosen is not there."""
        self._fill(now)
        self._left = max(self._left - 1, 0.0)

    def note_answer(self, seconds: float) -> None:
        """Note how long a registry took for an answer, as a share of those that it was asked for side by side."""
        self._took += (max(seconds, 1e-4) - self._took) / 8

    def _fill(self, now: float) -> None:
        self._left = min(self._left + A_SECOND * max(now - self._then, 0.0), float(MOST_SAVED))
        self._then = max(now, self._then)

    def settle(self, asked: Collection[int | str], unasked: Mapping[int | str, int]) -> None:
        """Count records whose ids were not asked for, and forget the count of ids that were."""
        for number in asked:
            self._records.pop(number, None)
        for number, count in unasked.items():
            self._records[number] = self._records.pop(number, 0) + count
        for number in list(itertools.islice(self._records, max(len(self._records) - MOST_COUNTED, 0))):
            del self._records[number]
