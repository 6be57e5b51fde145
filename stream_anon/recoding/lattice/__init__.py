"""All ways to recode a table level by level, with what each would suppress."""
