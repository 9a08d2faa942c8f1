"""Text on its way to a voice, and back: sentences, words, what can be spoken, and what of it was heard.

A model writes in small pieces. `SpeechText` takes markup and emoji out of them, `SentenceSplitter` gathers what is
left into sentences, and a voice speaks those. Both are incremental and pure: what comes out depends on the whole text
alone, never on where it was cut into pieces.

`alignment` holds text against the samples that sounded, `spoken` what people say against what is written. Above:
voices, recognisers, tasks and the session. Below: the vocabulary.
"""

from __future__ import annotations

from antiphon.text.markdown import SpeechText, is_sayable, speakable
from antiphon.text.sentences import SentenceSplitter
from antiphon.text.words import join, word_spans, words

__all__ = ["SentenceSplitter", "SpeechText", "is_sayable", "join", "speakable", "word_spans", "words"]
