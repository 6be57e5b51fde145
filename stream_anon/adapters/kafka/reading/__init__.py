"""Readers of topics: the worker's source, and readers without a group."""
