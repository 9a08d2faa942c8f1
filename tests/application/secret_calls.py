"""Calls with secrets, drawn by a seed, and everything that is left of each.

The caller gives a card or a PIN by text, by voice or by keys; they group digits as people do, correct themselves, ask
back and speak over the agent. What takes it is careless: it logs the value, returns it, raises it, keeps it in the
session's userdata. `artefacts` are all bytes that a call leaves: journal, report, JSON, log, page, events, recording.

    python -m tests.application.secret_calls --calls 1000 --seed 1
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import re
import sys
import tempfile
import time
import wave
from array import array
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon import Agent, AgentSession, RunContext, Secret, ToolError, function_tool
from antiphon.audio import AudioFrame
from antiphon.calls.record import CallRecord
from antiphon.calls.report import Sound, write_report
from antiphon.chat import ChatMessage
from antiphon.console.narration import Narration
from antiphon.llm import ChatRequest
from antiphon.records import Records
from antiphon.records.page import write_report as write_record_page
from antiphon.replay import JournalWriter
from antiphon.server.room import Room
from antiphon.tasks import GetCreditCardTask, GetPinTask
from antiphon.testing import Caller, CallerSTT, FakeLLM, FakeSpeaker, FakeTTS, FakeVAD, Reply, now, run_virtual
from antiphon.text.findings import is_card_number
from antiphon.text.spoken import say_digits
from antiphon.transports.recorder import StereoRecorder
from antiphon.tts import SynthesizedAudio
from tests.proofs import closing

RATE = 16_000
SAID = 7_777
"""Loudness of the agent's voice where it says digits of a secret."""
NAMES = "zero one two three four five six seven eight nine".split()


@dataclass
class Wish:
    """What one caller will do."""

    seed: int
    kind: str
    by: str
    number: str
    expiry: str
    turns: list[str] = field(default_factory=list)


def wish(seed: int) -> Wish:
    """Of this seed."""
    rng = random.Random(seed)
    kind, by = rng.choice(("card", "pin")), rng.choice(("text", "voice", "keys"))
    if kind == "pin":
        number, expiry = "".join(rng.choices("0123456789", k=6)), ""
    else:
        body = "4" + "".join(rng.choices("0123456789", k=14))
        number = next(body + last for last in "0123456789" if is_card_number(body + last))
        expiry = f"{rng.randint(1, 12):02}{rng.randint(29, 39)}"
    made = Wish(seed, kind, by, number, expiry)
    spell = _written if by == "text" and rng.random() < 0.5 else _spoken
    lead = rng.choice(("", "it is ", "sure, ", "my number is "))
    if rng.random() < 0.3:
        made.turns.append(rng.choice(("What do you need it for?", "one moment", "hold on please")))
    if rng.random() < 0.3:  # a slip of the tongue
        made.turns.append(lead + spell(number[:-1], rng))
    made.turns.append(lead + spell(number, rng) + (f" expiry {spell(expiry, rng)}" if kind == "card" else ""))
    made.turns += ["yes that is right"] * 3
    return made


def _written(digits: str, rng: random.Random) -> str:
    return rng.choice(("", " ", "-")).join(digits[at : at + 4] for at in range(0, len(digits), 4))


def _spoken(digits: str, rng: random.Random) -> str:
    words: list[str] = []
    at = 0
    while at < len(digits):
        if digits[at : at + 2] == digits[at] * 2 and rng.random() < 0.5:
            words += ["double", NAMES[int(digits[at])]]
            at += 2
        else:
            words.append(rng.choice(("oh", "zero")) if digits[at] == "0" and words else NAMES[int(digits[at])])
            at += 1
    return " ".join(words)


def answer(request: ChatRequest) -> Reply | str:
    """A model that takes what it reads: it passes on what stands for digits, and confirms what is confirmed."""
    names = {tool.id for tool in request.tools}
    last = request.chat_ctx.items[-1]
    said = (last.text_content or "") if isinstance(last, ChatMessage) and last.role == "user" else ""
    found = re.findall(r"\[digits_\d+\]", said)
    if "take" in names:
        return Reply(calls=[("take", {})]) if "pay" in said else "Thank you, goodbye."
    if "right" in said and (confirm := next((name for name in names if name.startswith("confirm_")), "")):
        return Reply(calls=[(confirm, {})])
    if found and "update_pin" in names:
        return Reply(calls=[("update_pin", {"pin": " ".join(found)})])
    if found and "update_credit_card" in names:
        before, _, after = said.partition("expiry")
        number, expiry = (re.findall(r"\[digits_\d+\]", part) for part in (before, after))
        given = {"card_number": " ".join(number), "expiry": " ".join(expiry)}
        return Reply(calls=[("update_credit_card", {name: text for name, text in given.items() if text})])
    return "I need it for the payment."


