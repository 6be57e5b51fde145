"""`stream-anon run`: serve between two topics until stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stream_anon.conditions import Condition
from stream_anon.errors import SettingsError, StreamAnonError
from stream_anon.hosts.fleet.fleet import serve_fleet
from stream_anon.operations.starting.permission import permit_of
from stream_anon.service.shadow import Shadow
from stream_anon.service.wiring.serving import serve


def run(config: Path, workers: int = 1, accepted: Sequence[Condition] = (), shadow: Shadow | None = None) -> int:
    """Serve until SIGTERM or SIGINT and return 0; what is wrong with the settings is raised.

    Any other error has been logged by its kind and place: its message may hold values, so it is not passed on.
    """
    if shadow is not None and workers > 1:
        raise SettingsError("--shadow", "is for a single worker; leave --workers out")
    try:
        if workers == 1:
            serve(config, permit_of, accepted, shadow)
        else:
            serve_fleet(config, workers, accepted)
    except StreamAnonError:
        raise
    except Exception:  # noqa: BLE001 - see above
        return 1
    return 0
