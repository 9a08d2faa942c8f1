"""Processes that hold calls, and the one that keeps them running.

```
supervisor.py  opens the listening socket, starts workers, replaces those that are unfit, drains and upgrades
child.py       one worker as its supervisor sees it
status.py      what a worker tells of itself
supervised.py  the other end: a worker's tie to its supervisor
http.py        health, readiness and figures by HTTP; the answer to whoever comes when all are full
```

The supervisor runs none of the application's code: it cannot be brought down by it.
"""
