"""The composition root: settings in, a running service out. Nothing else knows which parts there are."""
