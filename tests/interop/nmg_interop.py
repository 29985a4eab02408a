# SPDX-License-Identifier: Apache-2.0
"""Grouped n:m: the order of patterns, the paper's greedy rule, and what a file holds."""

import unittest

import numpy as np
from _programs import MODEL, Case, report, run
from _reference import (
    FLOATS,
    decode,
    encode,
    energy,
    entry,
    file_bytes,
    greedy_patterns,
    magnitudes,
    nmg_chunks,
    parse_spec,
    pattern_table,
    patterns,
    patterns_mask,
    read_file,
    scores,
    size_of,
    tensors_of,
)
from _samples import distinct_weights, weights

WORKED = np.array(
    [[1, -2, 3, 0, 5, -6], [4, 1, -1, 2, 0, 2], [-3, 5, 2, 7, -1, 1], [2, 0, 6, -1, 4, 3]], "f4"
)
MODEL_SPECS = """
    nmg:n=1,m=10,g=4 nmg:n=1,m=10,g=4,axis=1 nmg:n=2,m=4,g=16 nmg:n=2,m=4,g=1 nmg:n=1,m=8,g=4
""".split()
SMALL_SPECS = """
    nmg:n=2,m=4,g=2 nmg:n=1,m=10,g=3,axis=1 nmg:n=3,m=6,g=1 nmg:n=3,m=3,g=2 nmg:n=3,m=5,g=2
""".split()
ORDER = """
    123 023 013 012 014 024 124 134 034 234 235 135 035 015 025 125 145 045 245 345
""".split()


def word(pattern):
    return "".join(map(str, pattern))


