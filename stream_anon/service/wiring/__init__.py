"""The composition root: makes a running service of settings. Nothing else knows which parts there are."""
