"""The scanner: a batch's plain records as columns, without the interpreter lock."""
