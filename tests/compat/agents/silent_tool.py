"""A tool that does its work without a word: it returns None, so the model says nothing about it."""

import logging

from livekit.agents import (
    Agent,
    AgentSession,
    AutoSubscribe,
    ConversationItemAddedEvent,
    JobContext,
    MetricsCollectedEvent,
    RoomInputOptions,
    RoomOutputOptions,
    RunContext,
    UserInputTranscribedEvent,
    WorkerOptions,
    cli,
    function_tool,
    metrics,
)
from livekit.plugins import noise_cancellation, silero

logger = logging.getLogger("silent")


class Shop(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You run a lamp shop. Switch lamps when asked. Tell prices when asked.")
        self.log: list[str] = []

    @function_tool
    async def switch_lamp(self, context: RunContext, on: bool) -> None:
        """Turn the lamp on or off.

        Args:
            on: True to turn the lamp on, False to turn it off
        """
        print(f"the lamp is {'on' if on else 'off'}")
        self.log.append(context.function_call.call_id)

    @function_tool
    async def get_price(self, context: RunContext, model: str) -> str:
        """Get the price of a lamp.

        Args:
            model: The model of the lamp, for example "Aurora"
        """
        return f"The {model} costs 40 dollars."


async def entrypoint(ctx: JobContext):
    await ctx.connect(auto_subscribe=AutoSubscribe.AUDIO_ONLY)
    participant = await ctx.wait_for_participant()
    logger.info("caller %s", participant.identity)

    session = AgentSession(
        stt="assemblyai/universal-streaming:en",
        llm="openai/gpt-4.1-mini",
        tts="cartesia/sonic-2:6f84f4b8-58a2-430c-8c79-688dad597532",
        vad=silero.VAD.load(),
        min_endpointing_delay=0.4,
        allow_interruptions=True,
        user_away_timeout=30.0,
    )
    usage = metrics.UsageCollector()

    @session.on("metrics_collected")
    def _on_metrics(ev: MetricsCollectedEvent):
        metrics.log_metrics(ev.metrics)
        usage.collect(ev.metrics)

    @session.on("user_input_transcribed")
    def _on_transcript(ev: UserInputTranscribedEvent):
        logger.info("%s %s", ev.speaker_id, ev.transcript)

    @session.on("conversation_item_added")
    def _on_item(ev: ConversationItemAddedEvent):
        print(f"history: {ev.item.type}")

    async def log_usage():
        print(f"usage: {usage.get_summary()}")

    ctx.add_shutdown_callback(log_usage)

    await session.start(
        agent=Shop(),
        room=ctx.room,
        room_input_options=RoomInputOptions(noise_cancellation=noise_cancellation.BVC()),
        room_output_options=RoomOutputOptions(transcription_enabled=True),
    )


if __name__ == "__main__":
    cli.run_app(WorkerOptions(entrypoint_fnc=entrypoint))
