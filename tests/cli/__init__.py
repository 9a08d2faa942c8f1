"""The command line: processes, screens, keys, calls in the terminal."""
