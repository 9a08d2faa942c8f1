"""Tools of MCP servers: real processes, honest and hostile."""
