"""What it costs to publish a node, as tables for kernels: what engines minimise."""
