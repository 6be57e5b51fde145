"""What a released record looks like: its shape, its members, and schemas of it for those who read it."""
