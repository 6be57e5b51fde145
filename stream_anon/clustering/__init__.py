"""How local classes form: partitioners behind one protocol."""
