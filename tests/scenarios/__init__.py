"""Simulation: callers who decide by what they hear, what is found in their calls, the same call by the same seed."""
