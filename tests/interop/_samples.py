# SPDX-License-Identifier: Apache-2.0
"""Tensors to test with, always the same for the same generator."""

import math

import ml_dtypes
import numpy as np
from _reference import (
    FLOATS,
    bits_type,
    nm_blocks,
    nmg_chunks,
    nmgv_split,
    nmgv_tiles,
    patterns_mask,
    size_of,
    with_tiles,
)

# Rank 2 to 4, without elements, one element, ragged in every way, and enough elements for
# several threads.
SHAPES = [(1, 1), (1, 9), (7, 1), (3, 5), (13, 29), (64, 40), (0, 4), (4, 0), (0, 0)]
SHAPES += [(2, 3, 4), (5, 1, 3), (2, 0, 3), (3, 1, 5, 2), (2, 7, 3, 3), (331, 401)]


def weights(rng, dtype, shape):
    """Finite, with many equal magnitudes, both zeros and denormals."""
    kind = FLOATS[dtype]
    denormal = float(ml_dtypes.finfo(kind).smallest_subnormal)
    n = size_of(shape)
    values = rng.standard_normal(n)
    few = rng.choice([0.5, -0.5, 1.0, -1.0, 0.25, 0.0, -0.0, denormal, -denormal], n)
    values = np.where(rng.random(n) < 0.4, few, values).astype(kind)
    return values.view(bits_type(dtype)).reshape(shape)


def distinct_weights(rng, dtype, shape):
    """Finite and nonzero, of a normal distribution."""
    values = rng.standard_normal(size_of(shape))
    values = np.where(np.abs(values) < 0.01, 0.01, values).astype(FLOATS[dtype])
    return values.view(bits_type(dtype)).reshape(shape)


def any_bits(rng, dtype, shape, density=0.4):
    """Any bits at all: NaN with payloads, infinities, -0.0 and denormals among them; the other
    elements are 0."""
    kind, n = bits_type(dtype), size_of(shape)
    if dtype == "BOOL":
        return (rng.random(n) < density).astype(kind).reshape(shape)
    bits = np.frombuffer(rng.bytes(n * kind.itemsize), kind).copy()
    if dtype in FLOATS:
        special = np.array([np.inf, -np.inf, np.nan, -np.nan, -0.0]).astype(FLOATS[dtype])
        special = np.append(special.view(kind), [kind.type(1)])  # and the smallest denormal
        bits = np.where(rng.random(n) < 0.2, rng.choice(special, n), bits)
    return np.where(rng.random(n) < density, bits, 0).astype(kind).reshape(shape)


def nm_mask(rng, shape, n, m, axis=1, dims=None):
    """Up to n of every m."""
    at = nm_blocks(shape, m, axis, dims)
    order = rng.permuted(np.broadcast_to(np.arange(m), at.shape), axis=-1)
    keep = np.zeros(size_of(shape) + 1, bool)
    keep[at[order < n]] = True
    return (keep[:-1] & (rng.random(keep.size - 1) < 0.9)).reshape(shape)


def nmg_mask(rng, shape, n, m, g, axis=0, dims=None):
    """(mask, pattern of every strip): each pattern for g strips of a chunk, not all kept."""
    lead = nmg_chunks(shape, n, m, g, axis, dims).shape[:-2]
    one = np.repeat(np.arange(math.comb(m, n)), g)
    pattern_of = rng.permuted(np.broadcast_to(one, (size_of(lead), one.size)), axis=-1)
    keep = patterns_mask(pattern_of, shape, n, m, g, axis, dims)
    return keep & (rng.random(shape) < 0.9), pattern_of


def tiles_mask(kept, shape, **cut):
    """The elements of the kept tiles, which are counted as nmgv_tiles() does."""
    at = with_tiles(nmgv_tiles(shape, **cut), np.flatnonzero(kept), size_of(shape))
    keep = np.zeros(size_of(shape) + 1, bool)
    keep[at] = True
    return keep[:-1].reshape(shape)


def nmgv_mask(rng, shape, **args):
    """The same for n:m:g over tiles."""
    cut, of_tiles = nmgv_split(args)
    tiles, of = of_tiles(nmgv_tiles(shape, **cut))
    kept, pattern_of = nmg_mask(rng, tiles, **of)
    return tiles_mask(kept, shape, **cut) & (rng.random(shape) < 0.9), pattern_of
