"""`stream-anon pause`, `resume` and `drain`: order something of the service that runs on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import typer

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.http.ordering import give, has_ended
from stream_anon.settings.loading import load_settings

LOOK_EVERY = 0.2


def order(config: Path, name: str) -> int:
    """Give an order and print the answer; return 0.

    Raises
    ------
    SettingsError, Refused, BrokerError
        See `ordering.give`.
    """
    http = load_settings(config).http
    typer.echo(give(http.admin_host, http.admin_port, name))
    return 0


def drain(config: Path, within: float, sleep: Callable[[float], None] = time.sleep) -> int:
    """Order a drain and wait for the service's end; return 1 if it still runs after so many seconds."""
    http, clock = load_settings(config).http, SystemClock()
    order(config, "drain")
    end = clock.monotonic() + within
    while not has_ended(http.admin_host, http.admin_port):
        if clock.monotonic() >= end:
            typer.echo(f"it still runs after {within:g} s", err=True)
            return 1
        sleep(LOOK_EVERY)
    typer.echo("drained")
    return 0
