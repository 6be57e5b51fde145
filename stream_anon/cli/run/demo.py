"""`stream-anon demo`: one look at what the service does."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

import stream_anon
from stream_anon.adapters.embedded_broker import EmbeddedBroker
from stream_anon.cli.interruption import INTERRUPTED, interruptible
from stream_anon.cli.printing import console_of
from stream_anon.cli.run.demo_report import WIDTH, show_headline, show_outcome
from stream_anon.demo.clinic import visits
from stream_anon.demo.made_up_events import MOST_EVENTS, csv_events
from stream_anon.demo.session import DemoOutcome, DemoProgress, Phase, demo_settings, run_session
from stream_anon.errors import InputError
from stream_anon.microdata.policy import Policy
from stream_anon.settings.loading import load_settings
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import build_policy

_LINE_EVERY = 8  # reports between two lines where there is no terminal: 2 s

Tell = Callable[[DemoProgress], None]


def demo(csv: Path | None, policy: Path | None, events: int, k: int | None) -> int:
    """Stream events through the service on an embedded broker; return 0, 1 if the audit fails, 130 if interrupted.

    Parameters
    ----------
    csv
        A file with a header; made-up clinic visits without one.
    policy
        What its columns are; the clinic's without one.
    events
        How many at the most.
    k
        Instead of the policy's.

    Raises
    ------
    SettingsError, InputError
        If the policy is wrong or the file cannot be read.
    BrokerError
        If the embedded broker fails.
    """
    if csv is not None and policy is None:
        raise InputError("demo: --csv needs a --config that says what its columns are")
    console = console_of(WIDTH)
    with interruptible():
        path = policy or example("clinic") / "policy.yaml"
        # The section on Kafka is settled before the policy is built: what the file says of it does not count here.
        settings = demo_settings(load_settings(path), "127.0.0.1:1", k)  # nothing is dialled yet
        built = build_policy(settings, path)
        values = _events(csv, built, min(events, MOST_EVENTS))
        source = csv.name if csv is not None else "made-up clinic visits"
        show_headline(console, source, len(values), built)
        try:
            with EmbeddedBroker() as broker:
                running = demo_settings(settings, broker.address, k)
                outcome = _run(console, running, built, values)
        except (KeyboardInterrupt, asyncio.CancelledError):
            console.print("interrupted: the service and its broker are stopped")
            return INTERRUPTED
    show_outcome(console, built, outcome)
    return 0 if outcome.sound else 1


def example(name: str) -> Path:
    """Return the folder of an example: inside the installed package, or beside it in a checkout.

    Raises
    ------
    InputError
        If it is in neither place.
    """
    package = Path(stream_anon.__file__).resolve().parent
    for folder in (package / "_examples" / name, package.parent / "examples" / name):
        if folder.is_dir():
            return folder
    raise InputError(f"demo: the example {name} is not installed; give --csv and --config")


def _events(csv: Path | None, policy: Policy, most: int) -> Sequence[bytes]:
    if csv is not None:
        return csv_events(csv, policy, most)
    return list(visits(most))


# -- running -----------------------------------------------------------------------------------------------------


def _run(console: Console, settings: Settings, policy: Policy, events: Sequence[bytes]) -> DemoOutcome:
    with _telling(console, len(events)) as tell:
        return asyncio.run(_cancelled_by_signals(settings, policy, events, tell))


async def _cancelled_by_signals(
    settings: Settings, policy: Policy, events: Sequence[bytes], tell: Tell
) -> DemoOutcome:
    task = asyncio.current_task()
    if task is not None:
        # SIGINT is asyncio's own; the service is stopped before the loop ends.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await run_session(settings, policy, events, tell)


@contextlib.contextmanager
def _telling(console: Console, total: int) -> Iterator[Tell]:
    """Show progress: a bar on a terminal, a line now and then elsewhere."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (BarColumn(30), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        sent = bar.add_task("", total=total)
        done = bar.add_task("", total=total)

        def tell(progress: DemoProgress) -> None:
            bar.update(sent, completed=progress.sent, description=f"produced ({progress.phase})")
            detail = f"anonymized ({progress.windows} windows, {progress.waiting:,} events wait in the open one)"
            bar.update(done, completed=progress.done, description=detail)

        yield tell


def _lines(console: Console) -> Tell:
    phase: Phase | None = None
    count = 0

    def tell(progress: DemoProgress) -> None:
        nonlocal phase, count
        changed = progress.phase is not phase
        phase, count = progress.phase, 0 if changed else count + 1
        if changed and progress.phase is not Phase.STREAMING:
            console.print(f"  {progress.phase} ...")
        elif progress.phase is Phase.STREAMING and (changed or count % _LINE_EVERY == 0):
            console.print(
                f"  {progress.phase}: {progress.sent:,} of {progress.total:,} events produced, "
                f"{progress.released:,} released in {progress.windows} windows, {progress.waiting:,} waiting"
            )

    return tell
