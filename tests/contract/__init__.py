"""What the tool loop promises, sentence by sentence, seen from outside: sessions, callers and scripted models."""
