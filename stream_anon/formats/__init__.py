"""Bytes to columns, and columns to bytes: a room for each format."""
