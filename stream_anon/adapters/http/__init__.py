"""Health, metrics and status over HTTP: read only, bounded, and never repeating a request."""
