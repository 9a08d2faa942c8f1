"""Sounds under a call."""
