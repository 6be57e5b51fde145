"""The SQL table of typed records."""

from __future__ import annotations

from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.output_fields import Field, fields_of

TABLE = "released_records"
_TYPES = {
    "string": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE PRECISION",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "local-timestamp": "TIMESTAMP",
}


def sql_table(policy: Policy) -> str:
    """Return the statement that creates a table of released records.

    Flat records without sets of categories need nothing but standard types. Lists are `VARCHAR[]`, which DuckDB and
    PostgreSQL know, and objects `STRUCT`, which DuckDB knows.

    Raises
    ------
    SettingsError
        If records are natural.
    """
    columns = [
        f"  {_quoted(field.name)} {_type(field)}{'' if field.nullable else ' NOT NULL'}"
        for field in fields_of(policy)
    ]
    head = "-- Records released by stream-anon.\n"
    return head + f"CREATE TABLE {TABLE} (\n" + ",\n".join(columns) + "\n);\n"


def _type(field: Field) -> str:
    if field.fields:
        return f"STRUCT({', '.join(f'{_quoted(one.name)} {_type(one)}' for one in field.fields)})"
    return _TYPES[field.type] + "[]" * field.many


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
