"""Performs what the conversation core decides, with asyncio, and reports what happened. Takes no decisions."""
