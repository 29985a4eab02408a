# SPDX-License-Identifier: Apache-2.0
"""What the programs write, the public safetensors library reads; what that library or a pen
writes, the programs read."""

import json
import unittest

import ml_dtypes  # noqa: F401, gives numpy the name bfloat16
import numpy as np
import safetensors
import safetensors.numpy
from _programs import MODEL, Case, report, run
from _reference import (
    BITS,
    BYTE_DTYPES,
    FLOATS,
    Entry,
    decode,
    encode,
    entries_of,
    entry,
    file_bytes,
    parse_spec,
    read_file,
    size_of,
    tensors_of,
)
from _samples import SHAPES, any_bits, distinct_weights, nm_mask, nmg_mask, nmgv_mask

PARTS = {
    "masked": ["values", "mask"],
    "bitmask": ["mask", "values"],
    "csr": ["ptr", "index", "values"],
    "nm": ["values", "pos"],
    "nmg": ["values", "index"],
    "nmgv": ["values", "index"],
}
WAYS = [flags.split() for flags in """--sparsity 0.9
        --sparsity 0.9 --to masked
        --sparsity 0.9 --to bitmask
        --sparsity 0.9 --to csr
        --structure nm:n=2,m=4 --to nm
        --structure nmg:n=1,m=10,g=4 --to nmg
        --structure nmg:n=4,m=8,g=4,axis=1 --to nmg
        --structure nmgv:n=1,m=4,g=2,v=4 --to nmgv""".splitlines()]
