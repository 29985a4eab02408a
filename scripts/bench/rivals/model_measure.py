# SPDX-License-Identifier: Apache-2.0
"""Measures a model in rounds: sten-run and every worker in turn, with the same numbers as weights."""

import array
import json
import os
import random
import statistics
import struct

import measure
import model_plan
import results
from common import Failed, output_from, say


def write_ids(path, batch, tokens):
    """Random rows of the vocabulary, [batch, tokens] of int64, as NumPy's format 1.0."""
    rng = random.Random(0)
    ids = array.array("q", (rng.randrange(model_plan.VOCABULARY) for _ in range(batch * tokens)))
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (%d, %d), }" % (batch, tokens)
    header = header.ljust(117) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        ids.tofile(f)


def floats_of(path):
    """Those of an .npy file."""
    with open(path, "rb") as f:
        head = f.read(10)
        f.seek(10 + struct.unpack("<H", head[8:])[0])
        values = array.array("f")
        values.frombytes(f.read())
        return values


def difference_of(output, reference):
    """The largest difference of two elements, and the largest element of the reference."""
    a, b = floats_of(output), floats_of(reference)
    return {
        "difference": max(abs(x - y) for x, y in zip(a, b)),
        "largest": max(map(abs, b)),
    }


class Sten:
    """A process of sten-run in each round. Its output in float32 is the reference, which that in
    bfloat16 is compared with."""

    def __init__(self, program, version, model, weights, ids, reference, threads, precision):
        self.command = [program, model, "--input", ids, "--threads", str(threads)]
        if precision == "bfloat16":
            self.command += ["--precision", "bf16"]
        if weights.layout:
            self.command += ["--layouts", f"{model_plan.PATTERN}={weights.layout}"]
        self.record = measure.Record(
            runtime="sten", version=version, precision=precision, note=weights.layout or ""
        )
        output = reference if precision == "float32" else reference + ".low.npy"
        self.took = self.median_ms(1, "-o", output, "--force")
        if precision != "float32":
            self.record.update(difference_of(output, reference))

    def median_ms(self, repeats, *more):
        command = [*self.command, "--repeats", str(repeats), "--json", *more]
        return 1e3 * json.loads(output_from(command))["latency"]["p50"]

    def measure(self, pause):
        pause()
        self.record["ms"].append(self.median_ms(self.repeats))

    def close(self):
        pass


class Rival(measure.Process):
    def __init__(self, python, name, precision, model, ids, reference, threads):
        arguments = [name, precision, model, ids, reference, str(threads)]
        super().__init__(python, "model_worker.py", name, arguments, threads)
        self.record = measure.Record(precision=precision, **self.answer())

    def measure(self, pause):
        pause()
        self.record["ms"].append(self.ask(repeats=self.repeats)["ms"])


def load(setup, weights, folder):
    """sten and every rival that runs the model with these weights; of others it says why not."""
    model = os.path.join(setup["folder"], f"{file_of(weights)}.onnx")
    ids, reference = os.path.join(folder, "ids.npy"), os.path.join(folder, "y.npy")
    threads = setup["threads"]
    members = [
        Sten(setup["program"], setup["version"], model, weights, ids, reference, threads, precision)
        for precision in ["float32", *setup["precisions"]]
    ]
    for name, python in setup["rivals"].items():
        more = setup["precisions"] if weights is model_plan.DENSE else []
        for precision in ["float32", *(p for p in model_plan.RIVALS[name] if p in more)]:
            say(f"{weights.name}: loading {model_plan.NAMES[name]}, {precision}")
            try:
                members.append(Rival(python, name, precision, model, ids, reference, threads))
            except Failed as e:
                say(f"{weights.name}: left out in {precision}: {e}")
    most = round(1e3 * model_plan.SECONDS / members[0].took)
    for m in members:
        m.repeats = setup["repeats"] or min(max(model_plan.REPEATS, most), model_plan.MOST)
    return members


def file_of(weights):
    return weights.name.replace(":", "-").replace(" ", "-").replace("-%", "")


def measure_size(setup, folder):
    """Rows of one size, dense ones first. The fastest dense model in float32 stays for all rounds, so
    that the ratios to it are of the same minutes, and so does the fastest one of a rival in
    bfloat16."""
    write_ids(os.path.join(folder, "ids.npy"), setup["batch"], setup["tokens"])
    rows, base, low = [], None, None

    def fastest(members, wanted):
        found = [m for m in members if wanted(m.record)]
        return min(found, key=lambda m: statistics.median(m.record["ms"]), default=None)

    def is_low_rival(record):
        return record["runtime"] != "sten" and record["precision"] != "float32"

    for weights in [model_plan.DENSE, *setup["weights"]]:
        members = load(setup, weights, folder)
        try:
            title = f"{setup['batch']}x{setup['tokens']}, {weights.name}"
            kept = [m for m in (base, low) if m and m not in members]
            turns = members + kept
            measure.in_rounds(turns, setup["rounds"], setup["threads"], title)
            if weights is model_plan.DENSE:
                base = fastest(members, lambda r: r["precision"] == "float32")
                low = fastest(members, is_low_rival)
            of_low = low.record if low else None
            rows += summarize(setup, weights, [m.record for m in members], base.record, of_low)
            for m in filter(None, (base, low)):
                m.record = measure.Record(**{k: v for k, v in m.record.items() if k != "ms"})
        finally:
            for m in members:
                if m not in (base, low):
                    m.close()
    for m in filter(None, (base, low)):
        m.close()
    return rows


def summarize(setup, weights, records, base, low=None):
    """A row of each record; sten's has its ratio to the fastest rival too, in bfloat16 to `low`, the
    fastest dense model of a rival, as none makes use of zeros in that."""
    rivals = [r for r in records if r["runtime"] != "sten" and r["precision"] == "float32"]
    in_float32 = min(rivals, key=lambda r: statistics.median(r["ms"]), default=None)
    rows = []
    for r in records:
        best = in_float32 if r["precision"] == "float32" else low
        row = {key: setup[key] for key in ("model", "batch", "tokens", "threads")}
        row |= {"weights": weights.name, "sparsity": weights.sparsity, "line": weights.line}
        row |= {k: r.get(k) for k in ("precision", "runtime", "version", "note")}
        row |= {"ms": statistics.median(r["ms"]), "dense": base["runtime"]}
        row |= ratios("to_dense", base["ms"], r["ms"])
        mine = best and r["runtime"] == "sten"
        row |= {"best_rival": best["runtime"] if mine else None}
        row |= {"best_rival_ms": statistics.median(best["ms"]) if mine else None}
        row |= ratios("ratio", best["ms"] if mine else None, r["ms"])
        row |= {k: r.get(k) for k in ("difference", "largest")}
        row |= {"rounds": len(r["ms"]), "ms_of_rounds": r["ms"]}
        rows.append(row)
    return rows


def ratios(name, others, own):
    """Times as fast as the others, round by round: median and its 95 % interval."""
    keys = (name, f"{name}_low", f"{name}_high")
    if others is None:
        return dict.fromkeys(keys)
    return dict(zip(keys, results.spread([a / b for a, b in zip(others, own)])))
