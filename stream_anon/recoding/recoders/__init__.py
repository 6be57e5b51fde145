"""The classic methods that recode a whole table at once, one file each."""
