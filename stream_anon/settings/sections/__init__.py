"""The sections of a settings file: a model for each, with what it means."""
