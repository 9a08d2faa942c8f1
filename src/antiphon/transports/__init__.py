"""Where calls come from and go to: recordings, this machine's sound device, browsers; and what stands between."""
