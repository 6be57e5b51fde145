"""Avro: bodies of one writer schema to JSON texts, releases to bodies."""
