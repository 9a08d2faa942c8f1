"""The conversation as facts and commands; the fuzzer; recorded defects."""
