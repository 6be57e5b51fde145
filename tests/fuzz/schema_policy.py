"""The policy by which records with schemas are read, and the codec that has learned one schema."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.formats.registry.framing import Framing
from stream_anon.microdata.attributes import Identifier, Insensitive, ScalarType, Sensitive, Unknown
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.ports import Codec
from tests.support.hostile import flat, grid

MOST = 8_000
NUMBER = 1
"""The id of the schema."""
NAMES = ("id", "age", "city", "day", "result", "amounts", "note", "amount", "flag")
"""Of the declared fields; `where.zip` is one more."""


@cache
def policy() -> Policy:
    """Return a policy that takes nearly everything, so that most records are rows."""

    def quasi(name: str, domain: object) -> QuasiIdentifier:
        return QuasiIdentifier(name, domain, unknown=Unknown.ROOT)  # type: ignore[arg-type]

    attributes = (
        Identifier("id"),
        quasi("age", grid("0", "99", "1", 0)),
        quasi("city", flat("RED", "GREEN", "ZERO", "MUCH")),
        quasi("day", DateDomain("%Y-%m-%d", dt.date(1970, 1, 1), dt.date(1970, 3, 31))),
        quasi("where.zip", PrefixDomain(3, "0123456789", 3)),
        Sensitive("result"),
        Sensitive("amounts", ScalarType.NUMBER, many=True),
        Insensitive("note"),
        Insensitive("amount", ScalarType.NUMBER),
        Insensitive("flag", ScalarType.BOOLEAN),
    )
    return Policy(attributes, k=2, individual="id", diversity={"result": Diversity(2)})


def is_long(value: bytes | None) -> bool:
    """Return whether the text of a value may have more than `MOST` bytes; control characters grow sixfold."""
    return 8 * len(value or b"") > MOST


def codec_with(form: str, schema: str, named: Sequence[bytes] = (b"",)) -> Codec:
    """Return a codec of a registry's format that has learned a schema from a file and asks nobody.

    Parameters
    ----------
    named
        What names the messages that it learns, as it stands behind the schema's id.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "schema"
        file.write_text(schema)
        access = RegistryAccess("http://127.0.0.1:1", Framing.CONFLUENT, {str(NUMBER): file})
        codec = topic_codec(policy(), MOST, RecordFormats(form, "json", access))
        asyncio.run(codec.learn([[b"\0" + NUMBER.to_bytes(4, "big") + name for name in named]]))
    return codec