LAYOUTS = """
    masked bitmask csr csr:dims=0.1
    nm:n=2,m=4 nm:n=1,m=3,axis=0 nm:n=5,m=300 nm:n=1,m=1 nm:n=2,m=4,axis=0,dims=1.0
    nmg:n=1,m=10,g=4 nmg:n=2,m=4,g=3,axis=1 nmg:n=3,m=6,g=1 nmg:n=4,m=8,g=4 nmg:n=3,m=3,g=2
    nmg:n=2,m=4,g=1,dims=1.0
    nmgv:n=1,m=4,g=2,v=4 nmgv:n=2,m=3,g=1,v=3,w=5,axis=1 nmgv:n=1,m=2,g=1,v=1,w=1,dims=1.0
""".split()
BATCHED = """
    csr:dims=1.2 nm:n=2,m=4,dims=1.2 nm:n=2,m=4,axis=0,dims=2.0 nmg:n=1,m=4,g=2,dims=1.2
    nmg:n=2,m=4,g=1,axis=1,dims=0.2
    nmgv:n=1,m=2,g=2,v=2,w=3,dims=1.2
""".split()
RANK_4 = """
    csr:dims=3.1 nm:n=2,m=4,dims=1.3 nmg:n=2,m=4,g=1,dims=3.0 nmg:n=1,m=3,g=2,axis=1,dims=1.2
""".split()
NUMPY_TYPES = {  # as load_file gives them
    **FLOATS,
    "BOOL": np.bool_,
    "C64": np.complex64,
    **{f"I{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"U{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
PREFIXES = [
    "層.0.",
    "Ω 'quoted\".",
    "a::b.",
    "\U0001f600.",
    "a/b\\c.",
    "sten:x.",
    "::",
    " ",
    "d*?[x].",
]


def mixed(rng):
    """Tensors of every dtype, some of them weights, in no order."""
    entries = []
    for d in BYTE_DTYPES:
        for i, shape in enumerate([(), (3,), (0,), (5, 7), (2, 0, 3)]):
            entries.append(entry(f"{d}.{i}", d, any_bits(rng, d, shape)))
    for d in FLOATS:
        for i, shape in enumerate([(8, 40), (21, 53), (3, 3, 5, 2), (0, 4)]):
            entries.append(entry(f"{d}.{i}.weight", d, distinct_weights(rng, d, shape)))
    for prefix in PREFIXES:
        entries.append(entry(f"{prefix}weight", "F32", distinct_weights(rng, "F32", (4, 6))))
    return [entries[i] for i in rng.permutation(len(entries))]


class Reader(Case):
    def check_opens(self, path):
        """The library and this folder's own reader see the same file."""
        file = read_file(path)
        by_name = {e.name: e for e in file.entries}
        with safetensors.safe_open(path, framework="numpy") as f:
            self.assertEqual(f.metadata(), file.metadata)
            self.assertEqual(sorted(f.keys()), sorted(by_name))
            for name, e in by_name.items():
                shown = f.get_slice(name)
                self.assertEqual((shown.get_dtype(), tuple(shown.get_shape())), (e.dtype, e.shape))
        # The elements as raw bytes, F8 among them.
        for name, fields in safetensors.deserialize(path.read_bytes()):
            e = by_name.pop(name)
            self.assertEqual((fields["dtype"], tuple(fields["shape"])), (e.dtype, e.shape))
            self.assertEqual(bytes(fields["data"]), e.data, name)
        self.assertFalse(by_name)
        return file

    def check_loads(self, path):
        """load_file gives numpy's own dtypes, and bfloat16."""
        file = read_file(path)
        loaded = safetensors.numpy.load_file(path)
        self.assertEqual(set(loaded), set(file.names()))
        for e in file.entries:
            array = loaded[e.name]
            self.assertEqual(array.dtype, np.dtype(NUMPY_TYPES[e.dtype]))
            self.assertEqual((array.shape, array.tobytes()), (e.shape, e.data), e.name)

    def check_written(self, path, before, to, chosen, steps):
        """Names, order, dtypes, shapes and metadata of a file made of the file `before`."""
        file = self.check_opens(path)
        name, _ = parse_spec(to)
        expected = []  # of the header
        for e in before.entries:
            sparse = e.name in chosen and name != "dense"
            expected += [f"{e.name}::{p}" for p in PARTS[name]] if sparse else [e.name]
        self.assertEqual(file.names(), expected)
        # Of the data likewise; a tensor without any had no place among the others.
        at = {entry_name: i for i, entry_name in enumerate(before.data_order)}
        places = [
            (at[n] if n in at else at[n.rpartition("::")[0]], file[n]) for n in file.data_order
        ]
        places = [i for i, e in places if e.data and before[before.data_order[i]].data]
        self.assertEqual(places, sorted(places))
        metadata = dict(file.metadata)
        provenance = json.loads(metadata.pop("sten.provenance"))
        self.assertEqual([step["program"] for step in provenance], steps)
        for step in provenance:
            self.assertEqual(set(step), {"program", "version", "options"})
        for e in before.entries:
            if e.name in chosen:
                if name != "dense":
                    text = json.loads(metadata.pop(f"sten:{e.name}"))
                    self.assertEqual(text, {"layout": to, "shape": list(e.shape), "dtype": e.dtype})
            else:
                self.assertEqual(file[e.name], e)
        self.assertEqual(list(metadata.items()), list((before.metadata or {}).items()))
        for t in tensors_of(file).values():
            if t.parts["values"] is not None:
                decode(t)

    def test_the_library_opens_what_the_programs_write_of_the_shipped_model(self):
        before = read_file(MODEL)
        for way in WAYS:
            with self.subTest(way=way):
                out, back = self.path("out"), self.path("back")
                r = report("prune", MODEL, "-o", out, "-f", *way)
                chosen = set(r["tensors"])
                self.assertEqual(len(chosen), 25)
                self.check_written(out, before, r["to"], chosen, ["sten-prune"])
                self.check_loads(out)
                run("convert", out, "-o", back, "-f", "--to", "dense")
                self.check_written(back, before, "dense", chosen, ["sten-prune", "sten-convert"])
                self.check_loads(back)

    def test_the_library_opens_what_the_programs_write_of_every_dtype(self):
        rng = np.random.default_rng(41)
        entries = mixed(rng)
        order = [entries[i].name for i in rng.permutation(len(entries))]
        metadata = {
            "z": "last",
            "format": "pt",
            "": "no key",
            "層": '\n\t"quoted" \\ \U0001f600',
            "a": "",
        }
        source = self.write("source", file_bytes(entries, metadata, order))
        before = read_file(source)
        self.assertEqual(before.metadata, metadata)
        for way in WAYS:
            with self.subTest(way=way):
                out, back = self.path("out"), self.path("back")
                r = report("prune", source, "-o", out, "-f", *way)
                chosen = set(r["tensors"])
                self.assertEqual(chosen, {e.name for e in entries if e.name.endswith("weight")})
                self.check_written(out, before, r["to"], chosen, ["sten-prune"])
                run("convert", out, "-o", back, "-f", "--to", "dense")
                self.check_written(back, before, "dense", chosen, ["sten-prune", "sten-convert"])
        for to in ("masked", "bitmask", "csr"):
            r = report("convert", source, "-o", out, "-f", "--to", to, "--include", "*")
            self.assertEqual(set(r["tensors"]), {e.name for e in entries if len(e.shape) >= 2})
            self.check_written(out, before, to, set(r["tensors"]), ["sten-convert"])
            run("convert", out, "-o", back, "-f", "--to", "dense")
            self.assertEqual(read_file(back).entries, before.entries)

    def test_files_that_the_library_wrote(self):
        rng = np.random.default_rng(42)
        entries = [e for e in mixed(rng) if e.dtype in NUMPY_TYPES]
        arrays = {e.name: e.array().view(NUMPY_TYPES[e.dtype]) for e in entries}
        source, out = self.path("source"), self.path("out")
        safetensors.numpy.save_file(arrays, source, metadata={"format": "np", "Ω": "ω"})
        before = self.check_opens(source)
        self.assertEqual({e.name: e for e in entries}, {e.name: e for e in before.entries})
        r = report("convert", source, "-o", out, "--to", "bitmask", "--include", "*")
        self.check_written(out, before, "bitmask", set(r["tensors"]), ["sten-convert"])
        run("convert", out, "-o", source, "-f", "--to", "dense")
        self.assertEqual(read_file(source).entries, before.entries)

    def test_files_without_metadata_or_tensors(self):
        out = self.path("out")
        e = entry("a.weight", "F32", np.ones((2, 4), "f4"))
        cases = [
            (file_bytes([e]), [e]),
            (file_bytes([], {"a": "b"}), []),
            (file_bytes([]), []),
        ]
        for content, entries in cases:
            run("convert", self.write("source", content), "-o", out, "-f", "--to", "dense")
            file = self.check_opens(out)
            self.assertEqual(file.entries, entries)
            self.assertIn("sten.provenance", file.metadata)

    def test_a_name_that_a_part_would_take(self):
        # Refused where a reader would take it for a part, else a name as any other.
        entries = [
            entry("a.weight", "F32", np.ones((2, 4), "f4")),
            entry("a.weight::mask", "U8", np.ones(1, "u1")),
        ]
        source, out = self.write("source", file_bytes(entries)), self.path("out")
        for to in ("masked", "bitmask", "csr"):
            run("prune", source, "-o", out, "--sparsity", "0.5", "--to", to, expect=1)
            self.assertFalse(out.exists())
        run("prune", source, "-o", out, "--sparsity", "0.5")
        self.assertEqual(read_file(out)["a.weight::mask"], entries[1])
        self.check_opens(out)

    def test_files_written_by_hand(self):
        rng = np.random.default_rng(43)
        entries = mixed(rng)
        # Elements of less than a byte are copied.
        for dtype in ("F4", "F6_E2M3", "F6_E3M2"):
            shape = (6, 4)
            data = rng.bytes(size_of(shape) * BITS[dtype] // 8)
            entries.insert(
                int(rng.integers(len(entries))), Entry(f"{dtype}.matrix", dtype, shape, data)
            )
        metadata = {"format": "pt", "note": "é"}
        back, out = self.path("back"), self.path("out")
        headers = [("", ""), ("", " "), (" \n\t", "\r\n  "), ("", "   "), ("", "       ")]
        for i, (before, after) in enumerate(headers):
            spaced = i % 2 == 1
            order = [entries[k].name for k in rng.permutation(len(entries))]
            # An odd number of bytes first, so that what follows is not aligned either.
            odd = Entry(f"odd.{i}", "U8", (1 + 2 * i,), bytes(range(1 + 2 * i)))
            content = file_bytes(
                [odd, *entries], metadata, [odd.name, *order], before, after, spaced
            )
            source = self.write("source", content)
            r = report("convert", source, "-o", out, "-f", "--to", "csr", "--include", "*")
            tensors = tensors_of(read_file(out))
            for e in entries:
                if e.name in r["tensors"]:
                    bits, _ = decode(tensors[e.name])
                    self.same(bits, e.array(), e.name)
            run("convert", out, "-o", back, "-f", "--to", "dense")
            self.assertEqual(read_file(back).entries, [odd, *entries])
            dense, masked = report("energy", source), report("energy", source, "--against", source)
            self.assertEqual(masked["total"]["energy"], 1)
            self.assertEqual(dense["total"]["nnz"], masked["total"]["nnz"])
            self.assertEqual(dense["total"]["sparsity"], 0)

    def sparse(self, rng, layout, dtype, shape):
        """A tensor in that layout, written by the reference, and its dense bits."""
        name, args = parse_spec(layout)
        pattern_of = None
        if name == "nm":
            keep = nm_mask(rng, shape, **args)
        elif name == "nmg":
            keep, pattern_of = nmg_mask(rng, shape, **args)
        elif name == "nmgv":
            keep, pattern_of = nmgv_mask(rng, shape, **args)
        else:
            keep = rng.random(shape) < 0.3
        # Zeros may be kept as well.
        bits = np.where(keep, any_bits(rng, dtype, shape, 0.9), 0)
        bits = bits.astype(f"u{bits.itemsize}")
        return encode(layout, dtype, bits, keep, pattern_of, order=rng), bits, keep

    def check_decodes(self, rng, layouts, shapes, dtypes):
        entries, metadata, expected = [], {"format": "pt"}, {}
        for layout in layouts:
            for i, shape in enumerate(shapes):
                for dtype in dtypes:
                    name = f"{layout} {dtype} {i}"
                    t, bits, keep = self.sparse(rng, layout, dtype, shape)
                    decoded, stored = decode(t)  # the reference reads what it writes
                    self.same(decoded, bits, name)
                    self.assertFalse(np.any(keep & ~stored), name)
                    parts, metadata[f"sten:{name}"] = entries_of(name, t)
                    entries += [parts[k] for k in rng.permutation(len(parts))]
                    expected[name] = (t, bits, stored)
        order = [entries[k].name for k in rng.permutation(len(entries))]
        # Parts of different tensors mixed, nothing aligned.
        odd = Entry("odd", "U8", (1,), b"x")
        content = file_bytes([odd, *entries], metadata, ["odd", *order])
        source, dense = self.write("source", content), self.path("dense")
        r = report("convert", source, "-o", dense, "-f", "--to", "dense")
        self.assertEqual(set(r["tensors"]), set(expected))
        out = read_file(dense)
        self.assertEqual(set(out.names()), {"odd", *expected})
        self.assertEqual(set(out.metadata), {"format", "sten.provenance"})
        for name, (t, bits, stored) in expected.items():
            got = out[name]
            self.assertEqual((got.dtype, got.shape), (t.dtype, t.shape), name)
            self.same(got.array(), bits, name)
            self.assertEqual(r["tensors"][name]["stored"], stored.sum(), name)
            self.assertEqual(r["tensors"][name]["from"], t.layout, name)
        return source, expected

    def test_sparse_tensors_written_by_the_reference(self):
        rng = np.random.default_rng(44)
        self.check_decodes(rng, LAYOUTS, SHAPES[:11], ["F32", "BF16", "U8"])
        self.check_decodes(
            rng, BATCHED, [(2, 3, 4), (5, 9, 7), (2, 0, 3), (0, 2, 2), (4, 20, 30)], ["F32", "F16"]
        )
        self.check_decodes(rng, RANK_4, [(3, 1, 5, 2), (2, 7, 3, 3), (5, 4, 6, 9)], ["F32", "I64"])
        self.check_decodes(
            rng, ["masked", "bitmask"], [(), (1,), (9,), (0,), (2, 3, 2, 2, 2)], ["F64", "BOOL"]
        )
        self.check_decodes(rng, LAYOUTS, [(37, 53)], BYTE_DTYPES)

    def test_sparse_tensors_are_passed_on_as_they_are(self):
        # A tensor that is not selected keeps its bytes, whatever layout it is in; so do slots in
        # an order that our writer would not choose.
        rng = np.random.default_rng(45)
        source, expected = self.check_decodes(rng, LAYOUTS, [(13, 29)], ["F32"])
        before = read_file(source)
        entries = before.entries + [entry("a.weight", "F32", np.ones((4, 8), "f4"))]
        source, out = self.write("source", file_bytes(entries, before.metadata)), self.path("out")
        r = report("prune", source, "-o", out, "--sparsity", "0.5")
        self.assertEqual(set(r["tensors"]), {"a.weight"})
        after = read_file(out)
        for e in before.entries:
            self.assertEqual(after[e.name], e)
        described = {key for key in after.metadata if key.startswith("sten:")}
        self.assertEqual(described, {f"sten:{name}" for name in expected})


if __name__ == "__main__":
    unittest.main()
