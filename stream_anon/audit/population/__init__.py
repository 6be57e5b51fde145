"""Count a policy's population again under what was published."""
