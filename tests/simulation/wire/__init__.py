"""Sink and ledger above a model of Apache Kafka that speaks bytes, on a loop whose time jumps, under a seed.

In the order in which bytes pass: `worker` holds the real clients, `network` delays their frames and cuts their
connections as `weather` draws, `broker` reads and answers frames. What a cluster remembers is in `transactions`,
`groups` and `partition`. `storm` is one run, and `verdict` judges what a reader of committed records sees after it.
`scripts` are conversations that the model and Apache Kafka must have alike.

One run again: `python -m tests.simulation.wire SEED`.
"""
