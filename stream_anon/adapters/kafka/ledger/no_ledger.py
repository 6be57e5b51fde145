"""The ledger of a service that has none."""

from __future__ import annotations

from collections.abc import Mapping

from stream_anon.ports import LedgerEntry, Parcel, Place


class NoLedger:
    """Takes the ledger's place where there are no transactions: an entry could be lost, or precede its window."""

    is_gone = False
    is_incomplete = False
    held_seconds = 0.0

    async def open(self) -> None:
        """Do nothing."""

    def remembered(self) -> Mapping[Place, LedgerEntry]:
        """Return nothing."""
        return {}

    async def caught_up(self) -> Mapping[Place, LedgerEntry]:
        """Return nothing."""
        return {}

    def holds(self, batch: str) -> bool | None:  # noqa: ARG002
        """Return None: nobody can tell."""
        return None

    def entries(
        self,
        offsets: Mapping[Place, int],  # noqa: ARG002
        batch: str,  # noqa: ARG002
        topic_ids: Mapping[str, str],  # noqa: ARG002
        time: int,  # noqa: ARG002
    ) -> Parcel | None:
        """Return nothing."""
        return None

    async def uncontested(self, starts: Mapping[Place, int], sent: Mapping[Place, int]) -> None:
        """Do nothing: nobody can tell."""

    async def discard(self) -> None:
        """Do nothing."""
