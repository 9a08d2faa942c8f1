"""Records of calls: written whole, found again, judged, delivered, and removed."""
