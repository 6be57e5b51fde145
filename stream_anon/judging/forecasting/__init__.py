"""What a sample says of windows to come: their classes, and what they lose."""
