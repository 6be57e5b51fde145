"""What certificates of releases get beside their content."""
