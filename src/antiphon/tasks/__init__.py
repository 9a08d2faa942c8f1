"""Conversations inside a conversation: tasks that take the floor until they have their result."""

from antiphon.tasks.agent_task import AgentTask
from antiphon.tasks.task_group import TaskCompletedEvent, TaskGroup, TaskGroupResult

__all__ = ["AgentTask", "TaskCompletedEvent", "TaskGroup", "TaskGroupResult"]
