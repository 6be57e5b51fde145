"""Days, hours and minutes: how moments are written, and on which cell of a calendar each one falls."""
