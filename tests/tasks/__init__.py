"""The ready tasks, and spoken forms of values."""
