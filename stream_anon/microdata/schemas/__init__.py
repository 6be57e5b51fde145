"""Schemas of what a policy publishes, for those who read it."""
