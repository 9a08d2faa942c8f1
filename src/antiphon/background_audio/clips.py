"""Sounds that come with the framework: computed when they are first used, the same on every machine, no files.

Every clip is a circle: what rings on at its end is added at its beginning, and noise is made from its spectrum, which
repeats by nature. So a clip can be played over and over without a seam.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Wave: TypeAlias = NDArray[np.float32]


class BuiltinAudioClip(enum.Enum):
    """A sound that comes with the framework."""

    CITY_AMBIENCE = "city-ambience"
    """A street behind a window: a hum, and cars that pass."""
    FOREST_AMBIENCE = "forest-ambience"
    """Wind in leaves, and now and then a bird."""
    OFFICE_AMBIENCE = "office-ambience"
    """Ventilation, people far away, somebody typing in the next room."""
    CROWDED_ROOM = "crowded-room"
    """Many people talking, none to be understood."""
    KEYBOARD_TYPING = "keyboard-typing"
    """Brisk, soft typing."""
    KEYBOARD_TYPING2 = "keyboard-typing2"
    """Slower typing, with pauses for thought."""
    HOLD_MUSIC = "hold-music"
    """A slow, broken-chord melody on something like an electric piano."""


def render(clip: BuiltinAudioClip, sample_rate: int) -> NDArray[np.int16]:
    """The samples of a clip, mono, at `sample_rate`. Takes up to a second the first time; do not change the result."""
    return _render(clip, sample_rate)


@lru_cache(maxsize=16)
def _render(clip: BuiltinAudioClip, sample_rate: int) -> NDArray[np.int16]:
    import numpy as np

    make, level = _CLIPS[clip]
    wave = make(np.random.default_rng(list(clip.value.encode())), sample_rate)
    wave *= 32768 * 10 ** (level / 20) / np.sqrt((wave**2).mean())
    return np.round(wave).clip(-32768, 32767).astype(np.int16)


# -- what the clips are made of


def _noise(rng: np.random.Generator, seconds: float, rate: int, shape: Callable[[Wave], Wave]) -> Wave:
    """Noise whose spectrum has the given shape, of loudness 1."""
    import numpy as np

    # Drawn for 48 kHz whatever the rate is, so that a clip is the same sound at every rate.
    phases = rng.uniform(0, 2 * np.pi, round(seconds * 24_000) + 1)
    frequencies = np.arange(round(seconds * rate) // 2 + 1) / seconds
    spectrum = shape(frequencies.astype(np.float32)) * np.exp(1j * phases[: len(frequencies)])
    spectrum[0] = spectrum[-1] = 0
    wave = np.fft.irfft(spectrum, round(seconds * rate))
    even: Wave = (wave / np.sqrt((wave**2).mean())).astype(np.float32)
    return even


def _band(low: float, high: float, slope: float = 0.0) -> Callable[[Wave], Wave]:
    """A soft band from `low` to `high` Hz, falling by `slope` powers of the frequency within it."""

    def shape(frequencies: Wave) -> Wave:
        f = frequencies.clip(1.0)
        loudness: Wave = ((f / low) ** -slope / (1 + (low / f) ** 4) / (1 + (f / high) ** 4)).astype(f.dtype)
        return loudness

    return shape


def _swell(rng: np.random.Generator, seconds: float, rate: int, low: float, high: float, depth: float) -> Wave:
    """A loudness that goes up and down between `low` and `high` times a second, around 1, and by `depth` at most."""
    import numpy as np

    slow = 100  # points a second are plenty for it
    points = np.exp(depth * np.tanh(_noise(rng, seconds, slow, _band(low, high))))
    times = np.arange(round(seconds * rate)) / rate
    curve = np.interp(times, np.arange(len(points)) / slow, points, period=seconds)
    return curve.astype(np.float32)


def _add(wave: Wave, at: float, piece: Wave, rate: int) -> None:
    """Add a piece that begins at `at` seconds; what reaches beyond the end goes on at the beginning."""
    import numpy as np

    wave[(round(at * rate) + np.arange(len(piece))) % len(wave)] += piece


def _decay(seconds: float, length: float, rate: int) -> Wave:
    """Falls to a third each `seconds`, over `length` seconds."""
    import numpy as np

    fall: Wave = np.exp(-np.arange(round(length * rate)) / (seconds * rate)).astype(np.float32)
    return fall


# -- ambience


def _voices(rng: np.random.Generator, seconds: float, rate: int, count: int) -> Wave:
    """People talking far away: noise of the colour of vowels, in syllables and phrases."""
    voices = 0 * _noise(rng, seconds, rate, _band(100, 200))
    for _ in range(count):
        vowel = _noise(rng, seconds, rate, _band(rng.uniform(180, 320), rng.uniform(600, 1100), 0.7))
        syllables = _swell(rng, seconds, rate, 2.0, 5.0, 0.9)
        phrases = _swell(rng, seconds, rate, 0.1, 0.6, 0.8)
        voices += vowel * syllables * phrases
    return voices


def _city(rng: np.random.Generator, rate: int) -> Wave:
    seconds = 24.0
    hum = _noise(rng, seconds, rate, _band(60, 300, 1.0))
    cars = _noise(rng, seconds, rate, _band(150, 1200, 0.8)) * _swell(rng, seconds, rate, 0.08, 0.25, 1.2)
    return hum + 0.5 * cars


def _forest(rng: np.random.Generator, rate: int) -> Wave:
    import numpy as np

    seconds = 24.0
    wind = _noise(rng, seconds, rate, _band(250, 2500, 0.6)) * _swell(rng, seconds, rate, 0.08, 0.4, 0.5)
    for _ in range(9):
        start, pitch = rng.uniform(0, seconds), rng.uniform(2200, 3300)
        for note in range(int(rng.integers(2, 6))):
            length = rng.uniform(0.06, 0.14)
            t = np.arange(round(length * rate)) / rate
            sweep = pitch * (1 + rng.uniform(-0.15, 0.2) * t / length)
            chirp = np.sin(2 * np.pi * np.cumsum(sweep) / rate) * np.sin(np.pi * t / length) ** 2
            _add(wind, start + 0.17 * note, (rng.uniform(0.3, 0.8) * chirp).astype(np.float32), rate)
    return wind


def _office(rng: np.random.Generator, rate: int) -> Wave:
    seconds = 24.0
    air = _noise(rng, seconds, rate, _band(70, 500, 1.0))
    hiss = _noise(rng, seconds, rate, _band(500, 3000, 0.8))
    people = _voices(rng, seconds, rate, 2)
    office: Wave = air + 0.15 * hiss + 0.22 * people
    _type(rng, office, rate, pace=0.2, loudness=0.9, pauses=2.5)
    return office


def _crowd(rng: np.random.Generator, rate: int) -> Wave:
    seconds = 16.0
    return _voices(rng, seconds, rate, 7) + 1.5 * _noise(rng, seconds, rate, _band(80, 600, 1.0))


# -- keys


def _key(rng: np.random.Generator, rate: int) -> Wave:
    """One key: the finger, the key on its bed, and the case that answers."""
    import numpy as np

    length = 0.09
    t = np.arange(round(length * rate)) / rate
    rustle = _noise(rng, length, rate, _band(rng.uniform(900, 1400), rng.uniform(2500, 3600)))[: len(t)]
    knock = np.sin(2 * np.pi * rng.uniform(170, 240) * t)
    click = rustle * _decay(0.006, length, rate) + 0.6 * knock * _decay(0.014, length, rate)
    key: Wave = (click * np.minimum(1.0, t / 0.0015)).astype(np.float32)
    return key


def _type(rng: np.random.Generator, wave: Wave, rate: int, *, pace: float, loudness: float, pauses: float) -> None:
    """Add typing: bursts of keys `pace` seconds apart, and pauses of about `pauses` seconds."""
    keys = [_key(rng, rate) for _ in range(12)]
    end = len(wave) / rate
    at = pauses / 2
    while at < end - pauses / 2:
        for _ in range(int(rng.integers(4, 11))):
            strength = loudness * rng.uniform(0.5, 1.0)
            key = keys[int(rng.integers(len(keys)))]
            _add(wave, at, strength * key, rate)
            _add(wave, at + rng.uniform(0.06, 0.09), 0.25 * strength * key, rate)  # it comes up again
            at += pace * rng.uniform(0.6, 1.5)
        at += pauses * rng.uniform(0.5, 1.3)


def _typing(rng: np.random.Generator, rate: int) -> Wave:
    import numpy as np

    wave = np.zeros(12 * rate, np.float32)
    _type(rng, wave, rate, pace=0.14, loudness=1.0, pauses=0.5)
    return wave


def _slow_typing(rng: np.random.Generator, rate: int) -> Wave:
    import numpy as np

    wave = np.zeros(16 * rate, np.float32)
    _type(rng, wave, rate, pace=0.2, loudness=1.0, pauses=1.1)
    return wave


# -- music

_BEAT = 0.5
_BARS = (  # bass, and what is played over it, as MIDI notes
    (48, (64, 67, 71, 74, 71, 67, 71, 67)),
    (45, (60, 64, 67, 71, 67, 64, 67, 64)),
    (41, (57, 60, 64, 67, 64, 60, 64, 60)),
    (43, (59, 62, 65, 69, 67, 62, 65, 62)),
    (48, (64, 67, 71, 74, 76, 74, 71, 67)),
    (45, (60, 64, 67, 72, 71, 67, 64, 60)),
    (50, (57, 60, 65, 69, 65, 60, 65, 60)),
    (43, (59, 62, 65, 69, 71, 69, 65, 62)),
)


def _note(number: int, length: float, rate: int) -> Wave:
    """A soft tine: a tone whose overtones die away before it."""
    import numpy as np

    pitch = 440 * 2 ** ((number - 69) / 12)
    t = np.arange(round(length * rate)) / rate
    tone = np.zeros(len(t), np.float32)
    for overtone, loudness, fall in ((1, 1.0, 0.9), (2, 0.25, 0.45), (3, 0.12, 0.25), (4, 0.06, 0.12)):
        tone += loudness * np.sin(2 * np.pi * pitch * overtone * t).astype(np.float32) * _decay(fall, length, rate)
    tone *= np.minimum(1.0, t / 0.012) * np.minimum(1.0, (length - t) / 0.2)
    return tone


def _music(rng: np.random.Generator, rate: int) -> Wave:
    import numpy as np

    bar = _BEAT * len(_BARS[0][1])
    wave = np.zeros(round(len(_BARS) * bar * rate), np.float32)
    notes = {note: _note(note, 2.5, rate) for _, melody in _BARS for note in melody}
    for number, (bass, melody) in enumerate(_BARS):
        _add(wave, number * bar, 0.9 * _note(bass, 3.5, rate), rate)
        for beat, note in enumerate(melody):
            strength = (0.75 if beat % 4 == 0 else 0.5) * rng.uniform(0.85, 1.0)
            _add(wave, number * bar + beat * _BEAT, strength * notes[note], rate)
    return wave


_CLIPS: dict[BuiltinAudioClip, tuple[Callable[[np.random.Generator, int], Wave], float]] = {
    BuiltinAudioClip.CITY_AMBIENCE: (_city, -36.0),
    BuiltinAudioClip.FOREST_AMBIENCE: (_forest, -38.0),
    BuiltinAudioClip.OFFICE_AMBIENCE: (_office, -38.0),
    BuiltinAudioClip.CROWDED_ROOM: (_crowd, -36.0),
    BuiltinAudioClip.KEYBOARD_TYPING: (_typing, -46.0),
    BuiltinAudioClip.KEYBOARD_TYPING2: (_slow_typing, -48.0),
    BuiltinAudioClip.HOLD_MUSIC: (_music, -28.0),
}
"""How each is made, and how loud it is at volume 1: dB below full scale. Speech is at about -22."""
