#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times sten-prune on a large sharded checkpoint against copying it: `cp -r A B && sync B/*`.

    scripts/bench/checkpoint.py [--dir DIR] [--linears 64] [--size 4096] [--dtype F32] [--rounds 5] [--only NAME]

Makes the checkpoint in DIR (4.3 GB by default; needs numpy and room for three copies) unless it is
there, runs every case and a copy in turn, warm, the one first and then the other, and prints each
case's median ratio to its copy, its ratio to the fastest copy so far (copies take several times
longer where the machine must first get memory for their pages), and its peak memory. sten-prune is
taken from build/bin, or STEN_BIN.
"""
import argparse, json, os, shutil, statistics, struct, subprocess, sys, time

CASES = {
    "per-tensor 90 % to dense": ["--sparsity", "0.9"],
    "global 90 % to dense": ["--sparsity", "0.9", "--scope", "global"],
    "per-tensor 90 % to bitmask": ["--sparsity", "0.9", "--to", "bitmask"],
    "1:10:4 to nmg": ["--structure", "nmg:n=1,m=10,g=4", "--to", "nmg"],
}


def make(path, linears, size, dtype):
    """Weights as trained ones are distributed: Student's t, each row on a scale of its own."""
    import numpy as np
    os.makedirs(path)
    shards, weight_map = 4, {}
    width = {"F32": 4, "F16": 2, "BF16": 2}[dtype]
    for s in range(shards):
        file = f"model-{s + 1:05d}-of-{shards:05d}.safetensors"
        names = [f"model.layers.{i}.weight" for i in range(s * linears // shards, (s + 1) * linears // shards)]
        n = size * size * width
        header = {name: {"dtype": dtype, "shape": [size, size], "data_offsets": [k * n, (k + 1) * n]}
                  for k, name in enumerate(names)}
        text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(path, file), "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for name in names:
                rng = np.random.default_rng(len(weight_map))
                x = rng.standard_normal((size, size), np.float32)
                x /= np.sqrt(rng.standard_gamma(1.5, (size, size), np.float32) / 1.5)
                x *= 0.02 * np.exp(0.5 * rng.standard_normal((size, 1), np.float32))
                if dtype == "F16": x = x.astype(np.float16)
                if dtype == "BF16": x = (x.view(np.uint32) >> 16).astype(np.uint16)
                f.write(x.tobytes())
                weight_map[name] = file
    total = linears * size * size * width
    with open(os.path.join(path, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": weight_map}, f)
    with open(os.path.join(path, "config.json"), "w") as f: f.write("{}\n")


def run(command):
    """Seconds and peak bytes of the largest process."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode: sys.exit(f"{command} failed: {errors.decode()}")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p.add_argument("--dir", default=os.path.join(root, "build", "bench"))
    p.add_argument("--linears", type=int, default=64)
    p.add_argument("--size", type=int, default=4096)
    p.add_argument("--dtype", default="F32", choices=["F32", "F16", "BF16"])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", default="", help="cases whose name contains this")
    p.add_argument("--threads", default="2")
    a = p.parse_args()
    prune = os.path.join(os.environ.get("STEN_BIN", os.path.join(root, "build", "bin")), "sten-prune")
    model = os.path.join(a.dir, f"{a.dtype}-{a.linears}x{a.size}")
    out = os.path.join(a.dir, "out")
    if not os.path.isdir(model):
        make(model + ".part", a.linears, a.size, a.dtype)
        os.rename(model + ".part", model)
    cases = {k: v for k, v in CASES.items() if a.only in k}
    copy = ["sh", "-c", 'cp -r --reflink=never "$1" "$2" && sync "$2"/*', "sh", model, out]
    print(f"{model}, {a.threads} threads, {a.rounds} rounds")
    print(f"{'':28}{'copy s':>9}{'sten s':>9}{'ratio':>8}{'low':>7}{'high':>7}{'to fastest':>12}{'peak MB':>9}")
    fastest = float("inf")
    for name, flags in cases.items():
        prune_it = [prune, model, "-o", out, "--threads", a.threads, "-q", *flags]
        times, peak = {"copy": [], "sten": []}, 0
        for r in range(a.rounds + 1):  # the first one warms up
            pair = [("copy", copy), ("sten", prune_it)]
            for who, command in pair if r % 2 else reversed(pair):
                shutil.rmtree(out, ignore_errors=True)
                t, memory = run(command)
                if r: times[who].append(t)
                if who == "sten": peak = max(peak, memory)
        fastest = min([fastest, *times["copy"]])
        ratios = [t / c for t, c in zip(times["sten"], times["copy"])]
        print(f"{name:28}{statistics.median(times['copy']):9.2f}{statistics.median(times['sten']):9.2f}"
              f"{statistics.median(ratios):8.2f}{min(ratios):7.2f}{max(ratios):7.2f}{statistics.median(times['sten']) / fastest:12.2f}{peak / 1e6:9.0f}", flush=True)
    shutil.rmtree(out, ignore_errors=True)


main()
