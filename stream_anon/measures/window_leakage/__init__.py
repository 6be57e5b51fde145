"""What the quasi-identifiers of a published window leak, told so that no person can be seen in it."""
