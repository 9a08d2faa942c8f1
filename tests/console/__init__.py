"""The page: its server under attack, and its views in a browser."""
