"""Sink and ledger above a model of Apache Kafka that speaks bytes, on a loop whose time jumps, under a seed.

`storm` is one run. `worker` holds the real clients, takeover and closing steps, `network` delays their frames and
cuts their connections as `weather` draws, `model` is the cluster, and `loop` the time. `verdict` judges what a
reader of committed records sees afterwards. `fences` takes away what keeps windows whole, for runs that must find
the damage.

`scripts` are conversations, held by `conversation`, that the model and Apache Kafka must have alike.

One run again: `python -m tests.simulation.wire SEED`.
"""
