"""How much attributes reveal about people, before and after a release."""
