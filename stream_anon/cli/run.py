"""`stream-anon run`: serve between two topics until stopped."""

from __future__ import annotations

from pathlib import Path

from stream_anon.errors import StreamAnonError
from stream_anon.runtime.wiring import serve


def run(config: Path) -> int:
    """Serve until SIGTERM or SIGINT and return 0; what is wrong with the settings is raised.

    Any other error has been logged by its kind and place: its message may hold values, so it is not passed on.
    """
    try:
        serve(config)
    except StreamAnonError:
        raise
    except Exception:  # noqa: BLE001 - see above
        return 1
    return 0
