"""Requests that aiokafka does not send."""
