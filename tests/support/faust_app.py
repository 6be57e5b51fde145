"""A Faust app in a process of its own, with the service between two of its topics.

python -m tests.support.faust_app run --config FILE
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import faust

from stream_anon.hosts.faust import anonymizing_agent
from stream_anon.settings.loading import load_settings


def make_app(config: Path) -> faust.App:
    """Return an app whose session is as short as the settings say, so that a dead one is missed soon."""
    kafka = load_settings(config).kafka
    assert kafka is not None
    app = faust.App(
        kafka.group,
        broker=f"kafka://{kafka.bootstrap_servers}",
        broker_session_timeout=kafka.session_timeout,
        broker_heartbeat_interval=kafka.session_timeout / 5,
        broker_rebalance_timeout=kafka.session_timeout,
        broker_commit_interval=0.5,
        datadir=str(config.with_suffix(".faust")),
        web_enabled=False,
        topic_disable_leader=True,
        processing_guarantee=os.environ.get("FAUST_GUARANTEE", "at_least_once"),
    )
    anonymizing_agent(app, config)
    return app


def main(arguments: list[str]) -> None:
    app = make_app(Path(arguments[arguments.index("--config") + 1]))
    faust.Worker(app, loglevel="WARNING").execute_from_commandline()


if __name__ == "__main__":
    main(sys.argv[1:])
