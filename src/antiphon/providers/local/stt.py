"""The local recogniser: Moonshine on the utterances that the session's voice activity detector marks.

Streaming comes from `antiphon.adapters.stream`; here are the model, which is loaded once per process and shared by all
calls, the thread it runs in, and what must be done to its text before others read it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from antiphon.adapters.stream import StreamAdapter, StreamOptions
from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.providers.local import convert
from antiphon.providers.local.moonshine import SAMPLE_RATE, Moonshine
from antiphon.providers.local.vad import SileroVAD, VADOptions
from antiphon.providers.local.weights import Weights
from antiphon.providers.local.worker import Ticket, Worker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MoonshineModel: TypeAlias = Literal["base-en", "tiny-en"]

_worker = Worker("stt")
_pauses = SileroVAD(VADOptions(threshold=0.35))
"""Notices pauses ahead of the session's detector, by the same network, so that the two agree where the voice ended."""

_TINY = "moonshine-voice==0.0.73", "moonshine_voice"
_TINY_INSTALL = "pip install moonshine-voice==0.0.73"
_TINY_WEIGHTS = tuple(
    Weights(*_TINY, f"assets/tiny-en/{name}", sha256, _TINY_INSTALL)
    for name, sha256 in (
        (f"{convert.ENCODER}.ort", "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
        (f"{convert.DECODER}.ort", "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"),
        (convert.TOKENIZER, "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
    )
)
_QUIETEST = 10 ** (-55 / 20)
"""Full scale 1. What never gets louder than this is no speech, whatever the network reads into it."""
_SHORTEST = 0.1
"""Seconds."""
_LEAD = 0.2
"""Seconds of silence put before a sound of which nothing was understood: the network falls silent over some sounds that
begin in the middle of a word, and finds its words again after a moment of silence."""
_STUTTER = re.compile(r"\b([^\W\d_]+)(?:\W+\1\b){3,}", re.IGNORECASE)
"""A word four times over: the network's invention, unless it is a digit."""
_ECHO = re.compile(r"\b((?:[^\W\d_][\w']*\W+){1,7}[^\W\d_][\w']*)(?:\W+\1\b)+", re.IGNORECASE)
"""Several words said twice over, as the network does with short turns in noise."""
_DIGITS = frozenset("zero oh o one two three four five six seven eight nine".split())


def print_progress(line: str) -> None:
    """Tell the person at the terminal, on stderr."""
    print(line, file=sys.stderr, flush=True)


class MoonshineSTT(StreamAdapter):
    """English speech to text in the process, with interim transcripts.

    `model`: "base-en" is prepared once on each machine (some 15 s, 100 MB in the user's cache folder; `on_progress` is
    told); "tiny-en" needs no preparation and half the time, but understands much less in noise or on the telephone;
    it comes in a package of its own. Raises `MissingModelFile` from `prewarm`, or from iterating the stream.
    """

    def __init__(
        self,
        *,
        model: MoonshineModel = "base-en",
        options: StreamOptions | None = None,
        on_progress: Callable[[str], None] = print_progress,
    ) -> None:
        if model not in ("base-en", "tiny-en"):
            raise UsageError(f"MoonshineSTT: expected model 'base-en' or 'tiny-en', got {model!r}")
        self.recognizer = MoonshineRecognizer(model, on_progress)
        super().__init__(self.recognizer, options, watch=_pauses.stream)

    async def prewarm(self) -> None:
        await _pauses.prewarm()
        await self.recognizer.prewarm()


class MoonshineRecognizer:
    """Text from one utterance. All recognisers of a process share the model and its thread."""

    def __init__(self, model: MoonshineModel, on_progress: Callable[[str], None]) -> None:
        self._model = model
        self._on_progress = on_progress

    async def recognize(self, audio: AudioFrame) -> str:
        """What is said in `audio`, "" if it is too short or too quiet to be speech."""

        def job(ticket: Ticket) -> str:
            samples = _at_model_rate(audio)
            if len(samples) < _SHORTEST * SAMPLE_RATE or abs(samples).max() < _QUIETEST:
                return ""
            model = _load(self._model, self._on_progress)
            text = model.transcribe(samples, ticket.check)
            return readable(text or model.transcribe(_after_silence(samples), ticket.check))

        return await _worker.run(job)

    async def prewarm(self) -> None:
        """Load the model and run it once."""

        def job(ticket: Ticket) -> None:
            import numpy as np

            _load(self._model, self._on_progress).transcribe(np.zeros(SAMPLE_RATE, np.float32), ticket.check)

        await _worker.run(job)


def readable(text: str) -> str:
    """The network's text in today's spelling, without what it only repeats.

    >>> readable("Can I come to-morrow at half-past 3 p. m.? Good-by.")
    'Can I come tomorrow at half past 3 p.m.? Goodbye.'
    >>> readable("Jack Turner, Jack turner")
    'Jack Turner'
    """
    for pattern, modern in _SPELLINGS:
        text = pattern.sub(modern, text)
    text = _STUTTER.sub(_once, text)
    text = _ECHO.sub(_once, text)
    # A comma at the end only says that the sound broke off, which it always does.
    return re.sub(r"\s+", " ", text).strip().rstrip(",")


_SPELLINGS = tuple(
    (re.compile(pattern, re.IGNORECASE if ignore_case else 0), modern)
    for pattern, modern, ignore_case in (
        (r"\b(to)-(day|night|morrow)\b", r"\1\2", True),
        (r"\b(good)-bye?\b", r"\1bye", True),
        (r"\b(half|quarter)-(past|to)\b", r"\1 \2", True),
        (r"\b([ap])(?:\. ?| )[mM]\b\.?", r"\1.m.", False),  # "I am" and "A.M." stay
        (r"(?<!\.)\.\.(?!\.)", ".", False),
        (r"[\"\u201c\u201d]|(?<!\w)['\u2018\u2019]+|['\u2019]+(?!\w)", "", False),  # nobody speaks in quotation marks
    )
)


def _once(match: re.Match[str]) -> str:
    """What is repeated, once; but digits are meant as often as they are said."""
    repeated = match.group(1)
    return match.group() if set(re.findall(r"\w+", repeated.lower())) <= _DIGITS else repeated


def _after_silence(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    return np.concatenate([np.zeros(round(_LEAD * SAMPLE_RATE), np.float32), samples])


def _at_model_rate(audio: AudioFrame) -> NDArray[np.float32]:
    samples = audio.to_float32()
    if audio.sample_rate == SAMPLE_RATE:
        return samples
    import soxr

    resampled: NDArray[np.float32] = soxr.resample(samples, audio.sample_rate, SAMPLE_RATE)
    return resampled


_models: dict[MoonshineModel, Moonshine] = {}
"""What is loaded in this process. Used in the worker's thread only."""


def _load(model: MoonshineModel, on_progress: Callable[[str], None]) -> Moonshine:
    if model not in _models:
        _models[model] = Moonshine(*_files(model, on_progress))
    return _models[model]


def _files(model: MoonshineModel, on_progress: Callable[[str], None]) -> tuple[Path, Path, Path]:
    """Encoder, decoder and tokenizer."""
    if model == "tiny-en":
        encoder, decoder, tokenizer = (weights.locate() for weights in _TINY_WEIGHTS)
        return encoder, decoder, tokenizer
    folder = convert.prepare(on_progress)
    return folder / f"{convert.ENCODER}.onnx", folder / f"{convert.DECODER}.onnx", folder / convert.TOKENIZER
