"""What formats have in common: JSON texts of what a record means, and bytes of what is released."""
