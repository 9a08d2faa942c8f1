"""Parts of a call break or hang that no provider stands behind: the voice detector, hooks, captions, the line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Sequence
from typing import Any

import pytest

from antiphon import Agent
from antiphon.audio import AudioFrame
from antiphon.options import ModelSettings
from antiphon.testing import Caller, FakeSpeaker, FakeVAD, run_virtual
from antiphon.vad import VAD, VADEvent, VADStream
from tests.situations.calls import calling, model, said
from tests.situations.test_stalled_models import Errors

FOR_EVER = 3600.0


class Panic(BaseException):
    """What a library in another language raises."""


class BrokenVAD(VAD):
    """Raises in its first streams: at frame `at` of each, when it ends, or when it is opened."""

    def __init__(self, error: BaseException, *, where: str = "push", broken: int = 1, at: int = 10) -> None:
        self.then = FakeVAD()
        self.streams = 0
        self.error, self.where, self.broken, self.at = error, where, broken, at

    def stream(self) -> VADStream:
        self.streams += 1
        is_broken = self.streams <= self.broken
        if is_broken and self.where == "open":
            raise self.error
        return _Stream(self, self.then.stream(), is_broken)


class _Stream(VADStream):
    def __init__(self, vad: BrokenVAD, then: VADStream, broken: bool) -> None:
        self._vad, self._then, self._broken = vad, then, broken
        self._frames = 0

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        self._frames += 1
        if self._broken and self._vad.where == "push" and self._frames >= self._vad.at:
            raise self._vad.error
        return self._then.push(frame)

    def end(self) -> Sequence[VADEvent]:
        if self._broken and self._vad.where == "end":
            raise self._vad.error
        return self._then.end()


@pytest.mark.parametrize("error", [RuntimeError("broken"), Panic("broken")])
@pytest.mark.parametrize("where", ["push", "open"])
def test_a_voice_detector_that_breaks_is_told_and_opened_anew(where: str, error: BaseException) -> None:
    async def main() -> None:
        caller, vad = Caller(), BrokenVAD(error, where=where)
        async with calling(model(["Six, tonight."]), caller=caller, vad=vad) as call:
            errors = Errors(call)
            await call.start(Agent())
            await asyncio.sleep(3.0)
            assert [found for _, found in errors] == [error]
            await caller.says("find me a table for six")
            await call.settled()
            assert said(call.session) == ["find me a table for six", "Six, tonight."]
            assert vad.streams == 2

    run_virtual(main())


def test_a_voice_detector_that_breaks_while_the_caller_speaks_loses_no_turn() -> None:
    async def main() -> None:
        caller, vad = Caller(), BrokenVAD(RuntimeError("broken"), at=80)
        async with calling(model(["Six, tonight.", "Yes."]), caller=caller, vad=vad) as call:
            await call.start(Agent())
            await asyncio.sleep(1.0)
            await caller.says("find me a table for six please tonight")
            await call.settled(quiet=2.0)
            assert said(call.session)[-1:] == ["Six, tonight."]

    run_virtual(main())


def test_a_voice_detector_that_stays_broken_is_told_less_and_less_often() -> None:
    async def main() -> None:
        caller, vad = Caller(), BrokenVAD(RuntimeError("broken"), broken=10_000, at=1)
        async with calling(model([]), caller=caller, vad=vad) as call:
            errors = Errors(call)
            await call.start(Agent())
            await asyncio.sleep(600.0)
            assert 3 <= len(errors) <= 20

    run_virtual(main())


def test_a_voice_detector_that_breaks_at_the_end_of_the_sound_ends_nothing_else() -> None:
    async def main() -> None:
        caller, error = Caller(), Panic("broken")
        async with calling(model(["Six, tonight."]), caller=caller, vad=BrokenVAD(error, where="end")) as call:
            errors = Errors(call)
            await call.start(Agent())
            await caller.says("find me a table for six")
            caller.microphone.end()
            await call.settled()
            assert [found for _, found in errors] == [error]
            assert said(call.session) == ["find me a table for six", "Six, tonight."]

    run_virtual(main())


# -- hooks


class Hanging(Agent):
    """One of its hooks never returns."""

    def __init__(self, which: str) -> None:
        super().__init__(instructions="Help.")
        self.which = which
        self.ended: list[str] = []

    async def _hook(self, name: str) -> None:
        if self.which == name:
            try:
                await asyncio.sleep(FOR_EVER)
            finally:
                self.ended.append(name)

    async def on_enter(self) -> None:
        await self._hook("on_enter")

    async def on_exit(self) -> None:
        await self._hook("on_exit")

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        await self._hook("on_user_turn_completed")


@pytest.mark.parametrize("which", ["on_enter", "on_user_turn_completed"])
def test_a_hook_that_hangs_is_told_where_the_turn_waits_for_it_and_the_turn_goes_on(which: str) -> None:
    async def main() -> None:
        caller = Caller()
        async with calling(model(["Six, tonight.", "More."]), caller=caller) as call:
            errors = Errors(call)
            await call.start(Hanging(which))
            asked = await caller.says("find me a table for six")
            await call.settled(quiet=6.0)
            assert said(call.session)[-2:] == ["find me a table for six", "Six, tonight."]
            told = [str(error) for _, error in errors]
            begins = call.timeline.agent_begins(asked.end)
            assert begins is not None
            if which == "on_enter":  # which may talk for as long as it likes
                assert not told and begins < asked.end + 1.0
            else:
                assert len(told) == 1 and which in told[0]
                assert begins < asked.end + 7.0

    run_virtual(main())


def test_an_on_exit_that_hangs_does_not_keep_the_next_agent() -> None:
    async def main() -> None:
        caller = Caller()
        agent = Hanging("on_exit")
        async with calling(model(["Six, tonight."]), caller=caller) as call:
            errors = Errors(call)
            await call.start(agent)
            call.session.update_agent(Agent(instructions="Next."))
            await asyncio.sleep(6.0)
            assert "on_exit" in str(errors[0][1])
            await caller.says("find me a table for six")
            await call.settled()
            assert said(call.session)[-1] == "Six, tonight."

    run_virtual(main())


# -- captions


class Captioned(Agent):
    """Its captions hang, or raise."""

    def __init__(self, error: BaseException | None) -> None:
        super().__init__(instructions="Help.")
        self.error = error

    async def transcription_node(self, text: AsyncIterable[str], model_settings: ModelSettings) -> Any:
        async for piece in text:
            if self.error is not None:
                raise self.error
            await asyncio.sleep(FOR_EVER)
            yield piece


@pytest.mark.parametrize("error", [None, RuntimeError("no captions"), Panic("no captions")])
def test_captions_that_break_or_hang_are_told_and_show_nothing_that_they_may_be_there_to_hide(
    error: BaseException | None,
) -> None:
    async def main() -> None:
        caller, shown = Caller(), list[Any]()
        async with calling(model(["Six, tonight.", "Yes."]), caller=caller) as call:
            errors = Errors(call)
            call.session.on("agent_output_transcribed", shown.append)
            await call.start(Captioned(error))
            await caller.says("find me a table for six")
            await call.settled(quiet=10.0)
            await caller.says("and a chair")
            await call.settled(quiet=10.0)
            assert said(call.session)[-1] == "Yes."
            assert len(errors) == 2
            assert [event.transcript for event in shown if event.is_final] == ["", ""]

    run_virtual(main())


# -- the line


class StuckSpeaker(FakeSpeaker):
    """A loudspeaker that never says how far it is, or that raises."""

    broken = ""

    def _break(self, what: str) -> None:
        if self.broken == what:
            raise RuntimeError(what)

    @property
    def played(self) -> float:
        return min(super().played, 0.3) if self.broken == "played" else super().played

    def write(self, frame: AudioFrame) -> None:
        self._break("write")
        super().write(frame)

    def clear(self) -> float:
        self._break("clear")
        return super().clear()

    def pause(self) -> None:
        self._break("pause")
        super().pause()


@pytest.mark.parametrize("what", ["played", "write", "clear"])
def test_a_line_that_acknowledges_nothing_is_told_and_ends(what: str) -> None:
    async def main() -> None:
        caller = Caller()
        async with calling(model(lambda _: "Six, tonight, and a rather long answer."), caller=caller) as call:
            errors = Errors(call)
            call.line.speaker = speaker = StuckSpeaker(sample_rate=call.speaker.sample_rate)
            await call.start(Agent())
            speaker.broken = what
            await caller.says("find me a table for six")
            await asyncio.sleep(1.0)
            if call.session.is_running:
                caller.says("wait no for seven please")
                await asyncio.sleep(60.0)
            speaker.broken = ""
            assert errors
            assert what == "clear" or not call.session.is_running

    run_virtual(main())
