"""Envelopes: what change events, CloudEvents and Kafka Connect put around a record's JSON."""
