"""An agent whose model writes JSON: how to say it, and what to say. Only the latter is spoken, and kept.

    antiphon call examples/emotion.py --say "Where is my parcel?"
    antiphon call examples/emotion.py --say "Where is my parcel?" --out call.wav
    antiphon dev examples/emotion.py

Watch: captions and history have the words alone; the directive goes to the voice before the first sound (the local
voice has no moods: the log says so once). Try, with OPENAI_API_KEY set: --llm openai/gpt-4o-mini --tts openai.
"""

from collections.abc import AsyncIterable
from typing import Annotated, TypedDict

from pydantic import Field
from pydantic_core import from_json

from antiphon import Agent, ChatContext, FunctionTool, ModelSettings, function_tool


class Answer(TypedDict):
    voice_instructions: Annotated[str, Field(description="How to say it: tone, emotion, speed")]
    response: str


@function_tool(effect="reads")
async def find_parcel() -> str:
    """Find out where the parcel is."""
    return "The parcel is in Lyon. It comes tomorrow."


class Emotional(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You console people who wait for parcels.", tools=[find_parcel])

    async def llm_node(self, chat_ctx: ChatContext, tools: list[FunctionTool], model_settings: ModelSettings):
        choice = model_settings.tool_choice
        async with self.llm.chat(chat_ctx=chat_ctx, tools=tools, tool_choice=choice, response_format=Answer) as stream:
            async for chunk in stream:
                yield chunk

    async def tts_node(self, text: AsyncIterable[str], model_settings: ModelSettings):
        return Agent.default.tts_node(self, self.words(text), model_settings)

    async def words(self, text: AsyncIterable[str]):
        """The words of the response, as they are written; the directive, once it is whole, goes to the voice."""
        written, said, told = "", 0, False
        async for piece in text:
            written += piece
            try:
                answer = from_json(written, allow_partial="trailing-strings")
            except ValueError:
                continue
            response = answer.get("response", "")
            if response and not told and self.tts is not None:
                self.tts.update_options(instructions=answer.get("voice_instructions", ""))
                told = True
            yield response[said:]
            said = len(response)