class Voice(FakeTTS):
    """Says digits at a loudness of their own."""

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        is_secret = any(name in re.findall(r"\w+", text) for name in NAMES)
        async for audio in super().synthesize(text):
            if is_secret:
                loud = array("h", [SAID]) * audio.frame.samples_per_channel
                audio = SynthesizedAudio(AudioFrame(loud.tobytes(), audio.frame.sample_rate), audio.text)
            yield audio


class Careless(Agent):
    """Takes the secret, and does with it what it should not."""

    def __init__(self, made: Wish) -> None:
        super().__init__(instructions="Take payments.")
        self.made = made
        self.got = ""

    @function_tool(effect="writes")
    async def take(self, ctx: RunContext[Any]) -> str:
        """Take the payment."""
        try:
            if self.made.kind == "card":
                found = await GetCreditCardTask()
                secret: Secret[str] = found.card_number
            else:
                secret = (await GetPinTask(6, ask_for_confirmation=True)).pin
        except ToolError as error:
            return str(error)
        self.got = value = secret.reveal()
        logging.getLogger("antiphon").warning("paid with %s", value)
        ctx.userdata["last"] = {"value": value, "secret": secret}
        if self.made.seed % 3 == 0:
            raise ValueError(f"the bank refuses {value}")
        if self.made.seed % 3 == 1:
            raise ToolError(f"The bank knows no {' '.join(value)}.")
        return f"Paid with {value}."


@dataclass
class Left:
    """What is left of a call."""

    made: Wish
    got: str
    """What the tool had of it."""
    artefacts: dict[str, bytes]
    asked: bytes
    """What the model was asked with."""
    loudness: dict[str, set[int]]
    """Of each side of the recording."""
    secret_loudness: set[int]
    """How loud the caller's secret words were."""
    voiced: int
    """How often the agent's voice said digits."""


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def hold(seed: int, folder: Path) -> Left:
    """One call."""
    made, log = wish(seed), _Log()
    logger = logging.getLogger("antiphon")
    level = logger.level
    logger.addHandler(log)
    logger.setLevel(logging.DEBUG)
    try:
        return run_virtual(_Line(made, folder, log).call())
    finally:
        logger.removeHandler(log)
        logger.setLevel(level)


class _Line:
    def __init__(self, made: Wish, folder: Path, log: _Log) -> None:
        self.made, self.folder, self.log = made, folder, log
        self.rng = random.Random(made.seed + 1)
        self.agent = Careless(made)
        self.llm = FakeLLM(answer)
        self.seen: list[str] = []
        self.caller = Caller(words_per_second=6.0)
        self.recorder = StereoRecorder(caller_rate=RATE, agent_rate=RATE)
        self.voice = Voice(sample_rate=RATE, seconds_per_character=0.03)
        self.is_voice = made.by != "text"
        audio: dict[str, Any] = {}
        if self.is_voice:
            audio = {
                "audio_input": self.caller.microphone,
                "audio_output": FakeSpeaker(sample_rate=RATE),
                "recorder": self.recorder,
            }
        self.room = Room(**audio)
        models: dict[str, Any] = {}
        if self.is_voice:
            models = {"stt": CallerSTT(self.caller), "tts": self.voice, "vad": FakeVAD()}
        store = f"sqlite:///{folder / 'calls.db'}" if made.seed % 2 else None
        self.session: AgentSession[Any] = AgentSession(llm=self.llm, store=store, **models)
        self.record = CallRecord(now)
        self.journal = JournalWriter(folder / "call.journal")
        self.records = Records(folder / "records", audio=True)
        self.records.follow(self.session, sound=self.room.sound if self.is_voice else None)
        self._listen()

    def _listen(self) -> None:
        self.recorder.follow(self.session)
        self.record.listen(self.session)
        self.journal.listen(self.session)
        Narration(lambda message: self.seen.append(json.dumps(message, default=str)), self.record).listen(self.session)
        for name in (
            "user_input_transcribed",
            "agent_output_transcribed",
            "conversation_item_added",
            "function_tools_executed",
            "tool_execution_updated",
            "tool_dropped",
            "tool_ended",
            "tool_result",
            "turn_metrics",
            "user_turn_exceeded",
            "error",
            "close",
        ):
            self.session.on(name, lambda event: self.seen.append(repr(event)))

    async def call(self) -> Left:
        async with self.session:
            await self.session.start(self.agent, room=self.room)
            await self._say("I want to pay now please")
            spoken_before = len(self.caller.vocabulary)
            if self.made.by == "keys":
                await self._press(self.made.number + "#")
                if self.made.kind == "card":
                    await self._press(self.made.expiry + "#")
                await self._press("#")
            for turn in self.made.turns if self.made.by != "keys" else ():
                if self.agent.got:
                    break
                await self._say(turn)
            secret_words = range(1000 + spoken_before, 1000 + len(self.caller.vocabulary))
            await self._wait()
        return await self._left(set(secret_words))

    async def _say(self, text: str) -> None:
        if not self.is_voice:
            await self.session.run(user_input=text)
            return
        if self.rng.random() < 0.3:
            self.caller.says("mm-hmm")
        await self.caller.says(text)
        await self._wait()

    async def _press(self, keys: str) -> None:
        for key in keys:
            self.room.receive_dtmf(key)
            await asyncio.sleep(0.2)
        await self._wait()

    async def _wait(self) -> None:
        await asyncio.sleep(1.0)
        for _ in range(200):
            if not self.session.is_running or self.session.agent_state == "listening":
                return
            await asyncio.sleep(0.2)

    async def _left(self, secret_words: set[int]) -> Left:
        report = self.record.report(now())
        await asyncio.to_thread(self.journal.close)
        page, wav = self.folder / "call.html", self.folder / "call.wav"
        sound = None
        if self.is_voice:
            self.recorder.save(wav)
            sound = Sound(self.recorder, [], self.room.sound.cuts, wav)
        write_report(page, report, title="A call", models="", sound=sound)
        history = json.dumps(self.session.history.to_dict(exclude_timestamp=False), default=str)
        artefacts = {
            "journal": (self.folder / "call.journal").read_bytes(),
            "report": page.read_bytes(),
            "json": json.dumps(report.to_json(), default=str).encode(),
            "repr": repr(report).encode(),
            "log": "\n".join(self.log.lines).encode(),
            "page and events": "\n".join(self.seen).encode(),
            "history": history.encode(),
        }
        for kept in self.folder.glob("calls.db*"):
            artefacts[f"store {kept.name}"] = kept.read_bytes()
        recorded = sorted((self.folder / "records").rglob("*.*"))
        assert {"record.json", "journal.jsonl", "history.json", "index.db"} <= {path.name for path in recorded}
        for path in (path for path in recorded if path.is_file()):
            artefacts[f"record {path.name}"] = path.read_bytes()
        found = self.records.place.record(self.records.place.names()[0])
        whole = self.folder / "record.html"
        write_record_page(found, whole, sound=False)
        artefacts["page of the record"] = whole.read_bytes()
        sides = {"caller": set[int](), "agent": set[int]()}
        if self.is_voice:
            artefacts["recording"] = wav.read_bytes()
            sides = _loudness(wav)
        asked = "\n".join("\n".join(lines) for lines in self.llm.histories).encode()
        voiced = sum(any(name in re.findall(r"\w+", text) for name in NAMES) for text in self.voice.said)
        return Left(self.made, self.agent.got, artefacts, asked, sides, secret_words, voiced)


