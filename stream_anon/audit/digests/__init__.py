"""Digests of contents: which windows are compared with them, and what is kept of a window until it is complete."""
