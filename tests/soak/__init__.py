"""A soak: many calls in one process, and nothing of them may stay.

    python -m tests.soak --simulated 2000 --real 1300

`simulated` makes calls in virtual time, `real` holds calls over sockets with a page server in a process of its own.
Each looks ten times at what the process has (`level`), between calls, and says in the end whether it stayed flat.
"""
