"""`stream-anon attack`: attacks on one's own release."""
