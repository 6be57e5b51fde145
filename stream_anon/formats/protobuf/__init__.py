"""Protobuf: bodies of one message to JSON texts, releases to bodies."""
