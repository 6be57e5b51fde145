"""Which member of the group reads which partitions."""
