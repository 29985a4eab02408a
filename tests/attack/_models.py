# SPDX-License-Identifier: Apache-2.0
"""Random checkpoints, and what the rules of pruning make of them, in numpy.

Layouts are read and written by tests/interop/_reference.py, which is numpy alone too.
"""

import math
import struct

import numpy as np
from _reference import (
    BYTE_DTYPES,
    FLOATS,
    Entry,
    bits_type,
    entry,
    file_bytes,
    greedy_patterns,
    llround,
    parse_spec,
    patterns_mask,
    per_block_mask,
    places,
    size_of,
)
from _samples import any_bits, distinct_weights, weights


def generator(rng):
    return np.random.default_rng(rng.getrandbits(64))


def random_shape(rng, rank=None, most=600):
    """Ragged, long, thin, stacked, sometimes without elements."""
    rank = rank or rng.choice([2, 2, 2, 2, 3, 3, 4, 5])
    while True:
        kind = rng.random()
        if kind < 0.15:
            shape = [rng.choice([0, 1, 1, 2, 3, 5]) for _ in range(rank)]
        elif kind < 0.3:
            shape = [1] * rank
            shape[rng.randrange(rank)] = rng.randint(1, most)
        else:
            side = most ** (1 / rank)
            shape = [rng.randint(1, max(1, int(2 * side))) for _ in range(rank)]
        if size_of(shape) <= 2 * most:
            return tuple(shape)


def random_values(rng, dtype, shape):
    """Finite; ties, zeros of both signs and denormals are usual."""
    kind = rng.random()
    n, g = size_of(shape), generator(rng)
    if kind < 0.55:
        return weights(g, dtype, shape)
    if kind < 0.75:
        return distinct_weights(g, dtype, shape)
    if kind < 0.8:
        values = np.zeros(n)
    elif kind < 0.85:
        values = np.full(n, rng.choice([1.0, -0.5, -0.0]))
    elif kind < 0.95:  # few magnitudes
        values = g.integers(-2, 3, n).astype("f8") * g.choice([1.0, -1.0], n)
    else:  # masked by multiplication
        values = g.standard_normal(n) * (g.random(n) < 0.5)
    return values.astype(FLOATS[dtype]).view(bits_type(dtype)).reshape(shape)


def not_finite(bits, dtype):
    return ~np.isfinite(bits.view(FLOATS[dtype]).astype("f8"))


def with_non_finite(rng, dtype, bits):
    kinds = [np.nan, -np.nan] if dtype == "F8_E4M3" else [np.inf, -np.inf, np.nan, -np.nan]
    special = np.array(kinds).astype(FLOATS[dtype]).view(bits_type(dtype))
    flat = bits.reshape(-1).copy()
    for _ in range(rng.randint(1, 4) if flat.size else 0):
        flat[rng.randrange(flat.size)] = special[rng.randrange(len(special))]
    return flat.reshape(bits.shape)


def other_entries(rng):
    """What is never pruned and has to come through."""
    out = []
    for i in range(rng.randint(0, 3)):
        dtype = rng.choice(BYTE_DTYPES)
        shape = random_shape(rng, rng.choice([1, 2, 3]), 40)
        name = rng.choice(["bias", "h.ln_1.weight", "wte.weight", "norm.weight", "ümläut", "a b|c"])
        if name == "wte.weight":
            shape = shape[:2]  # a convolution may be called so
        if dtype in FLOATS and rng.random() < 0.3:
            shape, name = shape[:1], "flat.weight"  # rank 1
        out.append(entry(f"other.{i}.{name}", dtype, any_bits(generator(rng), dtype, shape)))
    if rng.random() < 0.2:
        out.append(Entry("other.scalar", "F32", (), struct.pack("<f", 1.5)))
    if rng.random() < 0.1:
        out.append(Entry("other.f4", "F4", (2, 4), bytes(rng.randbytes(4))))
    return out


def random_model(rng, rank=None, non_finite=False, most=600):
    """(entries, names of those that are pruned)."""
    entries = []
    for i in range(rng.randint(1, 7)):
        dtype = rng.choice(list(FLOATS))
        bits = random_values(rng, dtype, random_shape(rng, rank, most))
        if non_finite and rng.random() < 0.3:
            bits = with_non_finite(rng, dtype, bits)
        entries.append(entry(f"layer.{i}.weight", dtype, bits))
    if len(entries) > 1 and rng.random() < 0.1:  # tied
        entries.append(Entry("layer.90.weight", *list(vars(entries[0]).values())[1:]))
    pruned = [e.name for e in entries]
    entries += other_entries(rng)
    rng.shuffle(entries)
    return entries, pruned


