"""Models that hear and speak."""
