"""Settings of what is stated of a release."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from stream_anon.microdata.output.statement import MOST_LETTERS, Statement
from stream_anon.settings.sections.section import Section

Words = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MOST_LETTERS)]


def _day(value: object) -> object:
    """Return a day; ValueError for what is neither one nor its text, such as a number or a moment."""
    if type(value) is dt.date or (isinstance(value, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value)):
        return value
    raise ValueError("must be a day such as 2027-03-31")


Day = Annotated[dt.date, BeforeValidator(_day)]


class ReleaseSettings(Section):
    """For whom and for what records are released, until when, and who answers for that."""

    explanation = """\
What a data protection officer signs, in the officer's words: one line of up to 1,000 characters each.
All of it may be left out. It stands in the policy document beside the certificates, and in reports. It changes no
record, but a change of it is another policy, with another digest. Write nothing that readers of certificates may
not know.

After `valid_until` nothing is released: no run starts, one that runs ends, and no file is written
(`release-expired`). The day itself still counts, in UTC. `check` warns 30 days before. What was released can be
audited at any time. See [operations.md](../guides/operations.md#until-when-a-release-is-agreed)."""

    recipient: Words = ""
    """Who gets the records."""
    purpose: Words = ""
    """What for."""
    legal_basis: Words = ""
    """By which right they are processed and handed on."""
    means: Words = ""
    """By which means somebody might try to find people in them, as they were taken into account."""
    valid_until: Day | None = None
    """The last day, in UTC, on which records are released, such as 2027-03-31."""
    review_by: Day | None = None
    """The day by which somebody looks at all of this again; `check` warns 30 days before and from then on."""
    owner: Words = ""
    """Who answers for it: a role or an address that outlives a person's employment."""

    @property
    def statement(self) -> Statement:
        """Return what is stated. Raises SettingsError, see `Statement`."""
        return Statement(**self.model_dump())
