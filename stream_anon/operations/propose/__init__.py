"""Propose a first policy from a sample."""
