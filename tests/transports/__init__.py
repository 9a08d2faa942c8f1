"""Lines: WebRTC between network namespaces, WebSocket, terminal, files."""
