"""Calls in LiveKit rooms: joined one by one, or as they are dispatched to a worker.

```
server.py     LiveKitServer: where it is, and the keys to it
hold.py       one call in a room, from joining to leaving
worker.py     takes jobs, and holds them; link.py is its socket
again.py      asks for another agent where a process died with calls on
front_end.py  what LiveKit's front ends are shown of a session, and what they send it
```

LiveKit does rooms, media, telephones and dispatch. Needs the extra `livekit`.
"""
