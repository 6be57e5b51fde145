"""Commands and their exit codes."""
