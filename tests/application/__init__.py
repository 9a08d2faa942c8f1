"""Agents, sessions, events and results, as an application meets them."""
