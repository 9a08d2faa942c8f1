"""Makes the recogniser's weights fast, once per machine: `python -m antiphon.providers.local.convert FOLDER`.

The packaged files hold 8-bit weights that are widened again at every step of the decoder, which takes most of the
time. Here they are widened once and quantised anew so that the arithmetic itself is done in 8 bits: eight times faster,
equal accuracy, and the same sums on every processor. That takes some 15 s and 1 GB of memory for a moment, so it runs
in a process of its own (`prepare`), one at a time on a machine, and its result is kept in the user's cache folder.

The same versions of onnx and onnxruntime give the same bytes. A manifest beside the files records their hashes, and
every load is checked against it.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from antiphon.errors import MissingModelFile
from antiphon.providers.local import weights
from antiphon.providers.local.weights import Weights

ENCODER = "encoder_model"
DECODER = "decoder_model_merged"
TOKENIZER = "tokenizer.bin"

_BASE = "moonshine-cpp==0.1.4", "moonshine_cpp"
SOURCES = (
    Weights(
        *_BASE, f"models/base-en/{ENCODER}.ort", "9d1a19e044cbf89a207723d1adb667de89a5671a1e3e611b8ebe721b2c31219c"
    ),
    Weights(
        *_BASE, f"models/base-en/{DECODER}.ort", "370e0c1f161d68dc1c2264c1a82024fb123380da3b73f47f05531d1e8d3308c3"
    ),
    Weights(*_BASE, f"models/base-en/{TOKENIZER}", "04670d78994d030185c3dd843c60591788fed0a56cc6750747bd326825f13ca9"),
)
_NAME = "moonshine-base-en-int8-3"
"""The folder's name in the cache. The number changes with this module's procedure."""
_MANIFEST = "manifest.json"
_TIMEOUT = 600.0
_LARGE = 1_000_000
"""Bytes of a weight from which on it is worth keeping it once, and small."""


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/antiphon`, or `~/.cache/antiphon`."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "antiphon"


def prepare(on_progress: Callable[[str], None]) -> Path:
    """The folder of the fast weights, which is made if need be. Takes a while, so call it outside the event loop.

    `on_progress` is told in a line what takes so long. Raises `MissingModelFile`.
    """
    import filelock

    folder = cache_folder() / _NAME
    if not folder.exists():
        for source in SOURCES:
            source.locate()
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder.with_suffix(".lock"), timeout=_TIMEOUT):
            if not folder.exists():
                on_progress(f"Preparing the speech recogniser, once on this machine, about 15 s: {folder}")
                _make(folder)
    _check(folder)
    return folder


def _make(folder: Path) -> None:
    """Fill `folder` in a process of its own; it appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{_NAME}-") as scratch:
        command = [sys.executable, "-m", "antiphon.providers.local.convert", f"{scratch}/done"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        if result.returncode:
            raise MissingModelFile(
                f"{str(folder)!r} could not be made from {SOURCES[0].requirement}: {result.stderr.strip()[-800:]}"
                f" Free about 1 GB of memory and 500 MB of disk there, or run: {SOURCES[0].install}"
            )
        os.replace(f"{scratch}/done", folder)


def _check(folder: Path) -> None:
    remedy = f"Delete the folder {str(folder)!r}; it will be made again."
    try:
        hashes: dict[str, str] = json.loads((folder / _MANIFEST).read_text())["files"]
        for name in (f"{ENCODER}.onnx", f"{DECODER}.onnx", TOKENIZER):
            weights.check(folder / name, hashes[name], remedy=remedy)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MissingModelFile(
            f"{str(folder)!r}: expected a manifest and three files, got {error!r}. {remedy}"
        ) from error


def convert(folder: Path) -> None:
    """Write the fast weights and their manifest to `folder`, which must not exist. In this process."""
    encoder, decoder, tokenizer = (source.locate() for source in SOURCES)
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        for source in (encoder, decoder):
            _requantise(source, folder / f"{source.stem}.onnx", Path(scratch))
    shutil.copy(tokenizer, folder / TOKENIZER)
    import onnx
    import onnxruntime

    manifest = {
        "source": {source.path: source.sha256 for source in SOURCES},
        "made_with": {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__},
        "files": {path.name: weights.digest(path) for path in sorted(folder.iterdir())},
    }
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1))


