"""The `stream-anon` command; `*_commands.py` of each group holds its sub-commands with their options.

Every command takes the policy as `--config FILE`; what some of them took before still works beside it.
"""

from __future__ import annotations

import os
import sys

import typer

from stream_anon.cli.app import app
from stream_anon.errors import BrokerError, InputError, SettingsError, StreamAnonError
from stream_anon.service.threads import work_is_left

# Each adds its sub-commands, in the order in which --help shows them.
# isort: off
import stream_anon.cli.decide.decide_commands
import stream_anon.cli.decide.making_commands
import stream_anon.cli.decide.utility_command
import stream_anon.cli.run.run_commands
import stream_anon.cli.prove.prove_commands  # noqa: F401
# isort: on


def command() -> None:
    """Be the process of the command line: it ends at once if a thread still computes, such as a compiler."""
    try:
        main()
    except SystemExit as end:
        if work_is_left():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code if isinstance(end.code, int) else 0)
        raise


def main() -> None:
    """Run the command line; one message and an exit code instead of a traceback for what can go wrong."""
    try:
        app()
    except (SettingsError, InputError) as error:
        _fail(error, 2)
    except BrokerError as error:
        _fail(error, 3)
    except StreamAnonError as error:
        _fail(error, 1)
    except Exception as error:  # noqa: BLE001 - a bug; its message and its traceback may hold values
        from stream_anon.adapters.logs import describe

        _fail(f"{describe(error)}: a bug, please report it", 1)


def _fail(error: StreamAnonError | str, code: int) -> None:
    typer.echo(f"stream-anon: {error}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    command()
