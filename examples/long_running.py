"""A search that takes long, and a caller who does not wait for it.

    antiphon call examples/long_running.py --say "Search the archive for the storm" "When are you open?" --barge-in 2@1.5 --out call.wav
    antiphon call examples/long_running.py --say "Search the archive for the storm"
    antiphon dev examples/long_running.py

Watch: the first command's caller speaks over the search. They are answered at once, and the search, which only reads,
is called off (`search_archive ... cancelled`). Try: hum while it runs: a cough or "mm-hmm" stops nothing.
"""

import asyncio

from antiphon import Agent, RunContext, function_tool


class Archive(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You know the archive of a newspaper. Be brief.")

    @function_tool
    async def search_archive(self, ctx: RunContext, topic: str) -> str | None:
        """Search the archive for a topic.

        Args:
            topic: What to look for
        """
        ctx.session.say(f"Let me look for {topic}.")
        search = asyncio.ensure_future(self.read_everything(topic))
        await ctx.speech_handle.wait_if_not_interrupted([search])
        if ctx.speech_handle.interrupted:
            search.cancel()  # the caller has gone on: nobody will be told
            return None
        return search.result()

    # With effect="reads" none of that is needed: the coroutine itself is cancelled.
    @function_tool(effect="reads")
    async def get_opening_hours(self) -> str:
        """Tell when the archive is open."""
        return "The archive is open from nine to five."

    async def read_everything(self, topic: str) -> str:
        await asyncio.sleep(8.0)
        return f"There are three articles on {topic}: two of 1953 and one of 1962."
