"""Read a policy's population from the file that its settings name."""
