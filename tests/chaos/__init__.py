"""Calls in which everything goes wrong: tasks that nobody here wrote, and faults at every point of them."""
