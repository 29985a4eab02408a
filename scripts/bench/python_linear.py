# SPDX-License-Identifier: Apache-2.0
"""Times SparseLinear of sten_tools beside torch.nn.Linear on one thread, as `sten-bench gemm --form linear` does.

    python scripts/bench/python_linear.py OUTxINxTOKENS SPEC      # 768x3072x128 1:4:4
"""

import statistics
import sys
import time

import torch

import sten_tools


def milliseconds(layers, x, repeats=41):
    """The least and the median time of each layer; the layers take turns."""
    times = [[] for _ in layers]
    for _ in range(repeats):
        for layer, taken in zip(layers, times):
            begin = time.perf_counter()
            layer(x)
            taken.append(1e3 * (time.perf_counter() - begin))
    return [(min(taken[1:]), statistics.median(taken[1:])) for taken in times]


def main():
    out, inputs, tokens = map(int, sys.argv[1].split("x"))
    torch.set_num_threads(1)
    sten_tools.set_threads(1)
    torch.manual_seed(0)
    dense = torch.nn.Linear(inputs, out)
    sparse = sten_tools.SparseLinear.from_linear(dense, sys.argv[2])
    with torch.no_grad():
        times = milliseconds([dense, sparse], torch.randn(tokens, inputs))
    for name, (least, median) in zip(["torch.nn.Linear", f"SparseLinear {sys.argv[2]}"], times):
        print(f"{name}\t{least:.2f} ms\t(median {median:.2f} ms)")


if __name__ == "__main__":
    main()
