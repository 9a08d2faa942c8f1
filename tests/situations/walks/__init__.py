"""The command line of the random walks (`antiphon.sim`): `python -m tests.situations.walks --help`."""
