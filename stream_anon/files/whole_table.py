"""Anonymize a file as one table: by the policy's engine, or by the classic method that it names."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stream_anon.adapters.entropy import fresh_draws
from stream_anon.conditions import Condition
from stream_anon.engine.completing.completing_closer import CompletingCloser
from stream_anon.engine.engine import Engine
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.engine.recoding_closer import RecodingCloser, WholeTable
from stream_anon.errors import InputError, SettingsError
from stream_anon.files.anonymizing import Anonymization, CertifiedRelease
from stream_anon.files.neighbours.large_table import LargeTable, needs_one_window
from stream_anon.judging.one_table import becomes_one, whole
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.method import MethodChoice
from stream_anon.microdata.policy import MOST_RECORDS, Policy
from stream_anon.recoding.recoders.recoder import Holder


def anonymization_of(
    policy: Policy,
    holder: Holder | None = None,
    accept_risks: Collection[Condition] = (),
    key: DrawsKey | None = None,
    *,
    by_arrival: bool = False,
) -> Anonymization:
    """Return what anonymizes one input by the policy's method or, if it names none, by its engine.

    All records of an input are one table. Engine `k-forest` takes few records at once: it has windows by arrival.

    Parameters
    ----------
    holder
        Decides what a method leaves to the data's holder.
    key
        What draws follow from; see `Anonymization`.
    by_arrival
        Whether an engine closes a window whenever `window.max_records` have come. A method never does.
    """
    if policy.method is None:
        if by_arrival or not becomes_one(policy):
            return Anonymization(policy, accept_risks=accept_risks, key=key)
        return LargeTable(whole(policy), accept_risks=accept_risks, key=key)
    return TableAnonymization(policy, policy.method, holder=holder, accept_risks=accept_risks, key=key)


def takes_neighbours(policy: Policy, *, keyed: bool) -> bool:
    """Return whether a policy's table may be released in windows of neighbours."""
    return becomes_one(policy) and not needs_one_window(policy, keyed=keyed)


class TableAnonymization(Anonymization):
    """One pass over one input, which is released as a whole when it has been read.

    Parameters
    ----------
    policy
        Its window only bounds the records of an individual.
    choice
        The method.
    holder
        Decides what the method leaves to the data's holder.

    Raises
    ------
    SettingsError
        If the policy allows counterfeits, and there is no key.
    """

    def __init__(
        self,
        policy: Policy,
        choice: MethodChoice,
        *,
        holder: Holder | None,
        accept_risks: Collection[Condition],
        key: DrawsKey | None,
    ) -> None:
        policy = whole(policy)
        if policy.counterfeits is not None and key is None:
            raise SettingsError(
                "privacy.counterfeits",
                "need a key of draws, not fresh ones: two releases of the same records would tell them",
            )
        make = RecodingCloser if policy.counterfeits is None else CompletingCloser
        self._recoding = make(policy, choice, holder)
        engine = Engine(policy, draws=fresh_draws(), partitioner=WholeTable)
        super().__init__(policy, closer=self._recoding, engine=engine, accept_risks=accept_risks, key=key)

    @property
    def explanation(self) -> tuple[str, ...]:
        """Return how the release came about, a line a step; empty before it, and where no class was possible."""
        return tuple(map(str, self._recoding.steps))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what the method's options leave unprotected; empty before the release."""
        return self._recoding.warnings

    def add(self, batch: CodedBatch, *, counted: bool = False) -> Iterator[CertifiedRelease]:
        """Take a batch of source 0; yield nothing: the table is not whole yet.

        Raises
        ------
        InputError
            If there are more records than a table may have.
        """
        for _ in super().add(batch, counted=counted):
            raise InputError(f"a method takes a file of at most {MOST_RECORDS:,} records as one table")
        yield from ()
