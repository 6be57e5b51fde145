"""Health, metrics and status over HTTP: read only, bounded, and silent about what was asked."""
