"""What a released record looks like: its shape, its members, and how typed ones are written."""
