"""The console over calls: those that go on and those that have ended, as pages."""