class Grouped(Case):
    def prune(self, entries, spec):
        """Greedily, to nmg: (tensors by name, report)."""
        source, out = self.write("source", file_bytes(entries)), self.path("out")
        r = report(
            "prune", source, "-o", out, "-f", "--structure", f"{spec},fit=greedy", "--to", "nmg"
        )
        self.assertEqual((r["to"], r["sparsifier"]), (spec, f"{spec},fit=greedy"))
        return tensors_of(read_file(out)), r["tensors"]

    def check(self, e, spec, t, row):
        """As numpy's greedy; of chunks without padding also the index, bit for bit."""
        _, args = parse_spec(spec)
        score = scores(e.array(), e.dtype)
        pattern_of = greedy_patterns(score, **args)
        keep = patterns_mask(pattern_of, e.shape, **args)
        bits, stored = decode(t)
        self.same(bits, np.where(keep, e.array(), 0).astype(bits.dtype), f"{e.name} as {spec}")
        at = nmg_chunks(e.shape, **args)
        if np.all(at < size_of(e.shape)):
            self.same(stored, keep, f"{e.name} as {spec}")
            self.same_parts(
                t, encode(spec, e.dtype, e.array(), keep, pattern_of), f"{e.name} as {spec}"
            )
        self.assertEqual(row["fit"], "greedy")
        self.assertEqual(row["kept"], np.count_nonzero(bits << bits.dtype.type(1)))
        if not bits.size:
            self.assertNotIn("energy", row)
            return
        expected = energy(*magnitudes(e.array(), e.dtype, keep))
        self.assertLessEqual(abs(row["energy"] - expected), 1e-9 * expected)

    def test_order_of_patterns(self):
        self.assertEqual(" ".join(map(word, patterns(2, 4))), "01 02 12 13 03 23")
        self.assertEqual(" ".join(map(word, patterns(1, 4))), "1 0 2 3")
        self.assertEqual(" ".join(map(word, patterns(1, 8))), "5 3 1 0 2 4 6 7")
        self.assertEqual(list(map(word, patterns(3, 6))), ORDER)
        for m in range(1, 9):
            for n in range(1, m + 1):
                sets = [set(p) for p in patterns(n, m)]
                self.assertEqual(len({frozenset(s) for s in sets}), len(pattern_table(n, m)))
                self.assertTrue(all(len(a ^ b) == 2 for a, b in zip(sets, sets[1:])), (n, m))

    def test_patterns_of_the_file_are_in_that_order(self):
        # One chunk whose strip s has its nonzeros on pattern s.
        for n, m in [
            (1, 1),
            (1, 2),
            (2, 4),
            (1, 4),
            (1, 8),
            (3, 6),
            (2, 5),
            (4, 8),
            (1, 20),
            (5, 5),
        ]:
            table = pattern_table(n, m)
            values = np.zeros((m, len(table)), "f4")
            for s, rows in enumerate(table):
                values[rows, s] = 1 + np.arange(n) + s * n
            source = self.write("source", file_bytes([entry("a", "F32", values)]))
            out = self.path("out")
            run(
                "convert",
                source,
                "-o",
                out,
                "-f",
                "--to",
                f"nmg:n={n},m={m},g=1",
                "--lossless",
                "--include",
                "a",
            )
            parts = tensors_of(read_file(out))["a"].parts
            self.same(parts["index"].reshape(-1).astype(int), np.arange(len(table)), (n, m))
            self.same(
                parts["values"].view("f4").reshape(-1),
                np.arange(1, 1 + table.size, dtype="f4"),
                (n, m),
            )

    def test_worked_case(self):
        e = entry("a.weight", "F32", WORKED)
        chosen = greedy_patterns(np.abs(WORKED), 2, 4, 1)
        self.assertEqual(np.argsort(chosen[0]).tolist(), [4, 1, 3, 0, 5, 2])
        tensors, rows = self.prune([e], "nmg:n=2,m=4,g=1")
        parts = tensors["a.weight"].parts
        self.assertEqual(parts["index"].reshape(-1).tolist(), [4, 1, 3, 0, 5, 2])
        self.assertEqual(
            parts["values"].view("f4").reshape(-1, 2).tolist(),
            [[5, 0], [-2, 5], [2, 7], [4, 2], [-6, 3], [2, 6]],
        )
        self.assertEqual(rows["a.weight"]["energy"], 44 / 62)
        self.check(e, "nmg:n=2,m=4,g=1", tensors["a.weight"], rows["a.weight"])

    def test_greedy_on_the_shipped_model(self):
        entries = [
            e
            for e in read_file(MODEL).entries
            if e.name.endswith("dense.weight") and ("layer.0" in e.name or "cls" in e.name)
        ]
        self.assertEqual(len(entries), 4)
        for spec in MODEL_SPECS:
            with self.subTest(spec=spec):
                tensors, rows = self.prune(entries, spec)
                for e in entries:
                    self.check(e, spec, tensors[e.name], rows[e.name])
        with self.subTest(spec="nmg:n=3,m=6,g=16"):
            small = [e for e in entries if e.shape == (160, 160)][:1]
            tensors, rows = self.prune(small, "nmg:n=3,m=6,g=16")
            self.check(small[0], "nmg:n=3,m=6,g=16", tensors[small[0].name], rows[small[0].name])

    def test_greedy_in_every_dtype_and_shape(self):
        rng = np.random.default_rng(21)
        shapes = [(1, 1), (4, 24), (20, 12), (21, 53), (3, 7, 5, 2), (0, 4), (4, 0), (60, 120)]
        entries = []
        for make in (weights, distinct_weights):
            for dtype in FLOATS:
                for i, shape in enumerate(shapes):
                    name = f"{make.__name__}.{dtype}.{i}.weight"
                    entries.append(entry(name, dtype, make(rng, dtype, shape)))
        for spec in SMALL_SPECS:
            with self.subTest(spec=spec):
                tensors, rows = self.prune(entries, spec)
                for e in entries:
                    self.check(e, spec, tensors[e.name], rows[e.name])

    def test_greedy_along_any_dimensions(self):
        rng = np.random.default_rng(22)
        shapes = [(3, 8, 12), (2, 5, 30), (4, 4, 3, 7), (2, 0, 3)]
        entries = [
            entry(f"{i}.weight", "F32", distinct_weights(rng, "F32", shape))
            for i, shape in enumerate(shapes)
        ]
        for dims in ("1.2", "2.1", "0.2"):
            for axis in ("", ",axis=1"):
                spec = f"nmg:n=2,m=4,g=1{axis},dims={dims}"
                tensors, rows = self.prune(entries, spec)
                for e in entries:
                    self.check(e, spec, tensors[e.name], rows[e.name])

    def test_a_chunk_wider_than_a_byte(self):
        # 70 patterns of 4 strips are 280 columns; up to 256 an index is a byte.
        rng = np.random.default_rng(23)
        e = entry("a.weight", "F32", distinct_weights(rng, "F32", (8, 280)))
        for g, kind in [(3, "uint8"), (4, "uint16")]:
            spec = f"nmg:n=4,m=8,g={g}"
            tensors, rows = self.prune([e], spec)
            self.check(e, spec, tensors["a.weight"], rows["a.weight"])
            self.assertEqual(tensors["a.weight"].parts["index"].dtype, kind)
        e = entry("a.weight", "F32", distinct_weights(rng, "F32", (20, 256)))
        spec = "nmg:n=1,m=2,g=128"
        tensors, rows = self.prune([e], spec)
        self.check(e, spec, tensors["a.weight"], rows["a.weight"])
        self.assertEqual(tensors["a.weight"].parts["index"].dtype, "uint8")


if __name__ == "__main__":
    unittest.main()