def _loudness(path: Path) -> dict[str, set[int]]:
    with wave.open(str(path)) as file:
        samples = array("h", file.readframes(file.getnframes()))
    return {"caller": {abs(one) for one in samples[::2]}, "agent": {abs(one) for one in samples[1::2]}}


def spellings(digits: str) -> Iterator[re.Pattern[bytes]]:
    """How digits may stand somewhere: in a row, spaced, in words."""
    yield re.compile(rf"(?<![\w.]){digits}(?![\w.])".encode() if len(digits) < 8 else digits.encode())
    yield re.compile(r"(?:[ .-]|, )".join(digits).encode())
    yield re.compile(r"[ ,.]{1,3}".join(NAMES[int(digit)] for digit in digits).encode())
    yield re.compile(re.escape(say_digits(digits)).encode())


def secrets_of(made: Wish) -> list[str]:
    """The number whole, and what of it would say too much."""
    return [made.number, *([made.number[:8], made.number[-8:]] if made.kind == "card" else [])]


def leaks(left: Left) -> list[str]:
    """What of the secret is in what is left."""
    found = []
    for name, artefact in {**left.artefacts, "model": left.asked}.items():
        for digits in secrets_of(left.made):
            for pattern in spellings(digits):
                if match := pattern.search(artefact):
                    around = artefact[max(0, match.start() - 80) : match.end() + 40]
                    found.append(f"seed {left.made.seed}: {name}: {around!r}")
    if heard := left.loudness["caller"] & left.secret_loudness:
        found.append(f"seed {left.made.seed}: the recording of the caller has {len(heard)} words")
    if SAID in left.loudness["agent"]:
        found.append(f"seed {left.made.seed}: the recording of the agent has digits")
    return found


def main() -> int:
    """The proof, in full."""
    parser = argparse.ArgumentParser(prog="python -m tests.application.secret_calls")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.perf_counter()
    found: list[str] = []
    taken = voiced = recorded = 0
    for seed in range(given.seed, given.seed + given.calls):
        with tempfile.TemporaryDirectory() as folder:
            left = hold(seed, Path(folder))
        taken += left.got == left.made.number
        voiced += left.voiced > 0
        recorded += "recording" in left.artefacts
        found += leaks(left)
    for line in found[:20]:
        print(line)
    what = f"{given.calls:,} calls, {taken:,} secrets taken, {recorded:,} recordings, {voiced:,} with digits said aloud"
    print(closing("secrets", what, str(given.seed), len(found) + given.calls - taken, began))
    return 1 if found or taken < given.calls else 0


if __name__ == "__main__":
    sys.exit(main())
