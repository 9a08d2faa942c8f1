"""The page to talk to an agent from, inside a web application of one's own.

    python examples/page_in_app.py
    antiphon call examples/page_in_app.py --say "Are you open on Sunday?"

Then open http://127.0.0.1:8000, and follow the link to the agent. Needs: pip install 'antiphon[dev]'.
Watch: routes of the application and the page live on one port; when the application stops, calls end, and tools
that write have their time. Try: FastAPI in the place of Starlette (`app.mount`, the same lifespan), and a token: the
page is then opened with ?token=.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from antiphon import Agent, function_tool


class Shop(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You answer for a shop. Be brief.")

    @function_tool(effect="reads")
    async def get_opening_hours(self, day: str) -> str:
        """Tell when the shop is open.

        Args:
            day: The day of the week
        """
        return "The shop is closed on Sunday." if day.lower() == "sunday" else f"On {day} it is open from nine to six."


def application():
    """What `uvicorn page_in_app:application --factory` serves."""
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Mount, Route

    from antiphon.console.mounted import MountedPage

    page = MountedPage(__file__)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with page:
            yield

    async def home(request) -> HTMLResponse:
        return HTMLResponse('<h1>The shop</h1><p><a href="/agent/">Talk to us</a></p>')

    return Starlette(routes=[Route("/", home), Mount("/agent", page.app)], lifespan=lifespan)


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(application(), host="127.0.0.1", port=8000)
