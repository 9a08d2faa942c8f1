"""Providers against doubles of their services, the local models, and a language model behind an endpoint."""
