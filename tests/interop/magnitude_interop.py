# SPDX-License-Identifier: Apache-2.0
"""Pruning by magnitude against numpy: which elements stay, and that nothing else changes."""

import unittest

import numpy as np
from _programs import Case, report, run
from _reference import (
    FLOATS,
    decode,
    entry,
    file_bytes,
    llround,
    magnitude_mask,
    per_block_mask,
    places,
    read_file,
    scores,
    size_of,
    tensors_of,
)
from _samples import any_bits, distinct_weights, weights

SPARSITIES = f"""
    0 1 0.5 0.9 {1 / 3!r} {2 / 3!r} 0.1 0.25 0.99 0.999 1e-3 1e-9 0.9999999 0.875 0.3141592653589793
""".split()
SHAPES = [(1, n) for n in (1, 2, 3, 5, 7, 97, 127, 1009, 65537, 131071)]
SHAPES += [(2, 4), (10, 10), (101, 1), (0, 5), (3, 7, 11), (2, 3, 5, 7), (257, 257)]
BLOCK_SHAPES = [(1, 1), (13, 17), (8, 64), (3, 7, 11), (0, 5), (5, 0), (2, 3, 5, 7), (257, 257)]
BLOCKS = [(2, 4, 1), (2, 4, 0), (1, 4, 1), (3, 5, 1), (4, 4, 1), (1, 1, 0), (1, 10, 0), (7, 300, 1)]


def checkpoint(rng, shapes):
    """Weights of all dtypes that can be pruned, between tensors that must not change."""
    entries = []
    for i, shape in enumerate(shapes):
        for dtype in FLOATS:
            entries.append(entry(f"{i}.{dtype}.weight", dtype, weights(rng, dtype, shape)))
    for i, dtype in enumerate(["F32", "I64", "BOOL", "C64", "U8", "F8_E8M0", "BF16", "F64"]):
        entries.append(entry(f"{i}.bias", dtype, any_bits(rng, dtype, (3, 5), 0.9)))
        entries.append(entry(f"{i}.norm.weight", dtype, any_bits(rng, dtype, (17,), 0.9)))
    return [entries[i] for i in rng.permutation(len(entries))]


