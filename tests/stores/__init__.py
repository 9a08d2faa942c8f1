"""Stores: what they keep, for whom, and what is left of it when the power goes."""
