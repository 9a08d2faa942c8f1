"""The page to talk to an agent from: `antiphon dev agent.py`, and open what it prints."""
