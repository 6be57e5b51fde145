"""Unite the classes of a window: publish several of them alike."""
