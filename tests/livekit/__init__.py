"""LiveKit: rooms and the worker protocol, on a double of its server and, where there is one, on the real one."""
