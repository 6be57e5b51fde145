"""Take over the partitions that the group gave."""
