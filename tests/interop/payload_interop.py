# SPDX-License-Identifier: Apache-2.0
"""The bytes of compressed tensors are what their formulas say, in the file and in the reports."""

import math
import unittest

import numpy as np
from _programs import MODEL, Case, report
from _reference import (
    FLOATS,
    ceil_div,
    entry,
    file_bytes,
    parse_spec,
    payload_bytes,
    read_file,
    size_of,
    tensors_of,
    width,
)
from _samples import distinct_weights, weights

NAMED = ["masked", "bitmask", "csr"]
GROUPED = """
    nm:n=2,m=4 nm:n=2,m=4,axis=0 nm:n=1,m=10 nm:n=3,m=6 nm:n=4,m=4 nm:n=1,m=1 nm:n=5,m=300
    nmg:n=1,m=10,g=4 nmg:n=1,m=10,g=4,axis=1 nmg:n=2,m=4,g=16 nmg:n=3,m=6,g=16 nmg:n=4,m=8,g=4
    nmg:n=1,m=300,g=1 nmg:n=3,m=3,g=5 nmgv:n=1,m=4,g=2,v=32 nmgv:n=2,m=4,g=50,v=3,w=1,axis=1
""".split()
SHAPES = [(1, 1), (10, 40), (11, 41), (160, 640), (7, 384), (0, 8), (8, 0), (5, 3, 3, 3)]


def stored_bytes(tensor):
    return sum(part.nbytes for part in tensor.parts.values())


def padded_size(layout, shape):
    """Elements of the matrix with whole blocks and chunks."""
    name, args = parse_spec(layout)
    m = args["m"]
    if name == "nm":
        rows, cols = shape if args.get("axis", 1) == 1 else shape[::-1]
        return rows * ceil_div(cols, m) * m
    rows, cols = shape if args.get("axis", 0) == 0 else shape[::-1]
    chunk = math.comb(m, args["n"]) * args["g"]
    return ceil_div(rows, m) * m * ceil_div(cols, chunk) * chunk


def model(shapes):
    rng = np.random.default_rng(7)
    return [
        entry(f"{i}.{dtype}.weight", dtype, weights(rng, dtype, shape))
        for i, shape in enumerate(shapes)
        for dtype in FLOATS
    ]


