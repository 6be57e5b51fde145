"""`stream-anon attack`: attacks on one's own release. No value is printed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import typer
from rich.console import Console

from stream_anon.adapters.clock import SystemClock
from stream_anon.cli.printing import print_figures, print_remarks
from stream_anon.errors import SettingsError
from stream_anon.microdata.policy import Policy
from stream_anon.operations.attack.attack_report import HEADINGS, AttackReport
from stream_anon.operations.attack.attacked_records import AttackedRecords, read_attacked
from stream_anon.operations.attack.attacking import AttackRequest, attack
from stream_anon.operations.attack.halves import released_half
from stream_anon.operations.attack.released_topics import read_topics
from stream_anon.operations.released_windows import certified_windows
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import Released, read_released
from stream_anon.settings.policy_file import load_policy


@dataclass(frozen=True, slots=True)
class AttackedRelease:
    """What is attacked: half of the original records, released in memory, a file, or a topic.

    Parameters
    ----------
    original
        The original records; None for those of the input topics, of which the output topic is attacked.
    released, control, certificates
        A file that was released of them, original records of people who are not in it, and its certificates, which
        tell its windows. Of the second, records of people who are among the original ones are left out.
    by_arrival
        Whether the half is released in windows as it comes, not as one table.
    """

    original: str | None
    released: Path | None = None
    control: str | None = None
    certificates: Path | None = None
    by_arrival: bool = False

    def __post_init__(self) -> None:
        if self.original is None:
            self._refuse_for_topics()
        elif (self.released is None) is not (self.control is None):
            option, other = ("--control", "--released") if self.control is None else ("--released", "--control")
            raise SettingsError(
                option, f"is needed with {other}: attacks are compared with people who are not released"
            )
        if self.control == self.original:
            raise SettingsError("--control", "must be records of other people than --original")
        if self.certificates is not None and self.released is None:
            raise SettingsError("--certificates", "are of a file that --released names")
        if self.by_arrival and self.released is not None:
            raise SettingsError("--by-arrival", "is for a trial; windows of --released are told by --certificates")

    def _refuse_for_topics(self) -> None:
        if self.control is None:
            raise SettingsError("--control", "is needed for topics: records of people who are not there")
        for option, given in (
            ("--released", self.released),
            ("--certificates", self.certificates),
            ("--by-arrival", self.by_arrival),
        ):
            if given:
                raise SettingsError(option, "needs --original; without it topics are attacked")

    def read(self, policy: Policy, config: Path, seed: int) -> tuple[AttackedRecords, AttackedRecords, Released]:
        """Return the records of people who are in the release and of others, and the release."""
        if self.control is None:
            source = SampleSource(self.original, config)
            records = read_attacked(policy, source)
            return released_half(records, np.random.default_rng(seed), by_arrival=self.by_arrival)
        if self.original is None or self.released is None:
            inside, released = read_topics(policy, config)
        else:
            inside = read_attacked(policy, SampleSource(self.original, config))
            windows = None if self.certificates is None else certified_windows(self.certificates, policy)
            released = read_released(policy, self.released, windows=windows)
            if policy.counterfeits is None:
                inside.table.suppressed_in(released)  # raises where it cannot be a release of these records
                if windows is not None:
                    windows.require_records(inside.source, inside.batch.offsets)
        outside = read_attacked(policy, SampleSource(self.control, config)).without_people_of(inside)
        if released.windows is not None:
            spread = released.windows.stretched(outside.batch.offsets)
            outside = replace(outside, batch=replace(outside.batch, offsets=spread))
        return inside, outside, released

    @property
    def in_words(self) -> str:
        """Return how a trial is released."""
        how = "in windows by arrival" if self.by_arrival else "as one table"
        return f"half of the people, released {how}, in memory"


def attack_release(config: Path, attacked: AttackedRelease, asked: AttackRequest, *, as_json: bool) -> int:
    """Print how often attacks on a release succeed; return 1 if a risk is above what is asked, else 0.

    Raises
    ------
    SettingsError, InputError
        If policy, options or files are wrong (exit code 2).
    """
    policy = load_policy(config, {"engine": {"order": None}})
    tables = attacked.read(policy, config, asked.seed)
    report = attack(*tables, asked, SystemClock())
    if as_json:
        typer.echo(json.dumps(report.document(), indent=2, ensure_ascii=False))
    else:
        _show(report, attacked)
    return 1 if report.too_high else 0


def _show(report: AttackReport, attacked: AttackedRelease) -> None:
    console = Console(highlight=False, markup=False)
    what = report.source if attacked.control else attacked.in_words
    sizes = f"{report.released:,} records of {report.people:,} people; {report.controls:,} people as control"
    if report.loss is not None:
        sizes += f"; information loss {report.loss:.4f}"
    console.print(f"attacked: {what}: {sizes}")
    print_figures(console, HEADINGS, report.rows())
    print_remarks(console, report.remarks())
