"""CSV and JSON Lines files, policy and hierarchy files."""
