# SPDX-License-Identifier: Apache-2.0
"""Elements are moved, never computed on: through every layout and back each bit is as before."""

import unittest

import numpy as np
from _programs import MODEL, Case, report, run
from _reference import (
    BYTE_DTYPES,
    FLOATS,
    decode,
    encode,
    entry,
    file_bytes,
    parse_spec,
    read_file,
    scores,
    tensors_of,
)
from _samples import SHAPES, any_bits, distinct_weights, nm_mask, nmg_mask, nmgv_mask

STRUCTURED = """
    bcsr:h=4,w=4 bcsr:h=1,w=8 bcsr:h=5,w=1 bcsr:h=64,w=32 bcsr:h=2,w=3,dims=1.0
    nm:n=2,m=4 nm:n=1,m=3,axis=0 nm:n=4,m=4 nm:n=1,m=1 nm:n=2,m=16 nm:n=5,m=300
    nmg:n=1,m=10,g=4 nmg:n=2,m=4,g=2,axis=1 nmg:n=3,m=6,g=1 nmg:n=4,m=8,g=4 nmg:n=3,m=3,g=3
    nmg:n=1,m=1,g=1 nmg:n=1,m=300,g=1
    nmgv:n=1,m=4,g=2,v=4 nmgv:n=2,m=4,g=1,v=3,w=5,axis=1 nmgv:n=1,m=2,g=1,v=1,w=1 nmgv:n=1,m=2,g=4,v=32
""".split()
GROUPED = """
    nm:n=2,m=4 nm:n=1,m=10,axis=0 nmg:n=1,m=10,g=4 nmg:n=2,m=4,g=3,axis=1 nmg:n=3,m=6,g=1
    nmgv:n=1,m=4,g=2,v=4 nmgv:n=1,m=2,g=3,v=3,w=1,axis=1
""".split()
WITH_DIMS = """
    csr:dims=1.2 csr:dims=2.0 bcsr:h=2,w=3,dims=1.2 bcsr:h=3,w=2,dims=2.0 nm:n=2,m=4,dims=1.2
    nm:n=2,m=4,dims=2.1 nm:n=1,m=3,axis=0,dims=0.2
    nmg:n=1,m=4,g=2,dims=1.2 nmg:n=2,m=4,g=1,axis=1,dims=2.0
    nmgv:n=1,m=2,g=2,v=2,w=3,dims=1.2 nmgv:n=2,m=3,g=1,v=4,axis=1,dims=2.0
""".split()


def everything(rng, shapes, density=0.4):
    return [
        entry(f"{dtype}.{i}", dtype, any_bits(rng, dtype, shape, density))
        for dtype in BYTE_DTYPES
        for i, shape in enumerate(shapes)
    ]


def is_finite(e):
    with np.errstate(invalid="ignore"):  # of signalling NaN
        return np.isfinite(e.array().view(FLOATS[e.dtype])).all()


