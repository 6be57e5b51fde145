"""`stream-anon schema`: print a schema of what a policy releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer
import yaml

from stream_anon.cli.app import SchemaKind
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.avro import avro_schema
from stream_anon.microdata.schemas.data_contract import data_contract
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.microdata.schemas.protobuf import protobuf_schema
from stream_anon.microdata.schemas.sql import sql_table
from stream_anon.settings.policy_file import load_policy


def _json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


_WRITERS: Mapping[SchemaKind, Callable[[Policy], str]] = {
    SchemaKind.JSON_SCHEMA: lambda policy: _json(released_schema(policy)),
    SchemaKind.AVRO: lambda policy: _json(avro_schema(policy)),
    SchemaKind.PROTOBUF: protobuf_schema,
    SchemaKind.SQL: sql_table,
    SchemaKind.ODCS: lambda policy: yaml.safe_dump(
        data_contract(policy), sort_keys=False, allow_unicode=True, width=116
    ),
}


def schema(policy: Path, kind: SchemaKind = SchemaKind.JSON_SCHEMA) -> int:
    """Print the schema of released records; return 0."""
    typer.echo(_WRITERS[kind](load_policy(policy)), nl=False)
    return 0
