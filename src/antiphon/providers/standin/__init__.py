"""The embedded stand-in for a language model: a deterministic dialogue engine behind the `LLM` interface.

    words -> numbers, moments, contacts, people -> understand     what was said, as typed values
    slots                                                         what each tool takes, in which form
    fill, choose                                                  values into slots; which tool
    memory, results, speak -> plan -> replay -> llm               the state of the call, and the next step

It is for demos, tests and machines without a model. It says plainly that it is not a language model.
"""

from antiphon.providers.standin.llm import NOTICE, StandInLLM

__all__ = ["NOTICE", "StandInLLM"]
