# SPDX-License-Identifier: Apache-2.0
"""Energy, sparsity, counts and bytes that the programs report, against numpy."""

import csv
import io
import json
import unittest

import numpy as np
from _programs import MODEL, Case, report, run
from _reference import (
    FLOATS,
    decode,
    energy,
    entries_of,
    entry,
    file_bytes,
    magnitudes,
    payload_bytes,
    read_file,
    scores,
    size_of,
    tensors_of,
)
from _samples import distinct_weights, weights

WAYS = [flags.split() for flags in f"""--sparsity 0.9
        --sparsity 0.5 --to masked
        --sparsity 0.9 --to bitmask
        --sparsity {2 / 3!r} --to csr
        --sparsity 0
        --sparsity 1 --to csr --force
        --method threshold --at 0.25
        --structure nm:n=2,m=4 --to nm
        --structure nm:n=1,m=10,axis=0
        --structure nmg:n=1,m=10,g=4 --to nmg
        --structure nmg:n=2,m=4,g=2,axis=1 --to bitmask
        --structure nmgv:n=1,m=4,g=2,v=4 --to nmgv""".splitlines()]


class Energy(Case):
    def close(self, got, expected, what):
        self.assertLessEqual(abs(got - expected), 1e-9 * abs(expected), (what, got, expected))

    def check(self, pruned, original, r, changed=False):
        """Every field of the report of sten-energy on `pruned` against `original`."""
        before = {e.name: e for e in read_file(original).entries}
        totals = dict.fromkeys(["nnz", "bytes", "bytes_dense", "bytes_bitmask", "bytes_csr"], 0)
        kept_sum = all_sum = new_sum = zeros = elements = 0
        for name, t in tensors_of(read_file(pruned)).items():
            if name not in r["tensors"]:
                self.assertEqual(t.layout, "dense")
                continue
            row = r["tensors"][name]
            bits, keep = decode(t)
            nonzero = scores(bits, t.dtype) != 0  # -0.0 is a zero where a number is counted
            stored = (nonzero if t.layout == "dense" else keep).sum()
            packed = (bits != 0 if t.layout == "dense" else keep).sum()  # but its bits are kept
            # Where a layout does not tell a kept zero from an empty place, it does not count.
            if t.layout.partition(":")[0] in ("dense", "nm", "nmg", "nmgv"):
                keep = nonzero
            self.assertEqual(row["shape"], list(t.shape))
            self.assertEqual((row["dtype"], row["layout"]), (t.dtype, t.layout))
            self.assertEqual(row["nnz"], stored, name)
            zero = np.count_nonzero(scores(bits, t.dtype) == 0)
            self.assertEqual(row["sparsity"], zero / bits.size if bits.size else 0, name)
            for layout in ("dense", "bitmask", "csr"):
                expected = payload_bytes(layout, t.dtype, t.shape, packed)
                self.assertEqual(row[f"bytes_{layout}"], expected, (name, layout))
            self.assertEqual(row["bytes"], sum(p.nbytes for p in t.parts.values()), name)
            original_bits, dtype = before[name].array(), before[name].dtype
            kept, total = magnitudes(original_bits, dtype, keep)
            if bits.size:
                self.close(row["energy"], energy(kept, total), name)
            else:
                self.assertNotIn("energy", row)
            new = scores(bits, t.dtype).astype("f8")[keep].sum()
            if changed and total > 0 and kept > 0:
                self.close(row["l1_ratio"], new / total, name)
            elif not changed:
                self.assertNotIn("l1_ratio", row)
            kept_sum, all_sum, new_sum = kept_sum + kept, all_sum + total, new_sum + new
            zeros, elements = zeros + zero, elements + bits.size
            for key in totals:
                totals[key] += row[key]
        for key, value in totals.items():
            self.assertEqual(r["total"][key], value, key)
        self.assertEqual(r["total"]["sparsity"], zeros / elements)
        self.close(r["total"]["energy"], energy(kept_sum, all_sum), "total")
        if changed:
            self.close(r["total"]["l1_ratio"], new_sum / all_sum, "total")
        self.assertEqual(r["file_bytes"], pruned.stat().st_size)
        self.assertEqual(r["selected"], len(r["tensors"]))

    def same_energy(self, row, measured, name):
        self.assertEqual("energy" in row, "energy" in measured, name)
        if "energy" in row:
            self.close(row["energy"], measured["energy"], name)

    def original(self):
        rng = np.random.default_rng(31)
        shapes = [(1, 1), (13, 17), (60, 120), (3, 7, 5, 2), (0, 4), (201, 331)]
        entries = []
        for make in (weights, distinct_weights):
            for dtype in FLOATS:
                for i, shape in enumerate(shapes):
                    name = f"{make.__name__}.{dtype}.{i}.weight"
                    entries.append(entry(name, dtype, make(rng, dtype, shape)))
        entries += [
            entry("zero.weight", "F32", np.zeros((5, 7), "f4")),
            entry("a.bias", "F32", np.ones(5, "f4")),
        ]
        return self.write("original", file_bytes(entries))

    def test_every_pruning_method(self):
        for original in (self.original(), MODEL):
            for way in WAYS:
                with self.subTest(original=original.name, way=way):
                    pruned = self.path("pruned")
                    r = report("prune", original, "-o", pruned, "-f", *way)
                    measured = report("energy", pruned, "--against", original)
                    self.check(pruned, original, measured)
                    # sten-prune knows the same; zeros that are stored do not count as kept.
                    for name, row in r["tensors"].items():
                        self.same_energy(row, measured["tensors"][name], name)
                        self.assertEqual(row["sparsity"], measured["tensors"][name]["sparsity"])
                        self.assertLessEqual(row["kept"], measured["tensors"][name]["nnz"])
                    self.close(r["total"]["energy"], measured["total"]["energy"], "total")
                    self.assertEqual(r["total"]["sparsity"], measured["total"]["sparsity"])

    def test_a_conversion_says_the_same(self):
        original, converted = self.original(), self.path("converted")
        for to in ("nm:n=2,m=4", "nmg:n=1,m=10,g=4"):
            r = report("convert", original, "-o", converted, "-f", "--to", to)
            measured = report("energy", converted, "--against", original)
            self.check(converted, original, measured)
            for name, row in r["tensors"].items():
                self.same_energy(row, measured["tensors"][name], name)
            self.close(r["total"]["energy"], measured["total"]["energy"], "total")

    def test_values_that_training_changed(self):
        rng, original, pruned = np.random.default_rng(32), self.original(), self.path("pruned")
        for to in ("dense", "masked", "bitmask", "csr"):
            run("prune", original, "-o", pruned, "-f", "-q", "--sparsity", "0.8", "--to", to)
            entries, metadata = [], {}
            for name, t in tensors_of(read_file(pruned)).items():
                if t.dtype in FLOATS and name.endswith("weight"):
                    values = t.parts["values"].view(FLOATS[t.dtype])
                    # Other magnitudes and signs; 0 stays 0, and not -0.0.
                    new = values.astype("f8") * rng.choice([-2, -1.25, 0.5, 1.25], values.shape)
                    bits = new.astype(values.dtype).view(t.parts["values"].dtype)
                    t.parts["values"] = np.where(values == 0, t.parts["values"], bits)
                new_entries, text = entries_of(name, t)
                entries += new_entries
                metadata.update({f"sten:{name}": text} if text else {})
            tuned = self.write("tuned", file_bytes(entries, metadata))
            r = report("energy", tuned, "--against", original)
            self.check(tuned, original, r, changed=True)

    def test_energy_needs_an_original(self):
        r = report("energy", MODEL)
        self.assertFalse([row for row in [*r["tensors"].values(), r["total"]] if "energy" in row])
        run("energy", MODEL, "--min-energy", "0.5", expect=2)
        run(
            "prune",
            MODEL,
            "-o",
            self.path("no"),
            "--sparsity",
            "0.9",
            "--min-energy",
            "0.99",
            expect=3,
        )
        self.assertFalse(self.path("no").exists())

    def test_the_check_is_on_the_total(self):
        pruned = self.path("pruned")
        run("prune", MODEL, "-o", pruned, "-q", "--sparsity", "0.9")
        total = report("energy", pruned, "--against", MODEL)["total"]["energy"]
        for limit, code in [(repr(total), 0), (repr(total - 1e-9), 0), (repr(total + 1e-9), 3)]:
            run("energy", pruned, "--against", MODEL, "--min-energy", limit, expect=code)

    def test_json_csv_and_file_say_the_same(self):
        pruned, base = self.path("pruned"), self.folder / "report"
        r = report("prune", MODEL, "-o", pruned, "--sparsity", "0.9", "--report", f"{base}.json")
        with open(f"{base}.json", encoding="utf-8") as f:
            document = json.load(f)
        self.assertEqual(list(r["tensors"].values()), document["tensors"])
        self.assertEqual(r["total"], document["total"])
        run("energy", pruned, "--against", MODEL, "-q", "--report", f"{base}.csv")
        measured = report("energy", pruned, "--against", MODEL)["tensors"]
        with open(f"{base}.csv", encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(io.StringIO(f.read())))
        self.assertEqual([row["name"] for row in rows], list(measured))
        for row in rows:
            for key, value in measured[row["name"]].items():
                text = "x".join(map(str, value)) if key == "shape" else row[key]
                self.assertEqual(row[key], text)
                if isinstance(value, float):
                    self.assertEqual(float(row[key]), value)
                elif isinstance(value, int):
                    self.assertEqual(int(row[key]), value)

    def test_sizes_are_the_tensors_own(self):
        r = report("energy", MODEL)
        for e in read_file(MODEL).entries:
            if e.name in r["tensors"]:
                row = r["tensors"][e.name]
                self.assertEqual((row["bytes"], row["nnz"]), (len(e.data), size_of(e.shape)))


if __name__ == "__main__":
    unittest.main()
