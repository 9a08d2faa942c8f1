"""Moonshine, an encoder-decoder speech recogniser, run directly on onnxruntime.

The encoder reads the whole waveform at once; the decoder then writes the text token by token, each step reusing the
keys and values of the steps before. The cost is proportional to the length of the sound, which makes it fit for short
utterances and for repeated runs on a growing one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.providers.local.onnx_session import onnx_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE_RATE = 16000

_START, _STOP = 1, 2
_TOKENS_PER_SECOND = 6.5
"""More than people can say. The decoder sometimes goes on without end; this cap ends it."""
_SPARE_TOKENS = 6
_MAX_REPEATS = 3
"""The same few tokens this many times over are a loop, not speech."""


class Moonshine:
    """The network and its tokens. Not safe for use by two threads at once."""

    def __init__(self, encoder: Path, decoder: Path, tokenizer: Path, *, threads: int = 2) -> None:
        import numpy as np

        self._encoder = onnx_session(encoder, threads=threads)
        self._decoder = onnx_session(decoder, threads=threads)
        self._tokens = read_tokens(tokenizer.read_bytes())
        self._foreign = np.flatnonzero([not is_latin(token) for token in self._tokens])
        self._encoder_inputs = [value.name for value in self._encoder.get_inputs()]
        self._decoder_inputs = [value.name for value in self._decoder.get_inputs()]
        self._empty_memory: dict[str, NDArray[np.float32]] = {
            value.name: np.zeros((0, value.shape[1], 1, value.shape[3]), np.float32)
            for value in self._decoder.get_inputs()
            if value.name.startswith("past_key_values")
        }

    def transcribe(self, samples: NDArray[np.float32], check: Callable[[], None] = lambda: None) -> str:
        """The text of `samples` (mono, 16 kHz, in [-1, 1]; a tenth of a second at least).

        `check` is called between the steps and may raise to give the run up.
        """
        tokens = self._decode(samples[None], int(len(samples) / SAMPLE_RATE * _TOKENS_PER_SECOND), check)
        text = b"".join(self._tokens[token] for token in tokens).decode("utf-8", "ignore")
        return text.replace("\u2581", " ").strip()

    def _decode(self, waveform: NDArray[np.float32], limit: int, check: Callable[[], None]) -> list[int]:
        import numpy as np

        extra: dict[str, Any] = {}
        if "attention_mask" in self._encoder_inputs:
            extra["attention_mask"] = np.ones_like(waveform, np.int64)
        encoded = self._encoder.run(None, {self._encoder_inputs[0]: waveform, **extra})[0]
        fixed: dict[str, Any] = {"encoder_hidden_states": encoded}
        if "encoder_attention_mask" in self._decoder_inputs:
            fixed["encoder_attention_mask"] = extra["attention_mask"]
        memory: dict[str, Any] = dict(self._empty_memory)
        tokens: list[int] = []
        for step in range(limit + _SPARE_TOKENS):
            check()
            logits, *present = self._decoder.run(
                None,
                {
                    "input_ids": np.array([[tokens[-1] if tokens else _START]], np.int64),
                    "use_cache_branch": np.array([step > 0]),
                    **fixed,
                    **memory,
                },
            )
            scores = logits[0, -1]
            scores[self._foreign] = -np.inf
            token = int(scores.argmax())
            if token == _STOP:
                break
            tokens.append(token)
            if loops(tokens):
                return []
            # After the first step the encoder's keys and values stay as they are; only the decoder's grow.
            memory.update(
                (name, value) for name, value in zip(memory, present, strict=True) if step == 0 or ".decoder." in name
            )
        return tokens


def loops(tokens: list[int]) -> bool:
    """True if the text ends in three to eight tokens said several times over."""
    return any(
        len(tokens) >= size * (_MAX_REPEATS + 1)
        and all(
            tokens[-size:] == tokens[-size * (turn + 1) : -size * turn or None] for turn in range(1, _MAX_REPEATS + 1)
        )
        for size in range(3, 9)
    )


def is_latin(token: bytes) -> bool:
    """True for tokens of English text and for control tokens.

    The network knows other scripts too, and falls into one now and then when the sound breaks off.
    """
    text = token.decode("utf-8", "replace").replace("\u2581", " ")
    return all(char < "\u0250" or "\u2010" <= char <= "\u2030" or char in "\u20ac" for char in text)


def read_tokens(data: bytes) -> list[bytes]:
    """The tokens, in order: each is its length (one byte, or two from 128 on) and its bytes."""
    tokens: list[bytes] = []
    at = 0
    while at < len(data):
        length = data[at]
        at += 1
        if length >= 128:
            length = data[at] * 128 + length - 128
            at += 1
        tokens.append(data[at : at + length])
        at += length
    return tokens
