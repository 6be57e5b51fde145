"""Requests of transactions that are held, lost or repeated on their way to a real broker.

`python -m tests.support.late_requests all` plays every schedule of `schedules.py`:

- `frames`: Kafka's frames, as they pass by.
- `line`: a broker's port behind which frames can be held back; `script`: which frame, and when it arrives.
- `cluster`: one to three brokers behind such lines; `playing`: a service on them, and what became of each record.
- `unguarded`: the service without its guard, for the control run.
"""
