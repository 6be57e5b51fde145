"""What is checked before a worker starts: conditions that forbid a run, and what a sample shows."""
