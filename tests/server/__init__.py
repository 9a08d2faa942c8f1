"""Agent files, entrypoints, and who is let in."""
