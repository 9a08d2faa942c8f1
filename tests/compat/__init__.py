"""Programs written for LiveKit run here."""
