"""The sounds that come with the framework are the same everywhere, have no seam, and are not too loud."""

from __future__ import annotations

import numpy as np
import pytest

from antiphon.background_audio.clips import BuiltinAudioClip, _render, render

every_clip = pytest.mark.parametrize("clip", BuiltinAudioClip)


@every_clip
def test_a_clip_is_the_same_each_time(clip: BuiltinAudioClip) -> None:
    first = render(clip, 8_000).copy()
    _render.cache_clear()
    assert (render(clip, 8_000) == first).all()


@every_clip
def test_a_clip_lies_below_speech_and_is_never_clipped(clip: BuiltinAudioClip) -> None:
    samples = render(clip, 8_000).astype(np.float64) / 32768
    loudness = 20 * np.log10(samples.std())
    assert -50 <= loudness <= -25
    assert np.abs(samples).max() < 0.25


@every_clip
def test_a_clip_goes_on_at_its_beginning_without_a_seam(clip: BuiltinAudioClip) -> None:
    samples = render(clip, 24_000).astype(np.int32)
    steps = np.abs(np.diff(samples))
    assert abs(samples[0] - samples[-1]) <= np.percentile(steps, 99.9)


@every_clip
def test_a_clip_is_the_same_sound_at_every_rate(clip: BuiltinAudioClip) -> None:
    low, high = (render(clip, rate).astype(np.float64) for rate in (8_000, 24_000))
    assert len(high) == 3 * len(low)
    # The loudness from second to second, which is what a listener follows.
    a, b = (np.sqrt((x.reshape(-1, 8 * rate // 10) ** 2).mean(axis=1)) for x, rate in ((low, 1_000), (high, 3_000)))
    assert np.corrcoef(a, b)[0, 1] > 0.9
