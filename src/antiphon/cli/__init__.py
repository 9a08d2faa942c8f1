"""The command line: `antiphon console`, `antiphon call`, `antiphon demo`."""
