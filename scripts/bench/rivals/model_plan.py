# SPDX-License-Identifier: Apache-2.0
"""What --model measures: change it here."""

from collections import namedtuple

# From PyPI, for Python plan.PYTHON. DeepSparse wants another numpy, so it has an environment of its own.
PACKAGES = [
    "numpy",
    "onnx==1.23.2",
    "onnxruntime==1.32.0",
    "openvino==2026.4.1",
    "torch==2.5.1",
    "transformers==4.46.3",
]
DEEPSPARSE = ["deepsparse==1.8.0", "numpy<2", "onnx"]

MODELS = {"bert-base": (12, 768), "bert-large": (24, 1024)}  # layers and hidden size
SIZES = [(8, 512), (1, 128), (1, 16)]  # sequences, and tokens of each
VOCABULARY = 30522  # BertConfig's

# Weights of the encoder's linear layers. prune: what sten-prune is told; layout: sten-run's; the
# runtimes get the same numbers in a dense ONNX model. line: sten's in the chart.
Weights = namedtuple("Weights", "name sparsity line prune layout")
PATTERN = "encoder.layer.*.weight"
LINES = ["sten n:m:g", "sten CSR"]
TILES = "sten nmgv"  # measured for its rows in bfloat16
DENSE = Weights("dense", 0, None, None, None)


def _nmg(m):
    return Weights(
        f"1:{m}:4", round(1 - 1 / m, 6), LINES[0], ["--structure", f"1:{m}:4"], f"nmg:n=1,m={m},g=4"
    )


def _csr(sparsity):
    return Weights(
        f"csr {100 * sparsity:g} %", sparsity, LINES[1], ["--sparsity", f"{sparsity}"], "csr"
    )


def _nmgv(m, g):
    return Weights(
        f"1:{m}:{g}:32",
        round(1 - 1 / m, 6),
        TILES,
        ["--structure", f"1:{m}:{g}:32"],
        f"nmgv:n=1,m={m},g={g},v=32",
    )


SPARSE = [_nmg(4), _nmg(10), _nmg(20), _csr(0.75), _csr(0.9), _nmgv(2, 4), _nmgv(4, 2)]

# In which precisions a dense model runs, besides float32.
RIVALS = {
    "torch": ["bfloat16"],
    "onnxruntime": [],  # its bfloat16 products are for ARM alone
    "openvino": ["bfloat16"],
    "deepsparse": [],
}
NAMES = {
    "torch": "PyTorch",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "deepsparse": "DeepSparse",
}

ROUNDS = 7  # below, a median's 95 % interval is wider than all of its values
REPEATS = 3  # of a model in a round at least; more within SECONDS, up to MOST
SECONDS, MOST = 2, 50
FURTHEST = 1e-3  # of the largest output, that float32 outputs may differ from sten's
QUICK = {"rounds": 2, "repeats": 1}


def shape_of(name):
    """Layers and hidden size of a name, or of LAYERSxHIDDEN. ValueError where it is neither."""
    if name in MODELS:
        return MODELS[name]
    layers, hidden = map(int, name.split("x"))
    if layers < 1 or hidden < 64 or hidden % 64:
        raise ValueError
    return layers, hidden
