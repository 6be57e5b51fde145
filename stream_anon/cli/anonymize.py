"""`stream-anon anonymize`: a file in, a k-anonymous file out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stream_anon.adapters.files.formats import size_of
from stream_anon.errors import InputError
from stream_anon.runtime.file_job import FileJob, Report
from stream_anon.runtime.findings import MANY_MISSING
from stream_anon.runtime.policy_file import load_policy


def anonymize(
    policy: Path,
    source: str,
    target: str,
    overrides: Mapping[str, Mapping[str, Any]],
    certificates: Path | None,
    report: Path | None,
) -> int:
    """Anonymize a file, show progress on a terminal, say in a line what happened; return the exit code.

    The code is 1 if the gate had to suppress a class: the output is safe, and there is a bug.
    """
    loaded = load_policy(policy, {section: dict(values) for section, values in overrides.items()})
    job = FileJob(loaded, source, target, certificates)
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("anonymizing", total=_size(source))
        result = job.run(lambda read: bar.update(task, completed=read))
    if report is not None:
        _save(report, result)
    console.print(_summary(result), highlight=False, soft_wrap=True)
    return 1 if result.gate_violations else 0


def _size(source: str) -> int | None:
    try:
        return size_of(source)
    except OSError as error:
        raise InputError(f"{source}: cannot be opened ({error.strerror})") from None


def _save(path: Path, report: Report) -> None:
    try:
        path.write_text(json.dumps(report.as_json(), indent=2) + "\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def _summary(report: Report) -> str:
    lost = "-" if report.gcp is None else f"{report.gcp:.4f}"
    reasons = ", ".join(f"{reason} {count}" for reason, count in report.rejected.most_common())
    text = (
        f"{report.records_in} records in, {report.released} released in {report.classes} classes, "
        f"{sum(report.suppressed.values())} suppressed, {report.rejected.total()} rejected"
        f"{f' ({reasons})' if reasons else ''}; "
        f"smallest class {report.achieved_k or '-'} people, information loss {lost}"
    )
    absent = [f"{name} {share:.1%}" for name, share in report.missing_shares.items() if share > MANY_MISSING]
    if absent:
        text += f"; without a value: {', '.join(absent)}"
    if report.gate_violations:
        text += f"; the gate suppressed {report.gate_violations} classes: please report this"
    return text
