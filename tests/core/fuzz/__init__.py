"""The fuzzer of the conversation core, and the proof that it bites (`mutate.py`)."""