class RoundTrip(Case):
    def convert(self, source, to, *flags, name=None):
        out = self.path(name or to.partition(":")[0])
        run("convert", source, "-o", out, "-f", "-q", "--to", to, *flags)
        return out

    def check_restored(self, path, entries):
        restored = read_file(path)
        self.assertEqual(restored.names(), [e.name for e in entries])
        for e in entries:
            self.assertEqual(restored[e.name], e)

    def test_every_dtype_through_every_layout_that_holds_all(self):
        entries = everything(np.random.default_rng(11), SHAPES)
        entries += [entry("rank 1", "F32", np.ones(3, "f4")), entry("rank 0", "I64", np.array(5))]
        source = self.write("source", file_bytes(entries))
        previous = source
        for to in ("masked", "bitmask", "csr"):
            out = self.convert(source, to, "--include", "*")
            tensors = tensors_of(read_file(out))
            for e in entries:
                t = tensors[e.name]
                if len(e.shape) < 2:
                    self.assertEqual(t.layout, "dense")
                    continue
                self.assertEqual((t.layout, t.shape, t.dtype), (to, e.shape, e.dtype), e.name)
                bits, stored = decode(t)
                self.same(bits, e.array(), f"{e.name} in {to}")
                self.same(stored, e.array() != 0, f"what {to} stores of {e.name}")
                self.same_parts(
                    t, encode(to, e.dtype, e.array(), e.array() != 0), f"{e.name} in {to}"
                )
            self.check_restored(self.convert(out, "dense", name="back"), entries)
            # From one sparse layout to the next gives the bytes that dense would give.
            chained = self.convert(previous, to, "--include", "*", name="chained")
            self.assertEqual(
                {e.name: e.data for e in read_file(chained).entries},
                {e.name: e.data for e in read_file(out).entries},
            )
            previous = out

    def test_every_dtype_through_nm_and_nmg_where_they_hold_it(self):
        rng = np.random.default_rng(12)
        for to in STRUCTURED:
            with self.subTest(to=to):
                self.check_structured(rng, to, SHAPES)

    def test_every_dtype_with_other_dimensions(self):
        rng = np.random.default_rng(13)
        shapes = [(2, 3, 4), (5, 9, 7), (2, 0, 3), (3, 1, 5, 2), (2, 7, 3, 3), (4, 20, 30)]
        for to in WITH_DIMS:
            with self.subTest(to=to):
                self.check_structured(rng, to, shapes)

    def check_structured(self, rng, to, shapes):
        name, args = parse_spec(to)
        entries = []
        for i, shape in enumerate(shapes):
            if name in ("csr", "bcsr"):
                keep = rng.random(shape) < 0.3
            elif name == "nm":
                keep = nm_mask(rng, shape, **args)
            else:
                keep, _ = (nmg_mask if name == "nmg" else nmgv_mask)(rng, shape, **args)
            for dtype in BYTE_DTYPES if keep.size < 10_000 else ["F32", "U8"]:
                bits = np.where(keep, any_bits(rng, dtype, shape, 0.95), 0)
                entries.append(entry(f"{dtype}.{i}", dtype, bits.astype(f"u{bits.itemsize}")))
        source = self.write("source", file_bytes(entries))
        out = self.path("out")
        r = report("convert", source, "-o", out, "-f", "--to", to, "--include", "*", "--lossless")
        tensors = tensors_of(read_file(out))
        for e in entries:
            t = tensors[e.name]
            self.assertEqual((t.layout, t.shape, t.dtype), (to, e.shape, e.dtype), e.name)
            bits, stored = decode(t)
            self.same(bits, e.array(), f"{e.name} in {to}")
            self.assertFalse(np.any((e.array() != 0) & ~stored), e.name)
            if name not in ("nmg", "nmgv"):  # which have a choice
                self.same_parts(
                    t, encode(to, e.dtype, e.array(), e.array() != 0), f"{e.name} in {to}"
                )
            if name not in ("csr", "bcsr") and e.dtype in FLOATS and is_finite(e):
                # An empty tensor has no energy.
                self.assertEqual(r["tensors"][e.name].get("energy"), 1 if e.data else None)
        self.check_restored(self.convert(out, "dense", name="back"), entries)

    def test_shipped_model_in_every_float_dtype(self):
        f32 = [e for e in read_file(MODEL).entries]
        for dtype, kind in FLOATS.items():
            with self.subTest(dtype=dtype):
                entries = []
                for e in f32:
                    values = np.frombuffer(e.data, "f4").reshape(e.shape).astype(kind)
                    entries.append(entry(e.name, dtype, values))
                source = self.write("source", file_bytes(entries, {"format": "pt"}))
                for to in ("masked", "bitmask", "csr"):
                    self.check_restored(self.convert(self.convert(source, to), "dense"), entries)

    def test_what_nm_and_nmg_keep_comes_back_and_packs_again(self):
        rng = np.random.default_rng(14)
        entries = [
            e for e in read_file(MODEL).entries if ".layer.3." in e.name or "LayerNorm" in e.name
        ]
        for dtype in FLOATS:
            for i, shape in enumerate([(1, 1), (21, 53), (160, 96), (7, 3, 3, 3), (0, 3)]):
                bits = distinct_weights(rng, dtype, shape)
                entries.append(entry(f"{dtype}.{i}.weight", dtype, bits))
        source = self.write("source", file_bytes(entries))
        for to in GROUPED:
            with self.subTest(to=to):
                first = self.convert(source, to, name="first")
                dense = self.convert(first, "dense", name="dense")
                again = self.convert(dense, to, "--lossless", name="again")
                packed, repacked = read_file(first), read_file(again)
                self.assertEqual(packed.entries, repacked.entries)
                restored, before = read_file(dense), {e.name: e for e in entries}
                for name, t in tensors_of(packed).items():
                    if t.layout == "dense":
                        self.assertEqual(restored[name], before[name])
                        continue
                    bits, _ = decode(t)
                    original = before[name].array()
                    self.same(restored[name].array(), bits, f"{name} from {to}")
                    self.assertTrue(np.all((bits == original) | (bits == 0)), name)
                    self.assertEqual(
                        np.count_nonzero(bits), np.count_nonzero(scores(bits, t.dtype))
                    )

    def test_lossless_refuses_to_drop(self):
        source = self.write("source", file_bytes([entry("a.weight", "F32", np.ones((4, 8), "f4"))]))
        for to in ("nm:n=2,m=4", "nmg:n=1,m=4,g=2"):
            out = self.path("none")
            run("convert", source, "-o", out, "--to", to, "--lossless", expect=3)
            self.assertFalse(out.exists())

    def test_what_has_no_magnitude_is_not_pruned(self):
        # Not even by naming a layout that cannot hold it: integers, and what is not finite.
        refused = {
            "I32": np.ones((4, 8), "u4"),
            "F32": np.full((4, 8), np.nan, "f4"),
            "F16": np.full((4, 8), -np.inf, "f2"),
        }
        for dtype, bits in refused.items():
            source = self.write("source", file_bytes([entry("a.weight", dtype, bits)]))
            for to in ("nm:n=2,m=4", "nmg:n=1,m=4,g=2"):
                out = self.path("none")
                run("convert", source, "-o", out, "--to", to, "--include", "a.weight", expect=1)
                self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
