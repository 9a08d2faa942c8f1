"""Text on its way to a voice and back: sentences, words, markup, alignment, spoken forms."""
