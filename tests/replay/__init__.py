"""Journals: kept, read, replayed."""
