"""A survey: questions asked one after another by tasks, and what came of them shared at the end."""

from dataclasses import dataclass
from typing import Literal

from livekit.agents import Agent, AgentServer, AgentSession, AgentTask, JobContext, RunContext, cli, function_tool
from livekit.agents.beta.workflows import TaskGroup
from livekit.agents.voice.background_audio import AudioConfig, BackgroundAudioPlayer, BuiltinAudioClip


@dataclass
class NameResult:
    name: str


@dataclass
class CommuteResult:
    transport: str


@dataclass
class Answers:
    results: dict | None = None


class NameTask(AgentTask[NameResult]):
    def __init__(self) -> None:
        super().__init__(instructions="Ask for the caller's name.")

    async def on_enter(self) -> None:
        await self.session.say("What is your name?")

    @function_tool
    async def record_name(self, context: RunContext, name: str) -> None:
        """Record the caller's name.

        Args:
            name: The caller's name
        """
        self.complete(NameResult(name))


class CommuteTask(AgentTask[CommuteResult]):
    def __init__(self) -> None:
        super().__init__(instructions="Ask how the caller gets to work.")

    async def on_enter(self) -> None:
        await self.session.say("How do you get to work: by car, by bus or by bike?")

    @function_tool
    async def record_transport(self, context: RunContext, transport: Literal["car", "bus", "bike"]) -> None:
        """Record the means of transport to work.

        Args:
            transport: How the caller gets to work
        """
        self.complete(CommuteResult(transport))


class SurveyAgent(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You conduct a survey.")

    async def on_enter(self) -> None:
        group = TaskGroup(summarize_chat_ctx=False)
        group.add(lambda: NameTask(), id="name", description="Asks for the name")
        group.add(lambda: CommuteTask(), id="commute", description="Asks for the means of transport")
        results = await group
        self.session.userdata.results = results.task_results
        for key, value in results.task_results.items():
            print(f"survey: {key} = {value}")
        await self.session.say("Thank you, that was all.")


server = AgentServer()


@server.rtc_session()
async def survey(ctx: JobContext) -> None:
    session = AgentSession[Answers](userdata=Answers(), llm="openai/gpt-4.1", tts="cartesia/sonic-3")
    await session.start(agent=SurveyAgent(), room=ctx.room)
    background = BackgroundAudioPlayer(ambient_sound=AudioConfig(BuiltinAudioClip.OFFICE_AMBIENCE, volume=0.2))
    await background.start(room=ctx.room, agent_session=session)


if __name__ == "__main__":
    cli.run_app(server)
