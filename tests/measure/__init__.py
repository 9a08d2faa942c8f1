"""The measuring scripts, on recordings."""
