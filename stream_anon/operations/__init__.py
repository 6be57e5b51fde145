"""What an operator does once: check, propose, negotiate, learn, leakage, audit, forget, realign."""
