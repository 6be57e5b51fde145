"""FOREST, LAYOUT and CUT: the line of a window and its classes."""
