"""The studio: calls in a browser, those that go on and those that have ended."""
