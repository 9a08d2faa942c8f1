"""The situations of a conversation: each has one right outcome, and a figure taken from the sound of the call."""
