"""Models and services behind the contracts, one module or package each."""
