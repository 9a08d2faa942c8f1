"""Does a model that hears and speaks keep the promises of `antiphon.realtime`?

Above: `antiphon.testing.contract`, which exports `check_realtime`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from antiphon.audio import AudioFrame
from antiphon.chat import ChatMessage
from antiphon.realtime import (
    AudioDelta,
    Failed,
    FunctionCallDone,
    InputCommitted,
    InputTranscribed,
    RealtimeEvent,
    RealtimeModel,
    RealtimeSession,
    RealtimeSetup,
    ResponseDone,
    ResponseStarted,
    SpeechStarted,
    SpeechStopped,
    TextDelta,
)
from antiphon.testing.audio import silence, speech
from antiphon.testing.checks import close_twice, require, within

E = TypeVar("E")


class Listener:
    """Reads a session to its end, and checks the order of what comes. Everything is waited for `timeout` seconds."""

    def __init__(self, session: RealtimeSession, timeout: float) -> None:
        self.session = session
        self.events: list[RealtimeEvent] = []
        """All that came, oldest first."""
        self._timeout = timeout
        self._came = asyncio.Event()
        self._task = asyncio.create_task(self._listen(), name="check_realtime: listening")

    async def _listen(self) -> None:
        try:
            async for event in self.session:
                self.events.append(event)
                self._came.set()
        finally:
            self._came.set()

    def of(self, kind: type[E]) -> list[E]:
        """The events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def given(self, kind: type[E], what: str = "", *, count: int = 1) -> E:
        """The first event of a kind, or the one with this number. `what` is its name in complaints."""
        return await self.until(what or kind.__name__, lambda: next(iter(self.of(kind)[count - 1 :]), None))

    async def until(self, what: str, found: Callable[[], E | None]) -> E:
        """What `found` gives, as soon as it gives something."""
        try:
            async with asyncio.timeout(self._timeout):
                while (event := found()) is None:
                    if self._task.done():
                        self._task.result()
                        raise AssertionError(f"the session ended before {what}")
                    self._came.clear()
                    await self._came.wait()
                return event
        except TimeoutError:
            raise AssertionError(f"{what} took more than {self._timeout:g} s; so far: {self.events}") from None

    async def done(self, request: str) -> ResponseDone:
        """The end of the response that was asked for by this request."""

        def ended() -> ResponseDone | None:
            for failed in self.of(Failed):
                require(failed.request != request, f"generate_reply() was refused: {failed.error}")
            started = [event.response_id for event in self.of(ResponseStarted) if event.request == request]
            return next((event for event in self.of(ResponseDone) if event.response_id in started), None)

        return await self.until("the response to generate_reply()", ended)

    async def end(self) -> None:
        """The iteration must end, without an error, once the session is closed."""
        finished, _ = await asyncio.wait({self._task}, timeout=self._timeout)
        if not finished:
            self._task.cancel()
        require(finished, "the iterator of a closed RealtimeSession did not end")
        self._task.result()

    def check(self) -> None:
        """Every response begins once, ends once, and what comes of it comes in between; responses do not overlap."""
        current: str | None = None
        seen: set[str] = set()
        for event in self.events:
            match event:
                case ResponseStarted(response_id):
                    require(current is None, f"response {response_id!r} began within {current!r}")
                    require(response_id not in seen, f"response {response_id!r} began twice")
                    current = response_id
                    seen.add(response_id)
                case ResponseDone(response_id):
                    require(current == response_id, f"response {response_id!r} ended while {current!r} went on")
                    current = None
                case TextDelta() | AudioDelta() | FunctionCallDone():
                    require(
                        event.response_id == current or event.response_id not in seen or _is_cancelled(self, event),
                        f"{type(event).__name__} of response {event.response_id!r} came while {current!r} went on",
                    )
                    require(event.response_id in seen, f"{type(event).__name__} before its response began")
                case _:
                    pass


def _is_cancelled(listener: Listener, event: Any) -> bool:
    return any(
        done.response_id == event.response_id and done.status == "cancelled" for done in listener.of(ResponseDone)
    )


async def check_realtime(
    factory: Callable[[], RealtimeModel],
    *,
    prompt: str = "Say hello.",
    audio: AudioFrame | None = None,
    timeout: float = 30.0,
) -> None:
    """A model responds when asked, in order; can be interrupted; hears turns as its capabilities say; and ends.

    `audio` is mono: an utterance, without the silence around it; without it a tone is used, which real detectors do not
    take for a voice. The model is asked for four responses at least, and for as many as it gives unasked.
    """
    model = factory()
    try:
        await within(timeout, "prewarm()", model.prewarm())
        await _check_responses(model, prompt, timeout)
        await _check_interruption(model, prompt, timeout)
        await _check_turn(model, audio or speech(0.6, 24_000), timeout)
        await _check_close(model, timeout)
    finally:
        await within(timeout, "RealtimeModel.aclose()", model.aclose())


