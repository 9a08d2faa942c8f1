"""Calls by telephone: the line, the addresses, whole calls with a carrier that is a double."""
