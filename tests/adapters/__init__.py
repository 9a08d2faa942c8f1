"""Fallbacks from one provider to another, and speech from memory."""
