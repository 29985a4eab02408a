# SPDX-License-Identifier: Apache-2.0
"""Pruning by scores and by blocks against numpy: which elements stay."""

import unittest

import numpy as np
from _programs import Case, report
from _reference import (
    FLOATS,
    ceil_div,
    decode,
    entry,
    file_bytes,
    llround,
    magnitude_mask,
    per_block_mask,
    places,
    read_file,
    tensors_of,
)
from _samples import weights

SHAPES = [(1, 1), (1, 97), (13, 17), (101, 1), (0, 5), (2, 3, 5, 7), (257, 301)]
SPARSITIES = ["0", "1", "0.5", "0.9", "0.1", "0.333"]


def numbers(e):
    """Elements as they are ranked: in float32, in float64 for F64."""
    kind = np.float64 if e.dtype == "F64" else np.float32
    return e.array().view(FLOATS[e.dtype]).astype(kind)


def product(w, g):
    """abs(w * g) in float32, in float64 where one of them is."""
    with np.errstate(over="ignore", under="ignore"):
        return np.abs(w * g)


def blocks_of(shape, h, w):
    """Row-major offsets of every block, row of blocks by row of blocks."""
    at = places(shape)
    for r in range(ceil_div(at.shape[0], h)):
        for c in range(ceil_div(at.shape[1], w)):
            yield at[r * h : (r + 1) * h, c * w : (c + 1) * w].reshape(-1)


def block_mask(score, sparsity, h, w):
    """The blocks with the smallest sums go, among equals the later first."""
    flat = np.abs(score.reshape(-1)).astype(np.float64)
    blocks = list(blocks_of(score.shape, h, w))
    # One after the other, as the rule says; numpy's own sum adds in another order.
    sums = np.array([sum(flat[b].tolist()) for b in blocks])
    keep = np.ones(score.size, bool)
    for b in np.lexsort((-np.arange(len(sums)), sums))[: llround(sparsity * len(sums))]:
        keep[blocks[b]] = False
    return keep.reshape(score.shape)


class Scores(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.entries, self.scores = [], {}
        kinds = list(FLOATS)
        for i, shape in enumerate(SHAPES):
            for j, dtype in enumerate(FLOATS):
                name, other = f"{i}.{dtype}.weight", kinds[(i + j) % len(kinds)]
                self.entries.append(entry(name, dtype, weights(rng, dtype, shape)))
                self.scores[name] = entry(name, other, weights(rng, other, shape))
        self.source = self.write("source", file_bytes(self.entries))
        order = [list(self.scores)[i] for i in rng.permutation(len(self.scores))]
        self.score_file = self.write("scores", file_bytes([self.scores[n] for n in order]))

    def masks(self, *flags):
        out = self.path("masked")
        rows = report("prune", self.source, "-o", out, "-f", "--to", "masked", *flags)["tensors"]
        self.assertEqual(len(rows), len(self.entries))
        return {name: decode(t)[1] for name, t in tensors_of(read_file(out)).items()}

    def check(self, mask_of, *flags):
        """mask_of(weights, scores) for every tensor."""
        masks = self.masks(*flags)
        for e in self.entries:
            expected = mask_of(numbers(e), numbers(self.scores[e.name]))
            self.same(masks[e.name], expected, f"{flags}: {e.name}")

    def test_movement(self):
        for s in SPARSITIES:
            self.check(
                lambda w, m: magnitude_mask(m, float(s)),
                *("--method", "movement", "--scores", self.score_file, "--sparsity", s),
            )

    def test_gradient(self):
        for s in SPARSITIES:
            self.check(
                lambda w, g: magnitude_mask(product(w, g), float(s)),
                *("--method", "gradient", "--scores", self.score_file, "--sparsity", s),
            )

    def test_l0(self):
        def gate(a):
            return np.clip(1.2 / (1 + np.exp(-a.astype(np.float64))) - 0.1, 0, 1)

        # Most weights are small: shifted, so that gates of both kinds are there.
        for name, e in self.scores.items():
            kind = FLOATS[e.dtype]
            a = (e.array().view(kind).astype(np.float32) - 2.2).astype(kind)
            self.scores[name] = entry(name, e.dtype, a)
        self.score_file.write_bytes(file_bytes(list(self.scores.values())))
        flags = ("--method", "l0", "--scores", self.score_file)
        self.check(lambda w, a: gate(a) > 0, *flags)
        kept = np.concatenate([m.reshape(-1) for m in self.masks(*flags).values()]).mean()
        self.assertTrue(0.2 < kept < 0.9, kept)

    def test_structures_by_gradient(self):
        flags = ("--method", "gradient", "--scores", self.score_file)
        self.check(
            lambda w, g: per_block_mask(product(w, g), 2, 4), *flags, "--structure", "nm:n=2,m=4"
        )
        self.check(
            lambda w, g: block_mask(product(w, g), 0.5, 4, 3),
            *(*flags, "--structure", "block:h=4,w=3", "--sparsity", "0.5"),
        )

    def test_blocks(self):
        for h, w in ((4, 4), (1, 8), (16, 1), (3, 5), (1000, 1000)):
            for s in ("0.5", "0.9", "0.1"):
                self.check(
                    lambda x, _: block_mask(x, float(s), h, w),
                    *("--structure", f"block:h={h},w={w}", "--sparsity", s),
                )

    def test_one_threshold(self):
        for method, s in (("movement", "0.2"), ("movement", "0.8"), ("gradient", "0.7")):
            masks = self.masks(
                *("--method", method, "--scores", self.score_file, "--sparsity", s),
                *("--scope", "global"),
            )
            # In natural order of names, where 8 comes before 16. Some are F64, so all are double.
            order = "BF16 F8_E4M3 F8_E5M2 F16 F32 F64".split()
            entries = sorted(
                self.entries, key=lambda e: (int(e.name.split(".")[0]), order.index(e.dtype))
            )
            ranks = []
            for e in entries:
                score = numbers(self.scores[e.name]).astype("f8")
                ranks.append(product(numbers(e), score) if method == "gradient" else score)
            kept = np.concatenate([masks[e.name].reshape(-1) for e in entries])
            expected = magnitude_mask(np.concatenate([r.reshape(-1) for r in ranks]), float(s))
            self.same(kept, expected, f"{method} {s}")


if __name__ == "__main__":
    unittest.main()
