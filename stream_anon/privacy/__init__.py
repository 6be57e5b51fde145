"""What is safe and what it costs: pure functions on columns."""
