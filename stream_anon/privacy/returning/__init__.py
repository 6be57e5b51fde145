"""What is promised to people who come back."""
