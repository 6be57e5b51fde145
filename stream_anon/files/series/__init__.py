"""Releases of one table again and again: a folder keeps who was published among which values."""
