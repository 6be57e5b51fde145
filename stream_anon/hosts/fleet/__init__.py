"""Several worker processes as one service: one address, one status, one thing to start and stop."""
