# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts that write reference results of PyTorch: output path, random numbers, tensors, files.

A script in a folder beside this one finds this module by

    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
"""

import json
import math
import pathlib
import re
import sys

import numpy as np
import torch

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def output_path(default, threads=1):
    """The first argument, or `default`. PyTorch computes on `threads` threads, so that results are the same
    each time."""
    torch.set_num_threads(threads)
    return pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default


# ------------------------------------------------------------------------------- random numbers
# As in libsten/core/base/random.h. Numbers i are arrays or integers, results are arrays.

MASK_64 = 2**64 - 1


def mix_bits(x):
    x = np.asarray(x, dtype=np.uint64)
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def random_bits(seed, i):
    i = np.atleast_1d(np.asarray(i, dtype=np.uint64))
    return mix_bits(mix_bits(np.full_like(i, seed & MASK_64)) ^ mix_bits(~i))


def random_uniform(seed, i):
    return (random_bits(seed, i) >> np.uint64(11)) * 2.0**-53


def index_below(seed, i, n):
    return (random_uniform(seed, i) * n).astype(np.int64)


def seed_for(seed, name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK_64
    mixed = int(mix_bits(np.array([h], dtype=np.uint64))[0])
    return int(mix_bits(np.array([seed ^ mixed], dtype=np.uint64))[0])


def shuffled(n, seed):
    return np.argsort(random_bits(seed, np.arange(n)), kind="stable")


# -------------------------------------------------------------------------------------- tensors


def as_float32(x):
    """The float64 tensor with values rounded to float32."""
    return x.float().double()


def initial(name, shape, seed, std=None, bound=None):
    """Initial weights as in libsten/model/graph/initial.cpp: normal if std is given, else uniform in
    [-bound, bound)."""
    seed, i = seed_for(seed, name), 2 * np.arange(math.prod(shape))
    u = random_uniform(seed, i)
    if std is None:
        x = bound * (2 * u - 1)
    else:
        x = std * np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * math.pi * random_uniform(seed, i + 1))
    return as_float32(torch.from_numpy(x.reshape(shape)))


def mirrored_pads(pads):
    """The pads of F.pad, last axis first, from [begins..., ends...]."""
    n = len(pads) // 2
    return [p for d in reversed(range(n)) for p in (pads[d], pads[n + d])]


# ---------------------------------------------------------------------------------------- files


def save(path, tensors, **metadata):
    """Writes safetensors: floats as F32, metadata as JSON unless they are strings."""
    from safetensors.torch import save_file

    tensors = {k: x.detach().float() if x.is_floating_point() else x for k, x in tensors.items()}
    tensors = {k: x.clone(memory_format=torch.contiguous_format) for k, x in tensors.items()}
    assert all(x.isfinite().all() for x in tensors.values())
    metadata = {k: v if isinstance(v, str) else json.dumps(v) for k, v in metadata.items()}
    save_file(tensors, path, metadata or None)


def save_runs(path, runs, **others):
    """Writes JSON with one run per line."""
    text = ",\n".join(json.dumps(run) for run in runs)
    rest = "".join(f',\n"{k}": {json.dumps(v)}' for k, v in others.items())
    path.write_text(f'{{"runs": [\n{text}\n]{rest}}}\n')


# ------------------------------------------------------------------------------------ operators


def operator_rows():
    """The operators with a row in kernels/unary.def or kernels/binary.def: number of inputs by name."""
    rows = {}
    for inputs, kind in ((1, "unary"), (2, "binary")):
        text = (SOURCE / "kernels" / f"{kind}.def").read_text()
        names = re.findall(rf'^{kind.upper()}\(\w+, \(\.name = "([^"]+)"', text, re.MULTILINE)
        assert len(names) == text.count(f"\n{kind.upper()}("), f"{kind}.def has rows without a name"
        rows |= dict.fromkeys(names, inputs)
    return rows


def function_named(op):
    """PyTorch's function of the operator's name. It takes attributes by position."""
    for name in (op.replace("-", "_"), op.replace("-", "")):
        for module in (torch, torch.nn.functional):
            if function := getattr(module, name, None):
                return lambda *x, **attributes: function(*x, *attributes.values())
    raise AttributeError(f"PyTorch has no function {op}: add one to OPERATORS")
