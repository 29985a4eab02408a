# SPDX-License-Identifier: Apache-2.0
"""Times a BERT-base of transformers with random weights and a pruned encoder, alternating: the dense module, SparseLinear
in the encoder, dense products by libsten, too, and sten_tools.Model; and then sten-run.

    python scripts/bench/python_bert.py [SPEC] [TOKENS] [THREADS]      # 1:4:4 128 2; SPEC: n:m, n:m:g or a sparsity
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM

import sten_tools

REPEATS = 21


def sparse_model(rules):
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig()).eval()
    return sten_tools.sparsify(model, rules) if rules else model


def layout_of(spec):
    if isinstance(spec, float):
        return "csr"
    names = [f"{name}={n}" for name, n in zip("nmg", spec.split(":"))]
    return f"{'nm' if len(names) == 2 else 'nmg'}:{','.join(names)}"


def milliseconds(calls):
    """The median time of each call; the calls alternate."""
    times = [[] for _ in calls]
    for _ in range(REPEATS):
        for call, taken in zip(calls, times):
            begin = time.perf_counter()
            call()
            taken.append(1e3 * (time.perf_counter() - begin))
    return [statistics.median(taken[3:]) for taken in times]


def sten_run(folder, layouts, ids, threads):
    """The median time of sten-run in milliseconds."""
    np.save(f"{folder}/ids.npy", ids.numpy())
    command = ["sten-run", folder, "--input", f"{folder}/ids.npy", "--layouts", layouts, "--repeats", str(REPEATS),
               "--threads", str(threads), "--json"]  # fmt: skip
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return 1e3 * report["latency"]["p50"]


def main():
    spec = sys.argv[1] if len(sys.argv) > 1 else "1:4:4"
    spec = spec if ":" in spec else float(spec)
    tokens, threads = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((2, 128), (3, 2)))
    torch.set_num_threads(threads)
    sten_tools.set_threads(threads)
    ids = torch.randint(0, 30000, (1, tokens))
    encoder = {"bert.encoder.*": spec}
    dense, sparse, both = sparse_model({}), sparse_model(encoder), sparse_model({**encoder, "*": "dense"})
    layouts = f"bert.encoder.*={layout_of(spec)}"
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        sten_tools.to_dense(sparse_model(encoder)).save_pretrained(folder)
        model = sten_tools.Model(folder, layouts=layouts)
        expected = sparse(ids).logits
        for name, y in ('"*": "dense"', both(ids).logits), ("Model", model(ids)["cls.predictions.decoder"]):
            print(f"largest difference from SparseLinear, {name}: {(y - expected).abs().max():.2g}")
        times = milliseconds(
            [lambda: dense(ids), lambda: sparse(ids), lambda: sparse.bert(ids), lambda: both(ids), lambda: model(ids)])
        times.append(sten_run(folder, layouts, ids, threads))
    names = ["transformers, dense", "SparseLinear in the encoder", "its encoder alone", '"*": "dense", too',
             "sten_tools.Model", "sten-run"]  # fmt: skip
    for name, ms in zip(names, times):
        print(f"{name}\t{ms:.1f} ms")


if __name__ == "__main__":
    main()
