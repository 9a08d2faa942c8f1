"""Sentences to speak and to recognise, turns to judge, and the rooms and lines that sound travels through."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from antiphon.audio import AudioFrame

if TYPE_CHECKING:
    from numpy.typing import NDArray

SENTENCES = [
    "Hi, I'd like to book an appointment for next Tuesday.",
    "Do you have anything in the morning?",
    "Yes, that would be great, thank you.",
    "Could you tell me what time you open on Saturday?",
    "I need to change my booking, please.",
    "No, Wednesday works better for me.",
    "My name is Robert Miller.",
    "Thanks, that's all I needed today.",
]
"""Plain speech: whoever hears it writes it one way only."""

TURNS = [
    # said, after the agent's words, complete
    ("I'd like to book an appointment for", "", False),
    ("I'd like to book an appointment.", "", True),
    ("My name is", "May I have your name?", False),
    ("My name is Maria Gonzalez.", "May I have your name?", True),
    ("Maria.", "May I have your name?", True),
    ("It's", "May I have your name?", False),
    ("My phone number is five five five.", "", False),
    ("My phone number is 555-010-4477.", "", True),
    ("555, 010", "What is your phone number?", False),
    ("555-010.", "What is your phone number?", False),
    ("555 010 4477.", "What is your phone number?", True),
    ("five five five zero one zero four four seven seven", "What's the best phone number?", True),
    ("No, I don't have a phone.", "What is your phone number?", True),
    ("Tuesday.", "What day works for you?", True),
    ("Um", "What day works for you?", False),
    ("Um, maybe", "What day works for you?", False),
    ("Tuesday or", "What day works for you?", False),
    ("Tuesday or Wednesday.", "What day works for you?", True),
    ("Next Tuesday at", "What day works for you?", False),
    ("Next Tuesday at two.", "What day works for you?", True),
    ("Yes.", "Shall I book that?", True),
    ("Yes, please.", "Shall I book that?", True),
    ("Yes, but", "Shall I book that?", False),
    ("Yes and.", "Shall I book that?", False),
    ("No.", "Shall I book that?", True),
    ("Yes I would.", "Would you like to book it?", True),
    ("I think so.", "Is that correct?", True),
    ("What is it for?", "", True),
    ("Do you have anything on", "", False),
    ("Do you have anything on Friday?", "", True),
    ("Can you", "", False),
    ("Can you help me?", "", True),
    ("I was wondering if.", "", False),
    ("I was wondering if you have a table for four.", "", True),
    ("Let me check...", "", False),
    ("Hold on.", "Which day?", False),
    ("One moment, I need to look at my", "Which day?", False),
    ("Hello?", "", True),
    ("Hi there.", "", True),
    ("Thank you, goodbye.", "", True),
    ("I'd like a table for two people and.", "", False),
    ("How much is the", "", False),
    ("How much is the cleaning?", "", True),
    ("That's all, thanks.", "Anything else?", True),
    ("john at", "What is your email?", False),
    ("john dot smith at example.", "What is your email?", False),
    ("john dot smith at example dot com.", "What is your email?", True),
    ("jo.ann@example.com", "What is your email?", True),
    ("I need to cancel because", "", False),
    ("The code is R 1842.", "", True),
    ("So,", "", False),
    ("What do you have between?", "", False),
    ("Which of them is on the?", "", False),
    ("Can you book me in for?", "", False),
    ("How long will it be?", "", True),
    ("Who am I speaking to?", "", True),
    ("I guess I would take.", "Which of them works for you?", False),
    ("I guess I would take the two.", "Which of them works for you?", True),
    ("Do you have anything on Wednesday, too?", "", True),
    ("I'd like to come on Wednesday, too.", "", True),
]


def words(text: str) -> list[str]:
    """The words, without case and punctuation."""
    return re.findall(r"[a-z']+|\d", text.lower())


def noise(length: int, level: float, seed: int = 1) -> NDArray[np.float32]:
    """Pink noise, as of a busy room, of this effective level (full scale 1)."""
    white = np.fft.rfft(np.random.default_rng(seed).standard_normal(length))
    pink = np.fft.irfft(white / np.sqrt(np.arange(1, len(white) + 1)), length)
    scaled: NDArray[np.float32] = (pink * (level / np.sqrt(np.mean(pink**2)))).astype(np.float32)
    return scaled


def telephone(speech: AudioFrame, snr: float = 10.0) -> AudioFrame:
    """The speech in a noisy room through a telephone line: 8 kHz, mu-law.

    `snr` in dB; the level of speech is that of its louder half, so that silence does not count.
    """
    import soxr

    samples = speech.to_float32()
    loud = samples[np.abs(samples) > 0.02]
    level = float(np.sqrt(np.mean(loud**2))) if len(loud) else 0.1
    narrow = soxr.resample(samples + noise(len(samples), level / 10 ** (snr / 20)), speech.sample_rate, 8000)
    squeezed = np.sign(narrow) * np.log1p(255 * np.minimum(np.abs(narrow), 1)) / np.log1p(255)
    line = np.round(squeezed * 127) / 127
    expanded = np.sign(line) * ((1 + 255) ** np.abs(line) - 1) / 255
    return AudioFrame.from_float32(expanded.astype(np.float32), 8000)
