"""Wrappers that give a provider what it lacks: streaming over whole utterances, a spare for a failed one."""
