"""`stream-anon schema`: print the JSON Schema of what a policy releases."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from stream_anon.microdata.output.json_schema import released_schema
from stream_anon.settings.policy_file import load_policy


def schema(policy: Path) -> int:
    """Print the schema of released records; return 0."""
    typer.echo(json.dumps(released_schema(load_policy(policy)), indent=2, ensure_ascii=False))
    return 0
