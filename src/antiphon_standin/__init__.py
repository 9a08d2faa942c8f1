"""The embedded stand-in for a language model: a deterministic dialogue engine behind the `LLM` interface.

    words -> numbers, moments, contacts, people -> understand     what was said, as typed values
    slots                                                         what each tool takes, in which form
    situation -> typed, closed, freetext -> fill; choose          values into slots; which tool they speak for
    memory, redo -> known -> aim, pursue, courtesies              the state of the call, and what it lacks
    results, speak -> turns, reply -> replay -> llm               the words, and the next step

It is for demos, tests and machines without a model. It says plainly that it is not a language model.
"""

from antiphon_standin.llm import NOTICE, StandInLLM

LLM = StandInLLM
"""What providers call their language model."""

__all__ = ["LLM", "NOTICE", "StandInLLM"]
