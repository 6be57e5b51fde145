"""Tables that do not fit into one window in memory: windows of neighbours along a line, by way of the disk."""
