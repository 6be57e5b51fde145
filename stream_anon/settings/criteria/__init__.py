"""Settings of criteria."""
