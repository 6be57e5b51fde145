"""Count a policy's population under what would be published."""
