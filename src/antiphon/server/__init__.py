"""Calls as jobs: `AgentServer` runs an entrypoint once for each call, with a `JobContext` and a `Room`."""
