"""`antiphon doctor --live`: whether models keep the promises of our contracts, and what it cost to ask.

The contract suites are run on the real services, with the user's own keys.

Above: `main`. Below: `antiphon.testing`, and the models, each behind a counter.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass

from antiphon import llm, stt, tts
from antiphon.audio import AudioFrame
from antiphon.calls.models import VENDORS, named_model
from antiphon.cli.doctor import Check
from antiphon.errors import AntiphonError, UsageError
from antiphon.model import Model
from antiphon.protocols import ModelKind
from antiphon.providers.endpoints import servers_here
from antiphon.testing import check_llm, check_stt, check_tts
from antiphon.vad import VADEvent
from antiphon.visible import one_line

LIMIT = 60.0
"""Seconds for each step of a suite."""


async def try_models(named: Mapping[ModelKind, str]) -> list[Check]:
    """Ask these models, or all that can be used: vendors whose key is set, and servers of this machine.

    Raises `UsageError` where there is none.
    """
    wanted = list(named.items()) or [*_with_keys(), *await _with_servers()]
    if not wanted:
        raise UsageError("doctor --live: no key is set, and no server of models runs here. Name one, as with --llm.")
    return [await try_model(kind, name, named_model(kind, name)) for kind, name in wanted]


async def try_model(kind: ModelKind, name: str, model: Model) -> Check:
    """Run the suite of its kind on a model."""
    spent = Spent()
    began = time.monotonic()
    try:
        match model:
            case llm.LLM():
                await check_llm(lambda: CountedLLM(model, spent), timeout=LIMIT)
            case stt.STT():
                said = await _utterance()
                await check_stt(lambda: CountedSTT(model, spent), audio=said, timeout=LIMIT)
            case tts.TTS():
                await check_tts(lambda: CountedTTS(model, spent), timeout=LIMIT)
        found, ok = "keeps its promises", True
    except (AssertionError, AntiphonError) as error:
        found, ok = one_line(str(error)) or type(error).__name__, False
    except Exception as error:  # of a provider that lets those of its service through
        found, ok = one_line(f"expected a ProviderError, got {type(error).__name__}: {error}"), False
    told = f"{found.rstrip('.')}; {spent.told()}, {time.monotonic() - began:.1f} s"
    return Check(f"live {kind} {name}", ok, told, "" if ok else "Mend what it names, or choose another model")


def _with_keys() -> list[tuple[ModelKind, str]]:
    everything: list[tuple[ModelKind, str]] = [
        (kind, vendor) for kind, vendors in VENDORS.items() for vendor in vendors
    ]
    return [(kind, vendor) for kind, vendor in everything if named_model(kind, vendor).unusable() is None]


async def _with_servers() -> list[tuple[ModelKind, str]]:
    return [("llm", f"{server.name}/{server.models[0]}") for server in await servers_here() if server.models]


async def _utterance() -> AudioFrame | None:
    """A sentence by the voice of this machine, and silence behind it; None: it has none, and a tone does."""
    from antiphon.cli.call import CALLER_RATE, spoken_turns

    try:
        (said,) = await spoken_turns(["I would like a table for two, please."])
    except (AntiphonError, ImportError):
        return None
    return AudioFrame(said.data + AudioFrame.silence(1.5, CALLER_RATE).data, CALLER_RATE)


# -- what it cost


@dataclass(slots=True)
class Spent:
    """What was asked of a model. What that costs says the vendor's list of prices."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    characters: int = 0
    """That a voice was given."""
    seconds: float = 0.0
    """Of sound that a recogniser was given."""

    def ask(self, characters: int = 0) -> None:
        """One more request."""
        self.requests += 1
        self.characters += characters

    def count(self, usage: llm.CompletionUsage | None) -> None:
        """What a response says of itself."""
        if usage is not None:
            self.prompt_tokens += usage.prompt_tokens
            self.completion_tokens += usage.completion_tokens

    def hear(self, frame: AudioFrame) -> None:
        """A recogniser was given this."""
        self.seconds += frame.duration

    def told(self) -> str:
        """For people: "cost 8 requests, 120 tokens read, 40 written"."""
        parts = [f"{self.requests} requests"]
        if self.prompt_tokens or self.completion_tokens:
            parts.append(f"{self.prompt_tokens} tokens read and {self.completion_tokens} written, as far as it counts")
        if self.characters:
            parts.append(f"{self.characters} characters spoken")
        if self.seconds:
            parts.append(f"{self.seconds:.0f} s of sound")
        return f"cost {', '.join(parts)}"


class CountedLLM(llm.LLM):
    """A language model, and what is asked of it."""

    def __init__(self, behind: llm.LLM, spent: Spent) -> None:
        self._behind, self._spent = behind, spent
        self.model, self.first_chunk_timeout = behind.model, behind.first_chunk_timeout

    async def generate(self, request: llm.ChatRequest) -> AsyncGenerator[llm.ChatChunk, None]:
        self._spent.ask()
        chunks = self._behind.generate(request)
        try:
            async for chunk in chunks:
                self._spent.count(chunk.usage)
                yield chunk
        finally:
            await chunks.aclose()

    async def prewarm(self) -> None:
        await self._behind.prewarm()

    async def aclose(self) -> None:
        await self._behind.aclose()


class CountedTTS(tts.TTS):
    """A voice, and what it is given."""

    def __init__(self, behind: tts.TTS, spent: Spent) -> None:
        self._behind, self._spent = behind, spent
        self.sample_rate = behind.sample_rate

    async def synthesize(self, text: str) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        self._spent.ask(len(text))
        async with tts.closing(self._behind.synthesize(text)) as sound:
            async for audio in sound:
                yield audio

    async def prewarm(self) -> None:
        await self._behind.prewarm()

    async def aclose(self) -> None:
        await self._behind.aclose()


class CountedSTT(stt.STT):
    """A recogniser, and what it is given."""

    def __init__(self, behind: stt.STT, spent: Spent) -> None:
        self._behind, self._spent = behind, spent

    def stream(self) -> stt.STTStream:
        self._spent.ask()
        return _CountedStream(self._behind.stream(), self._spent)

    async def prewarm(self) -> None:
        await self._behind.prewarm()

    async def aclose(self) -> None:
        await self._behind.aclose()


class _CountedStream(stt.STTStream):
    def __init__(self, behind: stt.STTStream, spent: Spent) -> None:
        self._behind, self._spent = behind, spent

    def push(self, frame: AudioFrame) -> None:
        self._spent.hear(frame)
        self._behind.push(frame)

    def mark(self, event: VADEvent) -> None:
        self._behind.mark(event)

    def flush(self) -> None:
        self._behind.flush()

    def end_input(self) -> None:
        self._behind.end_input()

    def __aiter__(self) -> AsyncIterator[stt.SpeechEvent]:
        return self._behind.__aiter__()

    async def aclose(self) -> None:
        await self._behind.aclose()