def _requantise(source: Path, target: Path, scratch: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    plain, widened = scratch / f"{source.stem}.plain.onnx", scratch / f"{source.stem}.wide.onnx"
    _write_optimised(source, plain)  # out of onnxruntime's own format
    model = onnx.load(plain)
    _name_subgraphs(model.graph, "main")
    # onnxruntime declares every operator set it knows, and then refuses to load some of them.
    known = [opset for opset in model.opset_import if opset.domain in ("", "com.microsoft")]
    del model.opset_import[:]
    model.opset_import.extend(known)
    onnx.save(model, plain)
    _write_optimised(plain, widened)  # folds the widening of each weight into the weight
    logging.disable(logging.WARNING)
    quantize_dynamic(
        widened,
        target,
        # Unsigned: processors with AVX2 and no VNNI add pairs of products of signed weights in 16 bits, which overflow.
        # One word in eleven of short sounds changed by that, beside one in a hundred by the quantisation itself.
        weight_type=QuantType.QUInt8,
        op_types_to_quantize=["MatMul", "Gemm"],
        per_channel=True,
        extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
    )
    model = onnx.load(target)
    _share_equal_weights(model.graph)
    _halve_tables(model.graph)
    onnx.save(model, target)


def _share_equal_weights(graph: Any) -> None:
    """Of a weight that both branches of an `If` have, keep one, where both find it."""
    shared = {tensor.name: tensor.raw_data for tensor in graph.initializer}
    for branch in _branches(graph):
        for tensor in tuple(branch.initializer):
            if len(tensor.raw_data) < _LARGE or shared.get(tensor.name, tensor.raw_data) != tensor.raw_data:
                continue
            if tensor.name not in shared:
                shared[tensor.name] = tensor.raw_data
                graph.initializer.append(tensor)
            branch.initializer.remove(tensor)


def _halve_tables(graph: Any) -> None:
    """Keep in 16 bits what is only looked up by rows: the packaged files have it in 8."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    parts = (graph, *_branches(graph))
    used_otherwise = {
        name for part in parts for node in part.node for name in node.input[node.op_type == "Gather" :] if name
    }
    tables = {
        tensor.name: tensor
        for tensor in graph.initializer
        if tensor.data_type == TensorProto.FLOAT
        and len(tensor.raw_data) >= _LARGE
        and tensor.name not in used_otherwise
    }
    for part in parts:
        for at, node in reversed(tuple(enumerate(part.node))):
            if node.op_type == "Gather" and node.input[0] in tables:
                row = node.output[0]
                node.output[0] = f"{row}_half"
                part.node.insert(at + 1, helper.make_node("Cast", [f"{row}_half"], [row], to=TensorProto.FLOAT))
    for tensor in tables.values():
        half = numpy_helper.to_array(tensor).astype(np.float16)
        tensor.CopyFrom(numpy_helper.from_array(half, tensor.name))


def _branches(graph: Any) -> list[Any]:
    import onnx

    attributes = [attribute for node in graph.node for attribute in node.attribute]
    return [attribute.g for attribute in attributes if attribute.type == onnx.AttributeProto.GRAPH]


def _write_optimised(source: Path, target: Path) -> None:
    """Let onnxruntime load a model, simplify it, and write down what it made of it."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def _name_subgraphs(graph: Any, name: str) -> None:
    """The quantiser needs a name on each branch of each `If`; the packaged model has none."""
    import onnx

    graph.name = graph.name or name
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _name_subgraphs(attribute.g, f"{name}_{attribute.name}")


if __name__ == "__main__":
    convert(Path(sys.argv[1]))
