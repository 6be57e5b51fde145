"""Close windows and publish them."""
