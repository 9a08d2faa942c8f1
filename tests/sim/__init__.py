"""Callers who decide what they do, and what is found in their calls."""
