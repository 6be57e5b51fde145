"""One room per outside thing; rooms do not know each other."""
