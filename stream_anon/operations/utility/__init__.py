"""What a release is still good for, beside what it was made of."""
