"""Fuzzers of every wire format that is parsed here: what a stranger sends must not stop a call, or a process.

A wire is a module `wire_NAME.py` beside this one with a `WIRE`: it makes inputs (`mutate` helps), feeds each to the
real parser, and raises only for a finding. `run` does the rest: it feeds them in processes of its own, and reports
what escaped, what froze, and what grew, each with the input that did it.

    python -m tests.wires --inputs 100000
    python -m tests.wires --wire deepgram --only SEED/17     # one input, shown and fed here
"""
