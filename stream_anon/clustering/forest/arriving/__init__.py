"""What is done while a window fills, and rows that come late."""
