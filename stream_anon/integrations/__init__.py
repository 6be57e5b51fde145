"""Engines that users have, as hosts of this one: Spark and Bytewax. docs/integrations.md says what holds."""
