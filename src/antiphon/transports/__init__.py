"""Where calls come from and go to: pairs of `AudioInput` and `AudioOutput`. So far: recordings."""