class Magnitude(Case):
    def masked(self, source, *flags):
        """Prunes to masked; the rows of the report by name."""
        out = self.path("masked")
        return report("prune", source, "-o", out, "-f", "--to", "masked", *flags)["tensors"]

    def check_masks(self, entries, row_of, mask_of):
        """The kept set of the last output is exactly mask_of(scores), all else is as before."""
        result = read_file(self.path("masked"))
        tensors = tensors_of(result)
        self.assertEqual(list(tensors), [e.name for e in entries])
        for e in entries:
            t = tensors[e.name]
            self.assertEqual((t.shape, t.dtype), (e.shape, e.dtype), e.name)
            if e.name not in row_of:
                self.assertEqual(result[e.name], e)
                continue
            self.assertEqual(t.layout, "masked")
            bits, kept = decode(t)
            keep = mask_of(scores(e.array(), e.dtype))
            self.same(kept, keep, f"mask of {e.name}")
            self.same(bits, np.where(keep, e.array(), 0).astype(bits.dtype), e.name)
            row = row_of[e.name]
            self.assertEqual(row["elements"], bits.size, e.name)
            zeros = np.count_nonzero(bits << bits.dtype.type(1) == 0)  # -0.0 is a zero
            self.assertEqual(row["kept"], bits.size - zeros, e.name)
            self.assertEqual(row["sparsity"], zeros / bits.size if bits.size else 0, e.name)

    def test_masks_exactly_the_smallest(self):
        entries = checkpoint(np.random.default_rng(1), SHAPES)
        source = self.write("source", file_bytes(entries))
        for text in SPARSITIES:
            with self.subTest(sparsity=text):
                s = float(text)
                rows = self.masked(source, "--sparsity", text)
                self.assertEqual(len(rows), len(SHAPES) * len(FLOATS))
                self.check_masks(entries, rows, lambda x: magnitude_mask(x, s))
                tensors = tensors_of(read_file(self.path("masked")))
                for t in map(tensors.get, rows):
                    n = size_of(t.shape)
                    self.assertEqual(n - decode(t)[1].sum(), llround(s * n))

    def test_halves_round_away_from_zero(self):
        for n in range(1, 60):
            for s in (0.5, 0.25, 0.75, 0.1, 0.3, 1 / n, 0.5 / n, 1.5 / n):
                if s <= 1:
                    expected = int(np.trunc(s * n + 0.5)) if s * n % 1 == 0.5 else round(s * n)
                    self.assertEqual(llround(s * n), expected)
        entries = [entry(f"{n}.weight", "F32", np.ones((1, n), "f4")) for n in range(1, 60)]
        source = self.write("ones", file_bytes(entries))
        for s in ("0.5", "0.25", "0.75", "0.1", "0.3", "0.7", "0.05"):
            rows = report("prune", source, "--dry-run", "--sparsity", s)["tensors"]
            for n in range(1, 60):
                self.assertEqual(n - rows[f"{n}.weight"]["kept"], llround(float(s) * n), (s, n))

    def test_dense_output_differs_in_the_pruned_elements_alone(self):
        entries = checkpoint(np.random.default_rng(2), [(13, 17), (3, 7, 11), (1, 4099)])
        source = self.write("source", file_bytes(entries, {"format": "pt"}))
        for text in ("0.5", "0.9", repr(1 / 3), "1", "0"):
            out = self.path("dense")
            rows = report("prune", source, "-o", out, "-f", "--sparsity", text)["tensors"]
            result = read_file(out)
            self.assertEqual(result.names(), [e.name for e in entries])
            for e in entries:
                bits = e.array()
                if e.name in rows:
                    keep = magnitude_mask(scores(bits, e.dtype), float(text))
                    bits = np.where(keep, bits, 0).astype(bits.dtype)
                self.assertEqual(result[e.name], entry(e.name, e.dtype, bits))

    def test_threshold(self):
        entries = checkpoint(np.random.default_rng(3), [(13, 17), (2, 3, 5, 7)])
        source = self.write("source", file_bytes(entries))
        for at in ("0", "0.5", "0.25", "1", "100"):
            rows = self.masked(source, "--method", "threshold", "--at", at)
            self.check_masks(entries, rows, lambda x: x >= float(at))

    def test_n_largest_of_every_m(self):
        entries = checkpoint(np.random.default_rng(4), BLOCK_SHAPES)
        source = self.write("source", file_bytes(entries))
        for n, m, axis in BLOCKS:
            with self.subTest(n=n, m=m, axis=axis):
                spec = f"nm:n={n},m={m},axis={axis}"
                rows = self.masked(source, "--structure", spec)
                self.check_masks(entries, rows, lambda x: per_block_mask(x, n, m, axis))

    def test_n_largest_along_any_dimensions(self):
        entries = checkpoint(np.random.default_rng(5), [(3, 7, 11), (2, 3, 5)])
        source = self.write("source", file_bytes(entries))
        for dims in [(1, 2), (2, 1), (0, 2), (1, 0)]:
            spec = f"nm:n=2,m=4,dims={dims[0]}.{dims[1]}"
            rows = self.masked(source, "--structure", spec)
            self.check_masks(entries, rows, lambda x: per_block_mask(x, 2, 4, 1, dims))

    def test_what_is_sparse_already(self):
        # From any layout as from dense.
        rng = np.random.default_rng(7)
        entries = [entry(f"{d}.weight", d, distinct_weights(rng, d, (41, 60))) for d in FLOATS]
        source, half = self.write("source", file_bytes(entries)), self.path("half")
        for to in ("dense", "masked", "bitmask", "csr"):
            run("prune", source, "-o", half, "-f", "-q", "--sparsity", "0.5", "--to", to)
            rows = self.masked(half, "--sparsity", "0.9")
            self.check_masks(entries, rows, lambda x: magnitude_mask(x, 0.9))
        run("prune", source, "-o", half, "-f", "-q", "--structure", "nm:n=2,m=4", "--to", "nm")
        rows = self.masked(half, "--structure", "nm:n=1,m=4")
        self.check_masks(entries, rows, lambda x: per_block_mask(x, 1, 4))

    def test_a_short_block_keeps_what_it_has(self):
        # The reference itself: rows of 6 in blocks of 4, so that the last block has 2.
        keep = per_block_mask(np.arange(12.0).reshape(2, 6), 3, 4)
        self.same(keep, np.array([[0, 1, 1, 1, 1, 1]] * 2, bool), "3 of 4 and 2 of 2")
        self.same(places((2, 3), (1, 0)), np.array([[0, 3], [1, 4], [2, 5]]), "the transpose")

    def test_the_same_at_any_thread_count(self):
        entries = checkpoint(np.random.default_rng(6), [(257, 257), (1, 131071)])
        source = self.write("source", file_bytes(entries))
        outputs = {
            run("prune", source, "-o", "-", "-q", "--sparsity", "0.7", "--threads", threads)
            for threads in (1, 2, 7)
        }
        self.assertEqual(len(outputs), 1)


if __name__ == "__main__":
    unittest.main()
