"""Random walks over the situations: whole calls in which anything may happen at any instant.

`world` is what the caller talks to (a model and tools that keep book of what they were asked and what came of it),
`walk` is one call, `hands` type and press keys in it, `walked` is what is known of it when it is over, `checks` says
what must hold of it whatever happened. `python -m tests.situations.walks --help` walks from the command line; a walk
that fails names its seed, which repeats it to the sample.
"""
