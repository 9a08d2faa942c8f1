"""The pure conversation core: facts in, commands out, time as an argument."""
