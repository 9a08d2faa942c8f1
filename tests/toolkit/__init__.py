"""Our own tools: background work, ending a call, fillers, questions."""
