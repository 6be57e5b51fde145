"""Where a record is."""

Place = tuple[str, int]
"""A topic and a partition."""
