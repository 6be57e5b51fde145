"""What the status page shows."""
