"""REFINE and SPLIT: neighbouring classes give each other rows, and large ones are cut in two."""
