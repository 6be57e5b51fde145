"""Connections to Kafka, and what all clients share."""
