"""The rules, by what they look at. Each is a pure function: an agent, and what was asked for, to what it finds."""