def write_model(rng, path, entries, metadata=None):
    names = [e.name for e in entries]
    if rng.random() < 0.5:
        rng.shuffle(names)
    if metadata is None and rng.random() < 0.5:
        metadata = {"format": "pt", "note": 'ä \U0001f600 "'}
    spaced, after = rng.random() < 0.2, " " * rng.randrange(9)
    path.write_bytes(file_bytes(entries, metadata, names, after=after, spaced=spaced))


# ------------------------------------------------------------------------------ what is kept


def ranked(bits, dtype):
    """Magnitudes as they are ranked; infinite where they are NaN."""
    kind = np.float64 if dtype == "F64" else np.float32
    values = np.abs(bits.view(FLOATS[dtype]).astype(kind))
    return np.where(np.isfinite(values), values, np.inf).astype(kind)


def smallest_go(scores, sparsity):
    """What is kept if the smallest llround(sparsity * N) go, among equals the later first."""
    going = np.lexsort((-np.arange(scores.size), scores))[: llround(sparsity * scores.size)]
    keep = np.ones(scores.size, bool)
    keep[going] = False
    return keep


def by_magnitude(entries, sparsity):
    return {
        e.name: smallest_go(ranked(e.array(), e.dtype).reshape(-1), sparsity).reshape(e.shape)
        for e in entries
    }


def by_global_magnitude(entries, sparsity):
    """One threshold over all; equal tensors count once and get the same mask."""
    first, groups = {}, []
    natural = sorted(entries, key=lambda e: int(e.name.split(".")[1]))
    for e in natural:
        key = (e.dtype, e.shape, e.data)
        if key not in first:
            first[key] = len(groups)
            groups.append(e)
    scores = [ranked(e.array(), e.dtype).astype("f8").reshape(-1) for e in groups]
    keep = smallest_go(np.concatenate(scores), sparsity)
    parts = np.split(keep, np.cumsum([s.size for s in scores])[:-1])
    return {e.name: parts[first[e.dtype, e.shape, e.data]].reshape(e.shape) for e in natural}


def by_threshold(entries, at):
    kept = {}
    for e in entries:
        scores = ranked(e.array(), e.dtype)
        kept[e.name] = ~(scores < scores.dtype.type(at))
    return kept


def by_blocks_of_m(entries, spec):
    _, a = parse_spec(spec)
    return {
        e.name: per_block_mask(ranked(e.array(), e.dtype), a["n"], a["m"], a.get("axis", 1), a["dims"])
        for e in entries
    }


def check_blocks(e, keep, sparsity, h, w):
    """Whole blocks went, the right number of them, and none that has more than one that stays."""
    rows, columns = e.shape[0], size_of(e.shape[1:])
    if rows * columns == 0:
        return
    grid = (np.arange(rows)[:, None] // h) * math.ceil(columns / w) + np.arange(columns)[None, :] // w
    blocks = math.ceil(rows / h) * math.ceil(columns / w)
    kept = np.bincount(grid.reshape(-1), keep.reshape(-1), blocks)
    size = np.bincount(grid.reshape(-1), minlength=blocks)
    assert np.all((kept == 0) | (kept == size)), "a block went in part"
    assert np.sum(kept == 0) == llround(sparsity * blocks), "another number of blocks went"
    sums = np.bincount(grid.reshape(-1), ranked(e.array(), e.dtype).astype("f8").reshape(-1), blocks)
    gone, here = sums[kept == 0], sums[kept > 0]
    assert not gone.size or not here.size or gone.max() <= here.min() * (1 + 1e-5), "a larger block went"


def greedy_energy(e, spec):
    """The magnitude that the paper's rule keeps."""
    _, a = parse_spec(spec)
    scores = ranked(e.array(), e.dtype)
    where = (e.shape, a["n"], a["m"], a["g"], a.get("axis", 0), a["dims"])
    keep = patterns_mask(greedy_patterns(scores, *where[1:]), *where)
    return keep, scores[keep].astype("f8").sum()


def nmg_holds(keep, spec):
    """Whether every strip keeps at most n of m; that each pattern has g strips is for decode()."""
    _, a = parse_spec(spec)
    at = places(keep.shape, a["dims"], a.get("axis", 0) == 1)
    lines = keep.reshape(-1)[at] if keep.size else np.zeros(at.shape, bool)
    short = -lines.shape[-2] % a["m"]
    lines = np.concatenate([lines, np.zeros(lines.shape[:-2] + (short, lines.shape[-1]), bool)], -2)
    blocks = lines.reshape(lines.shape[:-2] + (lines.shape[-2] // a["m"], a["m"], lines.shape[-1]))
    return bool(np.all(blocks.sum(-2) <= a["n"]))
