"""Models that hear and speak for themselves.

`links` has one link for each agent that has such a model. `link` talks to the model; `sync` owns what its session
knows, `audio` what it hears, `wire` the session itself.
"""

from antiphon.runtime.realtime.links import Realtime

__all__ = ["Realtime"]
