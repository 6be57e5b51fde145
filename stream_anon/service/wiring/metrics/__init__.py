"""All metrics of a worker. A class here declares those of one subject, hears of events and counts them.

Names start with `stream_anon_`, units are base units, labels come from closed sets, from the settings or from the
names of input topics, and never from a record. Alerts should rest on counters: a gauge misses the windows between
two scrapes.

There are no exemplars: one would link a moment of the input to a place in the output, and this service exists to
cut that link.
"""
