"""Health, metrics and status over HTTP."""
