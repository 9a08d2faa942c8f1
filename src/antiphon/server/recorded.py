"""A job whose call becomes a record.

Above: `AgentServer.job`. Below: the job, its room, `Records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.server.job import JobContext
from antiphon.server.room import Room

if TYPE_CHECKING:
    from antiphon.records.keeping import Records

LONGEST = 4 * 3600.0
"""Seconds of sound that are kept of a call."""


def record(records: Records, job: JobContext, room: Room) -> None:
    """Have the call of a job recorded. Before its session starts."""
    output = room.audio_output
    if records.audio and room.sound.recorder is None and output is not None:
        from antiphon.transports.recorder import StereoRecorder

        recorder = StereoRecorder(agent_rate=output.sample_rate, max_duration=LONGEST)
        room.sound.keep(recorder)
        job.on_session(recorder.follow)
    job.on_session(lambda session: records.follow(session, sound=room.sound, by_turns=job.by_turns))
