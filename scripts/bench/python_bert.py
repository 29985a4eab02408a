# SPDX-License-Identifier: Apache-2.0
"""Times a BERT-base of transformers with random weights, its encoder pruned, in turns: the module itself, with
SparseLinear in the encoder, with dense products by libsten, too, and with sten_tools.Model.

    python scripts/bench/python_bert.py [SPEC] [TOKENS] [THREADS]      # 1:4:4 128 2
"""

import statistics
import sys
import tempfile
import time

import torch
from transformers import BertConfig, BertForMaskedLM

import sten_tools

LAYOUTS = {"1:4:4": "nmg:n=1,m=4,g=4", "2:4": "nm:n=2,m=4"}


def sparse_model(rules):
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig()).eval()
    return sten_tools.sparsify(model, rules) if rules else model


def seconds(calls, repeats=21):
    """The times of each call; the calls take turns."""
    times = [[] for _ in calls]
    for _ in range(repeats):
        for call, taken in zip(calls, times):
            begin = time.perf_counter()
            call()
            taken.append(time.perf_counter() - begin)
    return [taken[3:] for taken in times]


def main():
    spec = sys.argv[1] if len(sys.argv) > 1 else "1:4:4"
    tokens, threads = (int(n) for n in (sys.argv[2:4] + ["128", "2"][len(sys.argv[2:4]) :]))
    torch.set_num_threads(threads)
    sten_tools.set_threads(threads)
    ids = torch.randint(0, 30000, (1, tokens))
    encoder = {"bert.encoder.*": spec}
    dense, sparse = sparse_model({}), sparse_model(encoder)
    all_by_sten = sparse_model({**encoder, "*": "dense"})
    with tempfile.TemporaryDirectory() as folder:
        sten_tools.to_dense(sparse_model(encoder)).save_pretrained(folder)
        model = sten_tools.Model(folder, layouts=f"bert.encoder.*={LAYOUTS.get(spec, 'csr')}")
        with torch.inference_mode():
            expected = sparse(ids).logits
            for name, y in ("dense", all_by_sten(ids).logits), ("Model", model(ids)["cls.predictions.decoder"]):
                print(f"largest difference of outputs, {name}: {(y - expected).abs().max():.2g}")
            times = seconds(
                [lambda: dense(ids), lambda: sparse(ids), lambda: sparse.bert(ids), lambda: all_by_sten(ids),
                 lambda: model(ids)])  # fmt: skip
    names = ["transformers", "SparseLinear in the encoder", "its encoder alone", '"*": "dense", too', "sten_tools.Model"]
    for name, taken in zip(names, times):
        print(f"{name}\t{1e3 * statistics.median(taken):.1f} ms\t(least {1e3 * min(taken):.1f} ms)")


if __name__ == "__main__":
    main()
