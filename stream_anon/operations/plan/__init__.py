"""Plan: what k, l, the window and the engine cost in delay, suppression and loss."""
