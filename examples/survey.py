"""A survey of three questions: each is a task that takes the floor and gives back a value that is checked.

    antiphon call examples/survey.py --say "Ann Lee" "yes" "Four" "The cake"
    antiphon dev examples/survey.py

Watch: a name counts once it was read back and agreed to; a rating of nine is refused in words. At the end the answers
are in `userdata`, and the call ends by itself. Try: "Go back to my name" at the last question.
"""

from typing import Literal

from antiphon import Agent, AgentServer, AgentSession, AgentTask, TaskGroup, ToolError, function_tool
from antiphon.tasks import GetNameTask


class GetRating(AgentTask[int]):
    def __init__(self) -> None:
        super().__init__(instructions="Find out how the guest rates the meal, from 1 to 5.")

    async def on_enter(self) -> None:
        self.session.say("How was the meal, from one to five?")

    @function_tool
    async def note_rating(self, rating: int) -> None:
        """Note the rating.

        Args:
            rating: From 1 to 5
        """
        if not 1 <= rating <= 5:
            raise ToolError("Ratings go from 1 to 5. Ask again.")
        self.complete(rating)


class GetFavourite(AgentTask[str]):
    def __init__(self) -> None:
        super().__init__(instructions="Find out what the guest liked best.")

    async def on_enter(self) -> None:
        self.session.say("And what did you like best: the soup, the fish or the cake?")

    @function_tool
    async def note_favourite(self, dish: Literal["soup", "fish", "cake"]) -> None:
        """Note what the guest liked best.

        Args:
            dish: The dish
        """
        self.complete(dish)


class Survey(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You ask guests how they liked it.")

    async def on_enter(self) -> None:
        group = TaskGroup()
        group.add(lambda: GetNameTask(verify_spelling=False), id="name", description="The guest's name")
        group.add(GetRating, id="rating", description="The rating of the meal")
        group.add(GetFavourite, id="favourite", description="What the guest liked best")
        answers = (await group).task_results
        self.session.userdata.update(answers)
        self.session.end_call(goodbye=self.session.say(f"Thank you, {answers['name'].full_name}. Goodbye."))


server = AgentServer()


@server.rtc_session
async def entrypoint(session: AgentSession) -> None:
    session.userdata = {}
    await session.start(agent=Survey(), room=session.room)
