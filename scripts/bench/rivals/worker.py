# SPDX-License-Identifier: Apache-2.0
"""One rival in a process of its own, which stays warm. Reads a request in JSON from each line of
stdin and answers with one line on what was stdout; what the runtime prints goes to stderr.

    worker.py RUNTIME THREADS FORM MxKxN WEIGHT...

A weight is its sparsity, 0 if it is dense, or a precision below float32, in which it is dense. First says
{"runtime", "version", "isa"}, then for each weight {"note", "error"}, once it is loaded and its result
was checked against numpy: error is the largest difference over the largest element. {"weight",
"repeats"} is answered by {"ms"} of one product.
"""

import json
import os
import sys
import time

import numpy as np

import plan
from runtimes import CLASSES

TOO_LONG = 2.0  # seconds, of which one call is enough


def seconds_of(run, threads):
    """On one thread what this process computed, so that what others take does not count."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return min(wall, cpu) if threads == 1 else wall


def measure(run, threads, repeats):
    first = seconds_of(run, threads)
    if first > TOO_LONG:
        return first
    return float(np.median([seconds_of(run, threads) for _ in range(repeats)]))


def make_inputs(form, shape, sparsity):
    """Weights N(0, 1) over the root of the columns, zero at random places; activations N(0, 1)."""
    m, k, n = shape
    rng = np.random.default_rng(1)
    weights = []
    for rows, cols in [(m, k), (k, m)] if form == "chain" else [(m, k)]:
        w = rng.standard_normal((rows, cols), dtype=np.float32) / np.float32(np.sqrt(cols))
        zeros = rng.permutation(w.size)[: round(sparsity * w.size)]
        w.reshape(-1)[zeros] = 0
        weights.append(w)
    x = rng.standard_normal((k, n) if form == "gemm" else (n, k), dtype=np.float32)
    return weights, x


def check(form, weights, x, result, transposed, furthest):
    """How far some tokens of the result are from what numpy says in float64; fails beyond `furthest`."""
    y = result.reshape(-1, result.shape[-1])
    if form == "gemm" and not transposed:
        y = y.T
    tokens = x.T if form == "gemm" else x
    some = [0, len(tokens) // 2, len(tokens) - 1]
    wanted = tokens[some].astype(np.float64)
    for i in range(plan.CHAIN if form == "chain" else 1):
        wanted = wanted @ weights[i % len(weights)].T.astype(np.float64)
    assert y.shape == (len(tokens), wanted.shape[1]), f"the result has shape {y.shape}"
    off = np.abs(y[some] - wanted).max() / np.abs(wanted).max()
    assert off < furthest, f"the result is off by {off:.2g} of its largest element"
    return float(off)


def fastest(runtime, form, shape, weight, threads):
    """(note, error, run) of the candidate that took least, each checked."""
    is_low = weight in plan.FURTHEST
    sparsity = 0 if is_low else float(weight)
    weights, x = make_inputs(form, shape, sparsity)
    if is_low:
        variants = runtime.low_precision_variants(form, weights, x)
    else:
        variants = runtime.variants(form, weights, x, sparsity > 0)
    furthest = plan.FURTHEST[weight if is_low else "float32"]
    best = None
    for note, run in variants:
        result = runtime.array(run())
        error = check(form, weights, x, result, note == "transposed", furthest)
        took = measure(run, threads, 2)
        if best is None or took < best[0]:
            best = (took, note, error, run)
    return best[1:]


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, threads, form, shape, *asked = sys.argv[1:]
    threads, shape = int(threads), tuple(map(int, shape.split("x")))

    def answer(what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    runtime = CLASSES[name](threads)
    answer({"runtime": runtime.name, "version": runtime.version, "isa": runtime.isa})
    variants = {}
    for weight in asked:
        note, error, variants[weight] = fastest(runtime, form, shape, weight, threads)
        answer({"note": note, "error": error})
    products = plan.CHAIN if form == "chain" else 1
    for line in sys.stdin:
        request = json.loads(line)
        took = measure(variants[request["weight"]], threads, request["repeats"])
        answer({"ms": 1e3 * took / products})


main()
