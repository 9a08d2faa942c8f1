"""`python -m tests.core.fuzz`."""

import sys

from tests.core.fuzz.fuzz import main

if __name__ == "__main__":
    sys.exit(main())