def _setup(prompt: str) -> RealtimeSetup:
    return RealtimeSetup(instructions="Answer in one sentence.", items=[ChatMessage(role="user", content=[prompt])])


async def _check_responses(model: RealtimeModel, prompt: str, timeout: float) -> None:
    async with model.session(_setup(prompt)) as session:
        heard = Listener(session, timeout)
        requests = [session.generate_reply(), session.generate_reply(instructions="Be brief.", tool_choice="none")]
        require(requests[0] != requests[1], "generate_reply() gave the same name to two requests")
        for request in requests:
            done = await heard.done(request)
            require(done.status in ("completed", "incomplete"), f"a response ended as {done.status!r}: {done.error}")
            text = "".join(event.text for event in heard.of(TextDelta) if event.response_id == done.response_id)
            sound = [event.frame for event in heard.of(AudioDelta) if event.response_id == done.response_id]
            calls = [event for event in heard.of(FunctionCallDone) if event.response_id == done.response_id]
            require(text or calls, "a response has neither text nor calls")
            speaks = model.capabilities.audio_output
            require(bool(sound) == (speaks and bool(text)), f"audio_output={speaks}, and it gave {len(sound)} frames")
            if model.capabilities.message_truncation:
                session.truncate(done.response_id, sum(frame.duration for frame in sound) + 60.0)  # all was heard
        heard.check()
        await _close(session, heard, timeout)


async def _check_interruption(model: RealtimeModel, prompt: str, timeout: float) -> None:
    async with model.session(_setup(prompt)) as session:
        heard = Listener(session, timeout)
        session.interrupt()  # nothing goes on: nothing happens
        request = session.generate_reply()
        first = await heard.given(TextDelta, "the first piece of a response")
        session.interrupt()
        if model.capabilities.message_truncation:
            session.truncate(first.response_id, 0.0)
        done = await heard.done(request)
        require(
            done.status in ("cancelled", "completed"), f"an interrupted response ended as {done.status!r}: {done.error}"
        )
        after = await heard.done(session.generate_reply())
        require(after.status != "cancelled", "interrupt() cancelled a response that was asked for later")
        heard.check()
        await _close(session, heard, timeout)


async def _check_turn(model: RealtimeModel, audio: AudioFrame, timeout: float) -> None:
    can = model.capabilities
    async with model.session(_setup("Hello.")) as session:
        heard = Listener(session, timeout)
        for sound in (audio, silence(1.0, audio.sample_rate)):
            step = 2 * round(0.02 * sound.sample_rate)
            for at in range(0, len(sound.data), step):
                session.push_audio(AudioFrame(sound.data[at : at + step], sound.sample_rate))
                await asyncio.sleep(0)
        if not can.turn_detection:
            session.commit_audio()
        committed = await heard.given(InputCommitted)
        if can.turn_detection:
            kinds = [type(event) for event in heard.events if isinstance(event, (SpeechStarted, SpeechStopped))]
            require(kinds[:2] == [SpeechStarted, SpeechStopped], f"the voice must start and stop, got {kinds}")
            require(committed.answered is can.auto_reply, f"auto_reply={can.auto_reply}, and {committed}")
        else:
            require(not committed.answered, "it answers unasked a turn that it was told of")
        if can.user_transcription:
            await heard.until(
                "the final transcript of the turn",
                lambda: next(
                    (e for e in heard.of(InputTranscribed) if e.final and e.item_id == committed.item_id), None
                ),
            )
        if committed.answered:
            started = await heard.given(ResponseStarted, "the unasked response")
            require(started.request is None, f"an unasked response names the request {started.request!r}")
            await heard.given(ResponseDone, "its end")
        heard.check()
        await _close(session, heard, timeout)


async def _check_close(model: RealtimeModel, timeout: float) -> None:
    async with model.session(_setup("Hello.")) as session:
        heard = Listener(session, timeout)
        session.generate_reply()
        await heard.given(ResponseStarted, "the beginning of a response")
        await _close(session, heard, timeout)
    never_used = model.session(_setup("Hello."))
    await within(timeout, "RealtimeSession.aclose() of a session that was never used", never_used.aclose())


async def _close(session: RealtimeSession, heard: Listener, timeout: float) -> None:
    await close_twice("RealtimeSession", session.aclose, timeout)
    await heard.end()
    count = len(heard.events)
    session.push_audio(silence(0.1))
    session.commit_audio()
    session.interrupt()
    session.update_instructions("x")
    session.generate_reply()
    await asyncio.sleep(0)
    require(len(heard.events) == count, "a closed RealtimeSession still gave events")
