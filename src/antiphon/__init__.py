"""Antiphon: voice agents that do things."""
