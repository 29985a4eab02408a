# SPDX-License-Identifier: Apache-2.0
"""What is measured: change it here."""

# Pinned, from PyPI, into an environment of their own. DeepSparse has no build for later Pythons.
PYTHON = "3.11"
PACKAGES = [
    "apache-tvm==0.27.0.post1",
    "deepsparse==1.8.0",
    "numpy==1.26.4",
    "onnx==1.14.1",
    "onnxruntime==1.31.1",
    "torch==2.5.1",
]

# Lines of the chart and their n:m:g, in the g that are fast in a form. A small g keeps less.
STEN = {
    "sten n:m:g": ["2:4:16", "1:4:16", "1:10:4", "1:20:2"],
    "sten n:m:g, small g": ["2:4:2", "1:4:4", "1:10:1", "1:20:1"],
}
STEN_OF_FORM = {
    "gemm": ["sten n:m:g"],
    "linear": ["sten n:m:g", "sten n:m:g, small g"],
    "chain": ["sten n:m:g", "sten n:m:g, small g"],
}
STEN_CSR = "sten CSR"  # at every sparsity
# n:m:g over tiles of 32 x 2, in bfloat16, where the processor multiplies that.
STEN_TILES = "sten nmgv, bfloat16"
TILES = ["1:2:4", "1:4:2", "1:10:1", "1:20:1"]

# Rivals, whose weights of a sparsity are zero at random places. Dense: a sparsity of 0.
RUNTIMES = ["sten", "torch", "onnxruntime", "deepsparse", "tvm"]
LINES = {"torch": "PyTorch CSR", "deepsparse": "DeepSparse"}
# In which precisions dense products run, besides float32. Those of sten-bench, oneDNN's, are named as here.
LOW = {"torch": ["bfloat16"]}
PRECISIONS = {"bf16": "bfloat16"}
FURTHEST = {"float32": 1e-4, "bfloat16": 0.03}  # of the largest element, that results may be off by

ORDER = [*STEN, STEN_CSR, STEN_TILES, *LINES.values(), "libxsmm"]  # of the lines

FORMS = ["gemm", "linear", "chain"]
SHAPE = (768, 3072, 4096)  # M, K, N: BERT-base's second feed-forward layer, 8 x 512 tokens
SPARSITIES = [0.5, 0.75, 0.9, 0.95]
CHAIN = 8  # products; as in sten-bench
LEAST_ROUNDS = 7  # below, a median's 95 % interval is wider than all of its values
REPEATS = 3
QUICK = {"shape": (96, 192, 256), "rounds": 2, "repeats": 1}


def sparsity_of(nmg):
    n, m, _ = map(int, nmg.split(":"))
    return round(1 - n / m, 6)


def sten_layouts(form, sparsities, has_tiles):
    """(line, sparsity, layout as sten-bench takes it) of each."""
    for line in STEN_OF_FORM[form]:
        for nmg in STEN[line]:
            n, m, g = nmg.split(":")
            if sparsity_of(nmg) in sparsities:
                yield line, sparsity_of(nmg), f"nmg:n={n},m={m},g={g}"
    for nmg in TILES if has_tiles else []:
        n, m, g = nmg.split(":")
        if sparsity_of(nmg) in sparsities:
            yield STEN_TILES, sparsity_of(nmg), f"nmgv:n={n},m={m},g={g},v=32"
    for s in sparsities:
        yield STEN_CSR, s, f"csr:sparsity={s:g}"
