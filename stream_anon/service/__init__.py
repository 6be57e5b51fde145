"""The worker: it reads, fills windows, closes them and publishes, and takes over what its group gives."""
