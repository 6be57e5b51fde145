"""Kafka: the source, the sinks, the ledger, and the topics' state. Nothing outside this room talks to a broker.

The clients are aiokafka's. Two requests that it does not send are declared in `protocol/offset_requests.py`;
what this room uses of aiokafka's private attributes is pinned by tests.
"""
