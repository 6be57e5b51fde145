"""Withhold the first window under a policy if a declared field has not come yet.

Before a run, a sample of the input must hold a value of every declared field (`missing-field`). If the input was
empty then, the first window is the first to tell. If it were published, readers would get null for a field that has
another name, and nobody could take that back. At the next start the sample holds these records.
"""

from __future__ import annotations

from collections.abc import Collection

from stream_anon.judging.prohibitions import never_came
from stream_anon.judging.refusing import OF_RUN, refusal
from stream_anon.microdata.release import Release
from stream_anon.service.events import Listener, WindowWithheld


class FirstWindow:
    """Checks windows until every expected attribute has come once; at first none is expected.

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
        """Allow no publication before each of these attributes has had a value."""
        self._expected = frozenset(attributes)

    def judge(self, release: Release) -> None:
        """Return if nothing speaks against the publication of a window.

        A window without a released record shows nobody a null. Its values count, and the next window is checked
        too.

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
            if not self._withheld:  # the next window may be closed before the run has ended
                self._tell(WindowWithheld(records, tuple(sorted(absent))))
            self._withheld = True
            found = [never_came(name, f"{records:,} records of the first window") for name in sorted(absent)]
            raise refusal(found, "this window must not be published, and the run ends", OF_RUN)
        self._expected = frozenset(absent)
