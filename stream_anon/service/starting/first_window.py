"""Withhold the first window under a policy where a declared field has not come yet.

Before a run, a sample of the input is asked for values of every declared field (`missing-field`). Where the input
was empty then, the first window is the first to tell: were it published, readers would get null for a field that
has another name, and that cannot be taken back. At the next start the sample holds these records, and is asked.
"""

from __future__ import annotations

from collections.abc import Collection

from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.service.events import Listener, WindowWithheld
from stream_anon.service.starting.conditions import refusal
from stream_anon.service.starting.findings import never_came
from stream_anon.service.starting.sample_study import Study


def unsampled(policy: Policy, study: Study | None) -> frozenset[str]:
    """Return the published attributes that must have a value and of which a sample tells nothing.

    Parameters
    ----------
    study
        Of the sample; None where none could be read.
    """
    if study is not None and study.fit:
        return frozenset()
    return frozenset(attribute.name for attribute in policy.published if not attribute.accept_missing)


class FirstWindow:
    """Looks at windows until each expected attribute has come once; by default none is expected.

    Parameters
    ----------
    tell
        Hears of a window that is withheld.
    """

    def __init__(self, tell: Listener) -> None:
        self._tell = tell
        self._expected: frozenset[str] = frozenset()
        self._withheld = False

    def expect(self, attributes: Collection[str]) -> None:
        """Let nothing be published before each of these attributes has had a value."""
        self._expected = frozenset(attributes)

    def judge(self, release: Release) -> None:
        """Return if a window may be published, as far as this is concerned.

        A window of which no record is released shows nobody a null: its values count, and the next one is asked.

        Raises
        ------
        Refused
            If records would be released and an expected attribute has never had a value.
        """
        if not self._expected:
            return
        records = release.released + sum(release.suppressed.values())
        absent = {name for name in self._expected if release.missing.get(name, 0) == records}
        if absent and release.released:
            if not self._withheld:  # the next one may be closed before the run has ended
                self._tell(WindowWithheld(records, tuple(sorted(absent))))
            self._withheld = True
            found = [never_came(name, f"{records} records of the first window") for name in sorted(absent)]
            raise refusal(found, "this window must not be published, and the run ends")
        self._expected = frozenset(absent)
