"""What the core promises: named checks, each with a state of its own.

Above: `watch.py`, which gives them what goes in and comes out. Below: `trace.py`, where they look things up.
"""
