"""Where a record stands."""

Place = tuple[str, int]
"""A topic and a partition."""
