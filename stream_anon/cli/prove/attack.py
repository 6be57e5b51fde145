"""`stream-anon attack`: attacks on one's own release. No value is printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import typer
from rich.console import Console

from stream_anon.adapters.clock import SystemClock
from stream_anon.cli.figures import print_figures, print_remarks
from stream_anon.errors import SettingsError
from stream_anon.operations.attack.attack_report import HEADINGS, AttackReport
from stream_anon.operations.attack.attacking import AttackRequest, attack
from stream_anon.operations.attack.halves import released_half
from stream_anon.operations.samples import SampleSource
from stream_anon.operations.studied_records import read_released, read_table
from stream_anon.settings.policy_file import load_policy


def attack_release(
    config: Path, original: str, released: Path | None, control: str | None, asked: AttackRequest, *, as_json: bool
) -> int:
    """Print how often attacks on a release succeed; return 1 if a risk is above what is asked, else 0.

    Raises
    ------
    SettingsError, InputError
        If policy, options or files are wrong (exit code 2).
    """
    if (released is None) is not (control is None):
        option, other = ("--control", "--released") if control is None else ("--released", "--control")
        raise SettingsError(
            option, f"is needed with {other}: attacks are compared with people who are not released"
        )
    policy = load_policy(config, {"engine": {"order": None}})
    source = SampleSource(original, config)
    if released is None or control is None:
        tables = released_half(policy, source, np.random.default_rng(asked.seed))
    else:
        inside, outside = (read_table(policy, one) for one in (source, SampleSource(control, config)))
        tables = inside, outside, read_released(policy, released)
    report = attack(*tables, asked, SystemClock())
    if as_json:
        typer.echo(json.dumps(report.document(), indent=2, ensure_ascii=False))
    else:
        _show(report, half=released is None)
    return 1 if report.too_high else 0


def _show(report: AttackReport, *, half: bool) -> None:
    console = Console(highlight=False, markup=False)
    what = "half of the people, released as one table in memory" if half else report.source
    sizes = f"{report.released:,} records of {report.people:,} people; {report.controls:,} people as control"
    console.print(f"attacked: {what}: {sizes}")
    print_figures(console, HEADINGS, report.rows())
    print_remarks(console, report.remarks())
