"""Guesses about fields that nobody has declared yet; `runtime/propose.py` writes them down."""
