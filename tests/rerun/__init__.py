"""Recorded calls made again."""
