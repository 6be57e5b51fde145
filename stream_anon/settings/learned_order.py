"""The file of a learned order: names of attributes in a row and a hash of their domains, no value and no count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream_anon.errors import InputError, SettingsError
from stream_anon.formats.tables.small_texts import read_text
from stream_anon.microdata.choices.engine_choice import LearnedOrder

FORMAT = 1


def order_text(order: LearnedOrder) -> str:
    """Return an order as the text of a file."""
    document = {"stream_anon_order": FORMAT, "attributes": order.attributes, "order": list(order.owners)}
    return json.dumps(document, indent=2) + "\n"


def read_order(path: Path) -> LearnedOrder:
    """Return the order of a file.

    Raises
    ------
    SettingsError
        If it cannot be read or is no order; the message names the file, nothing of its content.
    """
    try:
        document: Any = json.loads(read_text(path, piped=False))
    except InputError as error:
        raise SettingsError("engine.order", str(error)) from None
    except (ValueError, RecursionError):
        raise SettingsError("engine.order", f"{path}: is not JSON") from None
    valid = (
        isinstance(document, dict)
        and document.get("stream_anon_order") == FORMAT
        and isinstance(document.get("attributes"), str)
        and isinstance(document.get("order"), list)
        and all(isinstance(name, str) for name in document["order"])
    )
    if not valid:
        raise SettingsError("engine.order", f"{path}: is no order that `stream-anon learn` wrote")
    return LearnedOrder(document["attributes"], tuple(document["order"]))
