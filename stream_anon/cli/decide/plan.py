"""`stream-anon plan`: what k, l, the window and the engine cost in delay, suppression and loss."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.text import Text

from stream_anon.cli.compiling import saying_when_compiling
from stream_anon.cli.printing import console_of, ruled_table
from stream_anon.cli.progress_bars import counting
from stream_anon.errors import SettingsError
from stream_anon.extras import require
from stream_anon.formats.tables.new_files import write_whole
from stream_anon.microdata.policy import Policy
from stream_anon.operations.plan.arrivals import Load, arrivals_of
from stream_anon.operations.plan.planning import FEW_WINDOWS, Plan, PlanChoices, PlanLimits, plan, warm_engines
from stream_anon.operations.plan.plot import plan_plot
from stream_anon.operations.plan.trial import Setting, diversity_with
from stream_anon.operations.samples import SampleSource
from stream_anon.rounding import exactly, in_percent, rounded
from stream_anon.settings.model import EngineSettings
from stream_anon.settings.policy_file import load_policy
from stream_anon.settings.section import Duration

WIDTH = 100
ENGINES: tuple[str, ...] = get_args(EngineSettings.model_fields["name"].annotation)
_DURATION: TypeAdapter[float] = TypeAdapter(Duration)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class PlanOutput:
    """Where the plan goes beside the table: as JSON, and as a picture."""

    document: Path | None = None
    picture: Path | None = None


def choices_of(k: str, l: str, engine: str, max_records: str, max_delay: str) -> PlanChoices:  # noqa: E741
    """Return what to try, of lists such as `5,10,20`; SettingsError names the option that cannot be read."""
    return PlanChoices(
        _listed("--k", k, _whole(2)),
        _listed("--l", l, _whole(1)),
        _listed("--engine", engine, _engine),
        _listed("--records", max_records, _whole(2)),
        _listed("--window-delay", max_delay, lambda text: seconds_of("--window-delay", text)),
    )


def limits_of(delay: str | None, suppressed: str | None, loss: str | None) -> PlanLimits:
    """Return what is asked of a setting; SettingsError names the option that cannot be read."""
    return PlanLimits(
        None if delay is None else seconds_of("--max-delay", delay),
        None if suppressed is None else _share("--max-suppressed", suppressed),
        None if loss is None else _share("--max-loss", loss),
    )


def seconds_of(option: str, text: str) -> float:
    """Return the seconds that `500ms`, `30s` or `2m` stands for."""
    try:
        found = _DURATION.validate_python(text)
    except ValidationError:
        raise SettingsError(option, "must be a duration such as 500ms, 30s or 2m") from None
    if found <= 0:
        raise SettingsError(option, "must be above 0")
    return found


def show_plan(
    policy_file: Path,
    source: SampleSource,
    load: Load,
    choices: PlanChoices,
    limits: PlanLimits,
    seed: int,
    told: PlanOutput,
) -> int:
    """Print what the settings cost; return the exit code, 1 if limits are given and no setting meets them.

    Parameters
    ----------
    load
        How much comes.

    Raises
    ------
    SettingsError, InputError
        If policy, options or files are wrong (exit code 2).
    BrokerError
        If no broker answers (exit code 3).
    """
    if told.picture is not None:
        require("--svg", "matplotlib")  # before the settings are tried, which takes a while
    policy = load_policy(policy_file)
    console = Console(stderr=True, highlight=False, markup=False)
    with saying_when_compiling():
        reading = _reading(policy, choices)
        arrivals = arrivals_of(reading, source.read(reading), load)
        warm_engines(policy, choices, seed)
    with counting("trying settings", len(choices.settings(policy)), console) as progress:
        found = plan(policy, arrivals, choices, limits, seed, progress)
    if told.document is not None:
        _write(told.document, json.dumps(found.document(), indent=2).encode() + b"\n", console)
    if told.picture is not None:
        _write(told.picture, plan_plot(found), console)
    show(found, console_of(WIDTH, bounded=False))
    return 0 if found.met else 1


def _reading(policy: Policy, choices: PlanChoices) -> Policy:
    """Return the policy under which the sample is read: with the criteria and the largest window of them all."""
    diversity = diversity_with(policy, max(choices.l, default=1)) | dict(policy.diversity)
    most = max(setting.max_records for setting in choices.settings(policy))
    window = replace(policy.window, max_records=max(most, policy.window.max_records))
    return replace(policy, diversity=diversity, window=window)


def _write(path: Path, content: bytes, console: Console) -> None:
    write_whole(path, content)
    console.print(f"stream-anon: wrote {path}", soft_wrap=True)


def show(found: Plan, console: Console) -> None:
    """Print a plan: the sample, a row for each setting, and the answers."""
    arrivals = found.arrivals
    times = "by the broker's timestamps" if arrivals.timed else "evenly spaced"
    console.print(Text(f"{arrivals.records:,} records at {arrivals.rate:,.4g} a second, {times}", style="bold"))
    if arrivals.rejected:
        console.print(Text(f"{arrivals.rejected:,} of them do not fit the policy and are left out", style="yellow"))
    several_l = any(trial.setting.l is not None for trial in found.trials)
    table = ruled_table(gap=1)
    for name in ("", "k", *(["l"] if several_l else []), "engine", "records", "delay", "windows"):
        table.add_column(name, justify="left" if name in ("", "engine") else "right")
    for name in ("mean", "95 %", "longest", "suppressed", "loss"):
        table.add_column(name, justify="right")
    for place, trial in enumerate(found.trials):
        setting, figures = trial.setting, trial.figures
        mark = "*" if place in found.front else ""
        own = [mark, str(setting.k), *([str(setting.l or "-")] if several_l else []), setting.engine]
        records = "auto" if found.is_auto(setting) else f"{setting.max_records:,}"
        own += [records, f"{setting.max_delay:g} s"]
        if figures is None:
            table.add_row(*map(Text, (*own, "0", *("-",) * 5)))
            continue
        delays = (figures.mean_delay, figures.late_delay, figures.longest_delay)
        limits = found.limits
        own += [f"{figures.windows:,}", *(f"{rounded(delay, 2, limits.delay)} s" for delay in delays)]
        shares = ((figures.suppressed, limits.suppressed), (figures.loss, limits.loss))
        table.add_row(*map(Text, (*own, *(in_percent(share, 2, limit) for share, limit in shares))))
    console.print(table)
    console.print(
        Text("* on the Pareto front: nothing with this k and l is better in one figure and worse in none")
    )
    _show_remarks(found, console)
    _show_delays(found, console)
    _show_sizes(found, console)
    _show_answers(found, console)


def _show_remarks(found: Plan, console: Console) -> None:
    reasons = dict.fromkeys(trial.reason for trial in found.trials if trial.figures is None)
    for reason in reasons:
        console.print(Text(f"- {reason}", style="yellow"))
    few = sum(trial.figures is not None and trial.figures.windows < FEW_WINDOWS for trial in found.trials)
    if few:
        text = f"{few} of the settings filled fewer than {FEW_WINDOWS} windows: their figures are rough"
        console.print(Text(text, style="yellow"))


def _show_delays(found: Plan, console: Console) -> None:
    if not found.by_delay:
        return
    console.print()
    console.print(Text("By rate and delay, with window.target_loss for the second", style="bold"))
    for setting, told in found.by_delay:
        console.print(Text(f"  {setting.promise}, {setting.engine}: {told}"))


def _show_sizes(found: Plan, console: Console) -> None:
    if not found.sizes:
        return
    console.print()
    console.print(Text(f"Sizing, for records of {found.arrivals.record_bytes:,.0f} bytes", style="bold"))
    for size in found.sizes:
        workers = "1 worker" if size.workers == 1 else f"{size.workers:,} workers"
        console.print(Text(f"  windows of {size.max_records:,}: {workers} with {size.memory:,} MB"))


def _show_answers(found: Plan, console: Console) -> None:
    limits = found.limits
    if not limits.asked:
        return
    asked = [
        *([f"a delay of at most {limits.delay:g} s"] if limits.delay is not None else []),
        *([f"at most {exactly(limits.suppressed)} suppressed"] if limits.suppressed is not None else []),
        *([f"a loss of at most {exactly(limits.loss)}"] if limits.loss is not None else []),
    ]
    console.print()
    console.print(Text(f"Asked: {', '.join(asked)}", style="bold"))
    for k, l, place in found.answers:  # noqa: E741
        promise = f"k {k}" + (f", l {l}" if l is not None else "")
        if place is None:
            console.print(Text(f"  {promise}: no setting that was tried meets it", style="yellow"))
        else:
            console.print(Text(f"  {promise}: {_as_settings(found, found.trials[place].setting)}", style="green"))


def _as_settings(found: Plan, setting: Setting) -> str:
    records = "" if found.is_auto(setting) else f"max_records: {setting.max_records}, "
    window = f"{records}max_delay: {setting.max_delay:g}s"
    return f"engine: {{name: {setting.engine}}}, window: {{{window}}}"


def _listed(option: str, text: str, read: Callable[[str], _Value]) -> Sequence[_Value]:
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            found.append(read(part))
        except ValueError as error:
            raise SettingsError(option, f"must be a list such as 5,10,20: {error}") from None
    return found


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not text.isascii() or not least <= int(text[:10]) or len(text) > 9:
            raise ValueError(f"whole numbers from {least} on")
        return int(text)

    return read


def _engine(text: str) -> str:
    if text not in ENGINES:
        raise ValueError(f"engines are {', '.join(ENGINES)}")
    return text


def _share(option: str, text: str) -> float:
    number, mark, rest = text.strip().partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not mark or rest or not 0 <= share <= 1:
        raise SettingsError(option, "must be a share such as 1% or 0.5%")
    return share
