"""ORDER: a learned line along which neighbours are alike."""
