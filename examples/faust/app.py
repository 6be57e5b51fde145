"""A Faust app with the service between two of its topics, and an agent that counts what comes out.

    pip install '.[faust]'
    python examples/faust/app.py worker -l info

Topics and policy are those of examples/clinic; create the topics first. Send visits with
`python examples/producer.py`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import faust

from stream_anon.hosts.faust import anonymizing_agent

POLICY = Path(__file__).resolve().parents[1] / "clinic" / "policy.yaml"

# The id is `kafka.group` of the policy, the broker its `kafka.bootstrap_servers`.
app = faust.App("clinic-anonymizer", broker="kafka://127.0.0.1:9092", value_serializer="json", web_enabled=False)

# clinic.visits in; clinic.visits.anonymous, its certificates, dead letters and ledger out.
anonymizing_agent(app, POLICY)

anonymous = app.topic("clinic.visits.anonymous")
seen: Counter[str] = Counter()


@app.agent(anonymous)
async def count(visits: faust.Stream[dict[str, dict[str, str]]]) -> None:
    """Count visits by department, as far as it was published."""
    async for visit in visits:
        seen[visit["visit"]["department"]] += 1


@app.timer(10.0)
async def show() -> None:
    """Print the counts."""
    print(dict(seen))


if __name__ == "__main__":
    app.main()
