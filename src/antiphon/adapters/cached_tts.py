"""`CachedTTS`: what was said before is said again from memory.

Above: sessions. Below: a voice, and optionally a directory. `shelf` keeps the speech; here is decided what is taken
from it and what goes onto it.

Theory of operation. A voice that takes whole sentences is asked for one only if it is not on the shelf, and once for
all who want it at the same time. A voice that takes text as it is written is trickier: what will be said is not known
yet. Its text is held back only for as long as it may still become something that is on the shelf, which as a rule
ends with the first word; what is on the shelf is said from there, and the rest is the voice's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from antiphon.adapters.shelf import Key, Shelf, Speech
from antiphon.errors import as_exception, pass_on
from antiphon.streams import closing
from antiphon.text import SentenceSplitter, words
from antiphon.tts import TTS, SynthesizedAudio
from antiphon.vault import is_secret

_logger = logging.getLogger("antiphon.tts")

MEBIBYTE = 2**20

_MANNER = ("model", "voice", "language", "speed", "emotion", "instructions")
"""What our providers' voices call the settings that change how they sound."""
_AT_ONCE = 2
"""Texts that are prepared at the same time."""


class CachedTTS(TTS):
    """A voice that keeps what it has said: greetings, questions and fillers begin without delay and cost nothing.

    Texts are the same if they are equal but for white space around them; speech is kept by text, rate, label and
    settings of the voice, so that changed settings are heard. Only speech that was synthesized to its end is kept.
    Equal texts wanted at the same time are synthesized once. Safe to share between calls, which is what makes it
    worth while: make one for the process.

    Args:
        tts: The voice. It is closed with this one.
        max_bytes: What is kept, in memory and in the directory each: beyond it, what was not said for longest goes.
            A minute at 24 kHz is 2.9 MB.
        directory: Keeps speech for later runs. Made if it is not there; may be shared by several processes. Files
            that cannot be read are ignored, and written anew.
        key: Tells this voice from others of the same label and settings that use the same directory.
        texts: What `prewarm` prepares.
    """

    def __init__(
        self,
        tts: TTS,
        *,
        max_bytes: int = 64 * MEBIBYTE,
        directory: str | Path | None = None,
        key: str = "",
        texts: Sequence[str] = (),
    ) -> None:
        self.sample_rate = tts.sample_rate
        self.streaming = tts.streaming
        self._tts = tts
        self._extra = key
        self._texts = list(texts)
        self._shelf = Shelf(max_bytes, None if directory is None else Path(directory).expanduser())
        self._makings: dict[Key, _Making] = {}
        self._saving: set[asyncio.Task[None]] = set()

    @property
    def label(self) -> str:
        return self._tts.label

    def update_options(self, **options: Any) -> None:
        """Have the voice speak differently, as far as it can. What it said before is kept apart."""
        self._tts.update_options(**options)

    # -- ahead of time

    async def prewarm(self, texts: Sequence[str] = ()) -> None:
        """Load the voice and what the directory holds; prepare `texts` and those given to the constructor.

        A text that cannot be prepared is logged: the call may go on without. Raises what the voice's own does.
        """
        await self._tts.prewarm()
        try:
            await self.prepare([*self._texts, *texts])
        except BaseException as error:
            pass_on(error)
            _logger.exception("%s: not everything was prepared", self.label)

    async def prepare(self, texts: Sequence[str]) -> None:
        """Synthesize what is not kept yet, so that it can be said at once later.

        Raises what the voice raises, once everything was tried.
        """
        await self._shelf.open()
        pieces = texts if self.streaming else [sentence for text in texts for sentence in _sentences(text)]
        slots = asyncio.Semaphore(_AT_ONCE)

        async def make(text: str) -> None:
            async with slots, aclosing(self._said(text)) as sound:
                async for _ in sound:
                    pass

        made = await asyncio.gather(*(make(piece) for piece in dict.fromkeys(pieces)), return_exceptions=True)
        for result in made:
            if isinstance(result, BaseException):
                raise result

    # -- the voice

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        await self._shelf.open()
        async with aclosing(self._said(text)) as sound:
            async for audio in sound:
                yield audio

    async def stream(self, text: AsyncIterable[str]) -> AsyncIterator[SynthesizedAudio]:
        await self._shelf.open()
        sounds = self._streamed(text) if self.streaming else super().stream(text)
        async with closing(sounds) as sound:
            async for audio in sound:
                yield audio

    async def aclose(self) -> None:
        for making in list(self._makings.values()):
            await making.aclose()
        if self._saving:
            await asyncio.wait(self._saving)
        await self._tts.aclose()

    # -- whole texts

    async def _said(self, text: str) -> AsyncGenerator[SynthesizedAudio, None]:
        key = self._key(text)
        speech = self._shelf.get(key)
        if speech is not None:
            self._save(self._shelf.touch(key))
            for audio in _spaced(speech, text):
                yield audio
            return
        making = self._makings.get(key)
        if making is None:
            making = self._makings[key] = _Making(self._tts, text, lambda making: self._made(key, making))
        async with aclosing(making.listen()) as sound:
            async for audio in sound:
                yield audio

    def _made(self, key: Key, making: _Making) -> None:
        """A synthesis is over, or given up: nobody may join it any more."""
        if self._makings.get(key) is making:
            del self._makings[key]
            if making.speech is not None:
                self._keep(key, making.speech)

    def _keep(self, key: Key, speech: Speech) -> None:
        if not is_secret(key.text) and self._shelf.put(key, speech):
            self._save(self._shelf.save(key, speech))

    def _save(self, work: Coroutine[Any, Any, None] | None) -> None:
        """Have the directory brought up to date, while the caller listens."""
        if work is not None:
            task = asyncio.create_task(work, name="cached speech: a file")
            self._saving.add(task)
            task.add_done_callback(self._saving.discard)

    def _key(self, text: str) -> Key:
        manner = {name: getattr(self._tts, name) for name in _MANNER if getattr(self._tts, name, None) is not None}
        voice = " ".join([self._extra, *(f"{name}={value!r}" for name, value in manner.items())]).strip()
        return Key(label=self.label, voice=voice, sample_rate=self.sample_rate, text=text.strip())

    # -- text as it is written

    async def _streamed(self, text: AsyncIterable[str]) -> AsyncGenerator[SynthesizedAudio, None]:
        script = _Script(text)
        while (known := await self._known(script)) is not None:
            async with aclosing(self._said(known)) as sound:
                async for audio in sound:
                    yield audio
        if script.ended and not script.pending.strip():
            return
        key = None
        pieces: list[SynthesizedAudio] = []
        async with aclosing(script.rest()) as rest, closing(self._tts.stream(rest)) as sound:
            async for audio in sound:
                key = key or self._key("")  # the settings that it was begun with
                pieces.append(audio)
                yield audio
        if key is not None and script.ended:
            self._keep(replace(key, text=script.given.strip()), Speech(pieces))

    async def _known(self, script: _Script) -> str | None:
        """What is on the shelf of the text that comes next, taken off the script; None: nothing."""
        manner = self._key("")
        while True:
            text = script.pending.lstrip()
            longer = [known for known in self._shelf.texts(manner) if known.startswith(text)] if text else []
            if text and len(longer) == 1 and longer[0] == text and _is_whole(text):
                return script.take(len(script.pending))
            if (text and not longer) or not await script.more():
                break
        return self._beginning(script, manner)

    def _beginning(self, script: _Script, manner: Key) -> str | None:
        text = script.pending.lstrip()
        skipped = len(script.pending) - len(text)
        for known in sorted(self._shelf.texts(manner), key=len, reverse=True):
            rest = text[len(known) :]
            if not known or not text.startswith(known):
                continue
            if script.ended and not rest.strip():
                return script.take(len(script.pending))
            if _is_whole(known) and rest[:1].isspace():
                return script.take(skipped + len(known))
        return None


