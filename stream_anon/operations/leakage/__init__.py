"""How much attributes tell of people, before and after a release."""
