"""What an operator does once: check, propose, learn, audit, forget, realign."""
