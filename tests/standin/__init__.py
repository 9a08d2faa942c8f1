"""The dialogue engine that stands in for a language model."""
