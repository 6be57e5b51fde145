"""Prometheus: what metrics are made of, how those of several processes are merged, and how they are written."""
