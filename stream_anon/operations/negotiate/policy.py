"""Write a negotiated answer into a policy: an engine of fixed levels, and the criteria that were asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import yaml

from stream_anon.errors import InputError
from stream_anon.settings.yaml_text import read_yaml

_BLOCK = r"(?m)^{key}:[^\n]*(?:\n(?:[ \t]+[^\n]*|[ \t]*(?=\n[ \t]+\S)))*(?:\n|\Z)"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def negotiated_text(text: str, levels: Mapping[str, int], k: int, distinct: Mapping[str, int], place: str) -> str:
    """Return a policy's text with an answer in it.

    Comments and order stay where they can: a text that cannot be edited in place is written anew.

    Parameters
    ----------
    levels
        Level of the hierarchy by attribute.
    k
        The k that the answer holds for.
    distinct
        Least distinct values by sensitive attribute, of those that were asked for.
    place
        The policy's file, for messages.
    """
    document = cast("dict[str, Any]", read_yaml(text, place))
    wanted = deepcopy(document)
    wanted["privacy"]["k"] = k
    for name, least in distinct.items():
        wanted["privacy"].setdefault("sensitive", {}).setdefault(name, {})["distinct_l"] = least
    seed = {"seed": document["engine"]["seed"]} if "seed" in (document.get("engine") or {}) else {}
    wanted["engine"] = {"name": "full-domain", "levels": dict(levels), **seed}
    edited = _edited(text, wanted)
    if _same(edited, wanted):
        return edited
    return yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True, width=110)


def check_folder(policy: Path, output: Path, document: Mapping[str, Any]) -> None:
    """Raise InputError if the policy names files beside it and would stand in another folder."""
    attributes = document.get("attributes") or {}
    named = [name for name, own in attributes.items() if isinstance((own or {}).get("hierarchy"), str)]
    if named and output.resolve().parent != policy.resolve().parent:
        raise InputError(
            f"{output}: must be in the folder of {policy}, whose hierarchy of {named[0]} is a file beside it"
        )


def _edited(text: str, wanted: Mapping[str, Any]) -> str:
    def with_k(block: re.Match[str]) -> str:
        return re.sub(r"(?<![\w.-])(k: *)[0-9]+", rf"\g<1>{wanted['privacy']['k']}", block[0], count=1)

    text = re.sub(_BLOCK.format(key="privacy"), with_k, text, count=1)
    text = re.sub(_BLOCK.format(key="engine") + r"(?:[ \t]*\n)?", "", text, count=1).rstrip("\n")
    return f"{text}\n\nengine: {_flow(wanted['engine'])}\n"


def _same(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return bool(read_yaml(text) == wanted)
    except Exception:  # noqa: BLE001 - it is written anew then
        return False


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    return _key(value) if isinstance(value, str) else str(value)


def _key(name: str) -> str:
    plain = _PLAIN.fullmatch(name) and yaml.safe_load(name) == name
    return name if plain else json.dumps(name, ensure_ascii=False)
