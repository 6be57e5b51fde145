"""A dataflow of Bytewax that releases windows of visits, k-anonymous. Deprecated: see docs/guides/integrations.md.

    pip install '.[bytewax]'     # in a clone
    export VISITS=visits.jsonl RELEASED=released
    mkdir recovery && python -m bytewax.recovery recovery 1
    python -m bytewax.run examples/engines/bytewax_flow.py -r recovery -s 10 -b 0

Each window becomes RELEASED/key=KEY.window=NUMBER, and its certificates stand in RELEASED/_private. Kill it and
start it again: it resumes, and releases nothing twice. The folder `recovery` holds visits as they came.
"""

from __future__ import annotations

import os
from pathlib import Path

import bytewax.operators as op
from bytewax.connectors.files import FileSource
from bytewax.connectors.stdio import StdOutSink
from bytewax.dataflow import Dataflow

from stream_anon import Policy
from stream_anon.hosts.bytewax import released_windows

POLICY = Path(__file__).with_name("policy.yaml")


def dataflow(visits: str, released: str) -> Dataflow:
    """Return a dataflow from a file of JSON Lines to a folder of releases."""
    flow = Dataflow("visits")
    lines = op.input("lines", flow, FileSource(visits))
    # A file is one partition. With several, key by the partition: its records come again in the same order.
    keyed = op.map("keyed", lines, lambda line: ("file", line.encode()))
    releases = released_windows("anonymize", keyed, Policy.load(POLICY), released)
    told = op.map("told", releases, lambda pair: f"{pair[1].records}: {pair[1].released} of {pair[1].records_in}")
    op.output("out", told, StdOutSink())
    return flow


if "VISITS" in os.environ:
    flow = dataflow(os.environ["VISITS"], os.environ["RELEASED"])
