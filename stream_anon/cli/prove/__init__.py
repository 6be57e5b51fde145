"""Commands that check what was released."""
