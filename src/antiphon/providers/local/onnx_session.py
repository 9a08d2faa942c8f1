"""Networks of onnxruntime, as all models of this package load them.

Above: `moonshine`, `vad`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def onnx_session(path: Path, *, threads: int = 1) -> Any:
    """Load a network; it runs on `threads` cores at most, and leaves them when it has nothing to do."""
    # onnxruntime imports numpy's innermost module from C. A thread that is importing numpy from outside at that moment
    # waits for this one, which waits for it; Python then breaks the circle, and one of them gets half a module.
    import numpy  # noqa: F401  # isort: skip
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads that spin between two runs would take the cores from everything else in the process.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