def _sentences(text: str) -> list[str]:
    splitter = SentenceSplitter()
    return [*splitter.push(text), *splitter.flush()]


def _is_whole(text: str) -> bool:
    """True if a voice would say it the same whatever follows."""
    return text.rstrip()[-1:] in (".", "!", "?", "…")


def _spaced(speech: Speech, text: str) -> list[SynthesizedAudio]:
    """The speech with the white space that this text has around it."""
    stretches = [index for index, audio in enumerate(speech.pieces) if audio.text]
    if not stretches:
        return list(speech.pieces)
    pieces = list(speech.pieces)
    first, last = stretches[0], stretches[-1]
    bare = text.strip()
    before, after = text[: text.index(bare)], text[text.index(bare) + len(bare) :]
    pieces[first] = replace(pieces[first], text=before + pieces[first].text.lstrip())
    pieces[last] = replace(pieces[last], text=pieces[last].text.rstrip() + after)
    return pieces


class _Script:
    """A text on its way: what has come of it and was not said yet."""

    def __init__(self, text: AsyncIterable[str]) -> None:
        self._source = aiter(text)
        self.pending = ""
        self.given = ""
        """What the voice was given."""
        self.ended = False

    async def more(self) -> bool:
        """Wait for the next piece. False: there is none."""
        try:
            self.pending += await anext(self._source)
        except StopAsyncIteration:
            self.ended = True
        return not self.ended

    def take(self, length: int) -> str:
        """The next `length` characters, which are said now."""
        taken, self.pending = self.pending[:length], self.pending[length:]
        return taken

    async def rest(self) -> AsyncGenerator[str, None]:
        """Everything from here on, for the voice."""
        while self.pending or await self.more():
            piece = self.take(len(self.pending))
            self.given += piece
            if piece:
                yield piece


class _Making:
    """One synthesis that any number of listeners hear from its beginning. It is given up when none is left."""

    def __init__(self, tts: TTS, text: str, on_over: Callable[[_Making], None]) -> None:
        self.speech: Speech | None = None
        """All of it, once it is complete."""
        self._pieces: list[SynthesizedAudio] = []
        self._listeners = 0
        self._news = asyncio.Event()
        self._on_over = on_over
        self._task = asyncio.create_task(self._make(tts, text), name="cached speech: a synthesis")

    async def _make(self, tts: TTS, text: str) -> None:
        try:
            async with closing(tts.synthesize(text)) as sound:
                async for audio in sound:
                    self._pieces.append(audio)
                    self._tell()
            if self._pieces or not words(text):
                self.speech = Speech(self._pieces)
        except BaseException as error:
            pass_on(error)
            raise as_exception(error) from error  # a task that raises anything else may end the process
        finally:
            self._on_over(self)
            self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def listen(self) -> AsyncGenerator[SynthesizedAudio, None]:
        """The sound from its beginning. Raises what the voice raises."""
        self._listeners += 1
        try:
            heard = 0
            while True:
                while heard < len(self._pieces):
                    heard += 1
                    yield self._pieces[heard - 1]
                if self._task.done():
                    break
                await self._news.wait()
            if not self._task.cancelled():
                self._task.result()
        finally:
            self._listeners -= 1
            if not self._listeners:
                await self.aclose()

    async def aclose(self) -> None:
        """Give it up, unless it is done."""
        self._on_over(self)
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # whoever listened to the end was told
