"""What lint finds in agent files, and what it leaves alone."""
