"""Write a negotiated answer into a policy: an engine of fixed levels, and the criteria that were asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

from stream_anon.microdata.bounds import k_of_risk
from stream_anon.operations.policy_text import BLOCK, kept_or_anew
from stream_anon.operations.yaml_lines import in_flow
from stream_anon.settings.yaml_text import read_yaml


def negotiated_text(text: str, levels: Mapping[str, int], k: int, distinct: Mapping[str, int], place: str) -> str:
    """Return a policy's text with an answer in it.

    Comments and order stay where they can: a text that cannot be edited in place is written anew.

    Parameters
    ----------
    levels
        Level of the hierarchy by attribute.
    k
        The k that the answer holds for; a `max_risk` that asks for it stays, another one gives way.
    distinct
        Least distinct values by sensitive attribute, of those that were asked for.
    place
        The policy's file, for messages.
    """
    document = cast("dict[str, Any]", read_yaml(text, place))
    wanted = deepcopy(document)
    privacy = wanted["privacy"]
    risk = privacy.get("max_risk")
    if risk is None or k_of_risk(float(risk)) != k:
        privacy.pop("max_risk", None)
        privacy["k"] = k
    for name, least in distinct.items():
        wanted["privacy"].setdefault("sensitive", {}).setdefault(name, {})["distinct_l"] = least
    seed = {"seed": document["engine"]["seed"]} if "seed" in (document.get("engine") or {}) else {}
    wanted["engine"] = {"name": "full-domain", "levels": dict(levels), **seed}
    return kept_or_anew(_edited(text, wanted), wanted)


def _edited(text: str, wanted: Mapping[str, Any]) -> str:
    def with_k(block: re.Match[str]) -> str:
        written = r"(?<![\w.-])(?:(k: *)[0-9]+|max_risk: *[0-9][0-9.e-]*)"
        return re.sub(written, lambda old: f"{old[1] or 'k: '}{wanted['privacy']['k']}", block[0], count=1)

    if "max_risk" not in wanted["privacy"]:
        text = re.sub(BLOCK.format(key="privacy"), with_k, text, count=1)
    text = re.sub(BLOCK.format(key="engine") + r"(?:[ \t]*\n)?", "", text, count=1).rstrip("\n")
    return f"{text}\n\nengine: {in_flow(wanted['engine'])}\n"
