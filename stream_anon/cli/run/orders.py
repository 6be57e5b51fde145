"""`stream-anon pause`, `resume` and `drain`: order something of the service that runs on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field, TypeAdapter, ValidationError

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.http.answers import LONGEST_ORDER
from stream_anon.adapters.http.giving_orders import give, has_ended
from stream_anon.errors import SettingsError
from stream_anon.settings.loading import load_settings
from stream_anon.settings.sections.section import Duration

LOOK_EVERY = 0.2
_LASTING = TypeAdapter[float | None](Annotated[Duration, Field(gt=0, le=LONGEST_ORDER)] | None)


def order(config: Path, name: str, lasting: str | None = None) -> int:
    """Give an order, which ends by itself after a duration such as `30m`; print the answer, and return 0.

    Raises
    ------
    SettingsError, Refused, BrokerError
        See `ordering.give`.
    """
    http = load_settings(config).http
    typer.echo(give(http.admin_host, http.admin_port, name, _seconds(lasting)))
    return 0


def _seconds(lasting: str | None) -> float | None:
    try:
        return _LASTING.validate_python(lasting)
    except ValidationError:
        raise SettingsError("--for", "must be a duration such as 90s, 30m or 2h, and 31 days at the most") from None


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
