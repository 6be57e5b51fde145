"""When a window closes: arithmetic on counts and times."""
