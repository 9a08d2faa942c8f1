"""The Python of the seed documents runs as printed.

The documents lie beside the checkout and are read when the tests run. Nothing else in the project may read them.
"""
