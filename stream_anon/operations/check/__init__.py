"""Look before a run."""
