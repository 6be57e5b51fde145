"""`stream-anon topics`: which topics a service needs, which of them exist, and creating the others."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from stream_anon.adapters.kafka.topics.descriptions import Described
from stream_anon.adapters.kafka.topics.plans import TopicPlan, counted
from stream_anon.cli.printing import console_of, ruled_table
from stream_anon.operations.check import topic_setup
from stream_anon.operations.check.topic_setup import TopicSetup

WIDTH = 110


def topics(config: Path, *, create: bool, inputs: bool, commands: bool, partitions: int | None) -> int:
    """Show the topics of a service; return 0 if all are as they should be, and those created as asked, else 1.

    Parameters
    ----------
    create
        Create those that are missing; the input only if `inputs`.
    commands
        Print the commands that would do it instead, the ledger's too.
    """
    setup = topic_setup.look(config, partitions)
    if commands:
        for plan in setup.plans:
            if plan.missing:
                typer.echo(plan.command(setup.tools))
        return 0
    console = console_of(WIDTH)
    if not create:
        return show(setup, console)
    wanted = setup.to_create(inputs=inputs)
    made = topic_setup.create(config, wanted)
    as_asked = True
    for plan in wanted:
        deviations = plan.deviations(made[plan.name])
        as_asked = as_asked and not deviations
        for text in [f"{plan.name}: {text}" for text in deviations] or [_created(plan, made[plan.name])]:
            console.print(Text(text))
    shown = show(topic_setup.look(config, partitions), console)
    return shown if as_asked else 1


def _created(plan: TopicPlan, made: Described | str) -> str:
    seen = isinstance(made, Described) and made.settings
    unseen = "" if seen else "; this user may not see its settings (DESCRIBE_CONFIGS)"
    return f"created {plan.name}: {_size(plan.partitions, plan.replicas)}, as asked{unseen}"


def show(setup: TopicSetup, console: Console) -> int:
    """Print the topics; return the exit code."""
    table = ruled_table()
    for name in ("topic", "purpose", "is", "should be"):
        table.add_column(name, overflow="fold")
    for plan in setup.plans:
        table.add_row(*map(Text, (plan.name, plan.purpose, _state(plan), _needs(plan))))
    console.print(table)
    console.print("For its operator to decide:")
    for purpose, advice in dict.fromkeys((plan.purpose, plan.advice) for plan in setup.plans):
        console.print(Text(f"  {purpose}: {advice}"))
    wrong = [plan for plan in setup.plans if _wrong(plan)]
    for plan in wrong:
        for text in _wrong(plan):
            console.print(Text(f"  {plan.name}: {text}"))
        for command in plan.mending(setup.tools):
            console.print(Text(f"    {command}"), soft_wrap=True)
    if setup.few_brokers:
        console.print("  fewer than 3 brokers: `check` wants 3 replicas, or kafka.development: true")
    missing = [plan for plan in setup.plans if plan.missing and not plan.made_by_run]
    if any(plan.purpose != "input" for plan in missing):
        console.print("--create creates what is missing, --print prints the commands that do.")
    if any(plan.purpose == "input" for plan in missing):
        console.print("The input is created only with --create --input: its producers should know how.")
    return 1 if wrong or missing or setup.few_brokers else 0


def _wrong(plan: TopicPlan) -> list[str]:
    if isinstance(plan.found, str):
        return [] if plan.missing else [plan.found]
    return plan.differences()


def _state(plan: TopicPlan) -> str:
    if isinstance(plan.found, Described):
        return _size(plan.found.partitions, plan.found.replicas)
    return plan.found


def _needs(plan: TopicPlan) -> str:
    """Return what a topic should be like; what brokers choose by themselves is left to `--print`."""
    in_sync = plan.settings.get("min.insync.replicas")
    more = [f"{in_sync} in sync"] if in_sync else []
    return ", ".join([_size(plan.partitions, plan.replicas), *more, plan.settings["cleanup.policy"]])


def _size(partitions: int, replicas: int) -> str:
    return f"{counted(partitions)}, {replicas} replica{'s' * (replicas != 1)}"