class Payload(Case):
    def check(self, entries, source, *flags):
        """Prunes, and checks file, report of sten-prune and report of sten-energy."""
        out = self.path("out")
        rows = report("prune", source, "-o", out, "-f", *flags)
        energy = report("energy", out)
        result = read_file(out)
        tensors = tensors_of(result)
        total = 0
        for e in entries:
            row, t, shown = rows["tensors"][e.name], tensors[e.name], energy["tensors"][e.name]
            expected = payload_bytes(rows["to"], e.dtype, e.shape, shown["nnz"])
            self.assertEqual(stored_bytes(t), expected, (e.name, flags))
            self.assertEqual(row["bytes_after"], expected, (e.name, flags))
            self.assertEqual(row["bytes_before"], len(e.data), (e.name, flags))
            self.assertEqual(shown["bytes"], expected, (e.name, flags))
            self.assertEqual(shown["layout"], rows["to"])
            for other in ("dense", "bitmask", "csr"):
                expected_other = payload_bytes(other, e.dtype, e.shape, shown["nnz"])
                self.assertEqual(shown[f"bytes_{other}"], expected_other, (e.name, flags, other))
            total += expected
        self.assertEqual(sum(len(e.data) for e in result.entries), total)
        self.assertEqual(rows["total"]["bytes_after"], total)
        self.assertEqual(rows["total"]["bytes_before"], sum(len(e.data) for e in entries))
        self.assertEqual(rows["file_bytes_after"], out.stat().st_size)
        self.assertEqual(rows["file_bytes_before"], source.stat().st_size)
        return rows

    def test_every_layout_has_the_bytes_of_its_formula(self):
        entries = model(SHAPES)
        source = self.write("source", file_bytes(entries))
        for layout in NAMED:
            for sparsity in ("0", "0.5", "0.93", "1"):
                rows = self.check(entries, source, "--sparsity", sparsity, "--to", layout)
                self.assertFalse([r for r in rows["tensors"].values() if "padding" in r])
        for layout in GROUPED:
            with self.subTest(layout=layout):
                self.check(entries, source, "--structure", layout, "--to", layout)

    def test_one_of_ten_in_groups_of_four(self):
        entries = [e for e in model([(768, 128), (33, 77), (160, 160)]) if e.dtype == "F32"]
        source = self.write("source", file_bytes(entries))
        rows = self.check(entries, source, "--structure", "nmg:n=1,m=10,g=4", "--to", "nmg")
        for e in entries:
            r, k = e.shape
            expected = ceil_div(r, 10) * ceil_div(k, 40) * 40 * 5
            self.assertEqual(rows["tensors"][e.name]["bytes_after"], expected)

    def test_two_of_four_is_nine_sixteenths(self):
        # Half of the values, and 2 bits for each.
        entries = [e for e in model([(64, 128)]) if e.dtype == "F32"]
        source = self.write("source", file_bytes(entries))
        rows = self.check(entries, source, "--structure", "nm:n=2,m=4", "--to", "nm")
        self.assertEqual(rows["total"]["bytes_after"], 64 * 128 * 2 + 64 * 128 // 2 // 4)

    def test_padding_is_reported(self):
        # Elements stored for nothing, as a part of the tensor's own.
        cases = {
            "nmg:n=3,m=6,g=16": [((96, 384), 640 / 384 - 1), ((96, 640), 0), ((97, 384), None)],
            "nmg:n=1,m=10,g=4": [((160, 160), 0), ((768, 3072 // 8), None), ((10, 41), None)],
            "nmg:n=2,m=4,g=4,axis=1": [((24, 8), 0), ((25, 9), None)],
            "nm:n=2,m=4": [((5, 8), 0), ((5, 9), 1 / 3), ((1, 1), 3)],
            "nm:n=2,m=4,axis=0": [((8, 5), 0), ((9, 5), 1 / 3)],
        }
        for layout, shapes in cases.items():
            entries = [
                entry(
                    f"{i}.weight", "F32", distinct_weights(np.random.default_rng(i), "F32", shape)
                )
                for i, (shape, _) in enumerate(shapes)
            ]
            source = self.write("source", file_bytes(entries))
            rows = self.check(entries, source, "--structure", layout, "--to", layout)["tensors"]
            for e, (shape, expected) in zip(entries, shapes):
                padding = padded_size(layout, shape) / size_of(shape) - 1
                if expected is not None:
                    self.assertAlmostEqual(padding, expected, places=12)
                self.assertAlmostEqual(rows[e.name]["padding"], padding, places=12, msg=layout)

    def test_three_of_six_at_384_columns_pads_by_two_thirds(self):
        e = entry("a.weight", "F32", distinct_weights(np.random.default_rng(1), "F32", (96, 384)))
        source = self.write("source", file_bytes([e]))
        rows = self.check([e], source, "--structure", "nmg:n=3,m=6,g=16", "--to", "nmg")
        self.assertEqual(round(100 * rows["tensors"]["a.weight"]["padding"]), 67)

    def test_what_does_not_shrink_is_said(self):
        shape = (96, 384)
        e = entry("a.weight", "BF16", distinct_weights(np.random.default_rng(1), "BF16", shape))
        source = self.write("source", file_bytes([e]))
        for flags in (
            ["--structure", "nmg:n=3,m=6,g=16", "--to", "nmg"],
            ["--sparsity", "0.1", "--to", "csr"],
        ):
            r = self.check([e], source, *flags)
            self.assertGreaterEqual(r["total"]["bytes_after"], size_of(shape) * width("BF16"))
            self.assertTrue([note for note in r["notes"] if "not smaller" in note], r["notes"])
        r = self.check([e], source, "--sparsity", "0.9", "--to", "bitmask")
        self.assertFalse([note for note in r["notes"] if "not smaller" in note], r["notes"])

    def test_the_dense_report_says_what_bitmask_would_give(self):
        dense = report("prune", MODEL, "--dry-run", "--sparsity", "0.9")
        self.assertTrue([note for note in dense["notes"] if "--to bitmask" in note], dense["notes"])
        self.assertEqual(dense["total"]["bytes_after"], dense["total"]["bytes_before"])


if __name__ == "__main__":
    unittest.main()
