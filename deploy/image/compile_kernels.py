"""Compile ahead, while the image is built, what the windows of any policy call.

A kernel is compiled for the types of its arguments. These depend on the engine, on whether individuals are told
apart and on whether there are sensitive criteria; so each of these kinds is warmed up once.
"""

from itertools import product
from pathlib import Path
from typing import Any, get_args

from stream_anon.engine.warming import warm_up
from stream_anon.microdata.policy import EVERY_RECORD
from stream_anon.runtime.policy_file import build_policy
from stream_anon.runtime.settings import EngineSettings, parse_settings

ATTRIBUTES: dict[str, dict[str, Any]] = {
    "person": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 110, "levels": [5, 10, 20]}},
    "height": {"role": "quasi-identifier", "numeric": {"min": 0.5, "max": 2.5, "decimals": 2, "publish": "tight"}},
    "sex": {"role": "quasi-identifier", "values": ["female", "male", "diverse"], "publish": "values"},
    "zip": {"role": "quasi-identifier", "prefix": {"length": 5}, "weight": 0.5},
    "day": {"role": "quasi-identifier", "date": {"min": "2024-01-01", "max": "2026-12-31"}},
    "job": {"role": "quasi-identifier", "hierarchy": {"ordered": list(range(40)), "arity": 3}, "unknown": "root"},
    "diagnosis": {"role": "sensitive"},
}
RECORDS = 2_000


def engines() -> list[dict[str, Any]]:
    """Return the settings of every engine in each of its ways."""
    names = get_args(EngineSettings.model_fields["name"].annotation)
    ways: list[dict[str, Any]] = [{"name": name} for name in names]
    return [*ways, {"name": "mondrian", "relaxed": True}, {"name": "mondrian", "least_loss": True}]


def main() -> None:
    """Warm up every kind of policy; the environment says for which processor and into which folder."""
    for engine, individual, sensitive in product(engines(), ("person", EVERY_RECORD), (False, True)):
        document = {
            "privacy": {
                "k": 10,
                "individual": individual,
                "sensitive": {"diagnosis": {"distinct_l": 2}} if sensitive else {},
            },
            "window": {"max_records": RECORDS},
            "engine": engine,
            "attributes": {n: a for n, a in ATTRIBUTES.items() if individual != EVERY_RECORD or n != "person"},
        }
        warm_up(build_policy(parse_settings(document), Path("policy.yaml")))


if __name__ == "__main__":
    main()
