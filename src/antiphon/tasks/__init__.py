"""Conversations inside a conversation: `AgentTask`, which takes the floor until it has its result."""

from antiphon.tasks.agent_task import AgentTask

__all__ = ["AgentTask"]
