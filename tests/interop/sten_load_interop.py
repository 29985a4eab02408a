# SPDX-License-Identifier: Apache-2.0
"""sten_tools.reader, which users without sten read, agrees with the programs, also as scripts/sten_load.py."""

import contextlib
import importlib.util
import io
import json
import runpy
import sys
import types
import unittest
from unittest import mock

import ml_dtypes
import numpy as np
from _programs import MODEL, SOURCE, Case, run
from _reference import (BYTE_DTYPES, FLOATS, Entry, bits_type, encode, entries_of, entry, file_bytes,
                        parse_spec, read_file, tensors_of)
from _samples import SHAPES, any_bits, nm_mask, nmg_mask, nmgv_mask

SCRIPT = SOURCE / "scripts/sten_load.py"
READER = SOURCE / "python/sten_tools/reader.py"
LAYOUTS = ["masked", "bitmask", "csr", "csr:dims=0.1", "csr:dims=1.0",
           "csc", "csc:dims=1.0", "coo", "coo:dims=1.0", "ell", "bcsr:h=4,w=4", "bcsr:h=1,w=3",
           "bcsr:h=5,w=2,dims=1.0", "bcsr:h=64,w=64", "nm:n=2,m=4", "nm:n=1,m=3,axis=0",
           "nm:n=4,m=4", "nm:n=1,m=1", "nm:n=5,m=300", "nm:n=2,m=4,axis=0,dims=1.0", "nmg:n=1,m=10,g=4",
           "nmg:n=2,m=4,g=3,axis=1", "nmg:n=3,m=6,g=1", "nmg:n=4,m=8,g=4", "nmg:n=3,m=3,g=2", "nmg:n=1,m=1,g=1",
           "nmg:n=1,m=300,g=1", "nmg:n=2,m=4,g=1,dims=1.0", "nmgv:n=1,m=4,g=2,v=4", "nmgv:n=2,m=3,g=1,v=3,w=5,axis=1",
           "nmgv:n=1,m=2,g=1,v=1,w=1,dims=1.0"]  # fmt: skip
BATCHED = ["csr:dims=1.2", "csr:dims=2.0", "csc:dims=1.2", "csc:dims=2.0", "coo:dims=2.0",
           "bcsr:h=2,w=2,dims=1.2", "bcsr:h=3,w=1,dims=2.0",
           "nm:n=2,m=4,dims=1.2", "nm:n=2,m=3,axis=0,dims=2.0", "nmg:n=1,m=4,g=2,dims=1.2", "nmg:n=2,m=4,g=1,axis=1,dims=0.2",
           "nmgv:n=1,m=2,g=2,v=2,w=3,dims=1.2", "nmgv:n=2,m=3,g=1,v=4,axis=1,dims=2.0"]  # fmt: skip
RANK4 = ["csr:dims=3.1", "csc:dims=3.1", "coo:dims=3.1", "bcsr:h=2,w=3,dims=1.3", "nm:n=2,m=4,dims=1.3", "nmg:n=2,m=4,g=1,dims=3.0",
         "nmg:n=1,m=3,g=2,axis=1,dims=1.2", "nmgv:n=1,m=2,g=1,v=2,dims=1.3"]
KINDS = {**FLOATS, "BOOL": np.bool_, "C64": np.complex64, "F8_E8M0": ml_dtypes.float8_e8m0fnu,
         "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
         **{f"{k}{8 * w}": f"<{k.lower()}{w}" for k in "UI" for w in (1, 2, 4, 8)}}  # fmt: skip


def small(dtype):
    """A float that numpy has no type for."""
    return dtype == "BF16" or dtype.startswith("F8")


def script():
    """A fresh module, which sees what sys.modules has now."""
    spec = importlib.util.spec_from_file_location("sten_load", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mask_of(rng, layout, shape):
    """What the layout can keep, and for nmg and nmgv the pattern of every strip."""
    name, args = parse_spec(layout)
    if name == "nm":
        return nm_mask(rng, shape, **args), None
    if name == "nmg":
        return nmg_mask(rng, shape, **args)
    if name == "nmgv":
        return nmgv_mask(rng, shape, **args)
    if name == "ell":  # as many in each row
        cols = int(np.prod(shape[1:]))
        return np.argsort(rng.random((shape[0], cols)), -1).reshape(shape) < 0.3 * cols, None
    return rng.random(shape) < 0.3, None


class StenLoad(Case):
    def check(self, path, kinds=KINDS):
        """load() gives what sten-convert --to dense gives; returns it."""
        dense = self.path("dense")
        run("convert", path, "-o", dense, "-f", "-q", "--to", "dense")
        loaded, expected = script().load(path), read_file(dense)
        self.assertEqual(set(loaded), set(expected.names()))
        for e in expected.entries:
            x = loaded[e.name]
            self.assertEqual(x.dtype, np.dtype(kinds[e.dtype]), e.name)
            self.assertTrue(x.flags.writeable, e.name)
            self.same(x.view(bits_type(e.dtype)), e.array(), e.name)
        return loaded

    def converted(self, rng, layouts, shapes, dtypes):
        """Files that sten-convert writes, one for each layout."""
        for layout in layouts:
            entries = []
            for i, shape in enumerate(shapes):
                keep, _ = mask_of(rng, layout, shape)
                for dtype in dtypes:
                    bits = np.where(keep, any_bits(rng, dtype, shape, 0.95), 0)
                    entries.append(entry(f"{dtype}.{i}", dtype, bits.astype(bits_type(dtype))))
            source, out = self.write("source", file_bytes(entries)), self.path("out")
            run("convert", source, "-o", out, "-f", "-q", "--to", layout, "--include", "*", "--lossless")
            self.assertEqual({t.layout for t in tensors_of(read_file(out)).values()}, {layout})
            yield layout, out

    def reference(self, rng, layouts, shapes, dtypes):
        """A file that the reference writes: parts in any order, none aligned, zeros kept, groups
        in an order of their own."""
        entries, metadata = [Entry("odd", "U8", (1,), b"x")], {"format": "pt"}
        for layout in layouts:
            for i, shape in enumerate(shapes):
                for dtype in dtypes:
                    name = f"{layout} {dtype} {i}"
                    keep, pattern_of = mask_of(rng, layout, shape)
                    bits = np.where(keep, any_bits(rng, dtype, shape, 0.9), 0).astype(bits_type(dtype))
                    t = encode(layout, dtype, bits, keep, pattern_of, order=rng)
                    parts, metadata[f"sten:{name}"] = entries_of(name, t)
                    entries += parts
        entries = [entries[0], *(entries[1:][i] for i in rng.permutation(len(entries) - 1))]
        return self.write("reference", file_bytes(entries, metadata))

    def test_it_is_short(self):
        self.assertLessEqual(len(READER.read_text().splitlines()), 90)

    def test_every_layout_that_the_programs_write(self):
        rng = np.random.default_rng(71)
        for layout, path in self.converted(rng, LAYOUTS, SHAPES[:10], ["F32", "BF16", "U8"]):
            with self.subTest(layout=layout):
                self.check(path)
        batched = [(2, 3, 4), (5, 9, 7), (2, 0, 3), (0, 2, 2), (4, 20, 30)]
        for layout, path in self.converted(rng, BATCHED, batched, ["F32", "F8_E4M3"]):
            with self.subTest(layout=layout):
                self.check(path)
        for layout, path in self.converted(rng, RANK4, [(3, 1, 5, 2), (2, 7, 3, 3), (5, 4, 6, 9)], ["F64", "F16"]):
            with self.subTest(layout=layout):
                self.check(path)

    def test_every_dtype(self):
        rng = np.random.default_rng(72)
        layouts = ["masked", "bitmask", "csr", "bcsr:h=4,w=4", "nm:n=2,m=4", "nmg:n=1,m=4,g=2"]
        for layout, path in self.converted(rng, layouts, [(13, 29)], BYTE_DTYPES):
            with self.subTest(layout=layout):
                self.check(path)
        dense = [entry(f"{d}.{i}", d, any_bits(rng, d, shape))
                 for d in BYTE_DTYPES for i, shape in enumerate([(), (3,), (0,), (5, 7), (2, 0, 3)])]  # fmt: skip
        odd = Entry("odd", "U8", (1,), b"x")  # nothing behind it is aligned
        self.check(self.write("source", file_bytes([odd, *dense])))

    def test_files_that_others_write(self):
        rng = np.random.default_rng(73)
        self.check(self.reference(rng, LAYOUTS, SHAPES[:10], ["F32", "I64"]))
        self.check(self.reference(rng, BATCHED, [(2, 3, 4), (5, 9, 7), (2, 0, 3), (4, 20, 30)], ["F16"]))
        self.check(self.reference(rng, RANK4, [(3, 1, 5, 2), (5, 4, 6, 9)], ["F32"]))
        self.check(self.reference(rng, ["masked", "bitmask"], [(), (1,), (9,), (0,), (2, 3, 2, 2, 2)], ["F64", "BOOL"]))

    def test_what_pruning_the_shipped_model_writes(self):
        out = self.path("out")
        for way in [["--sparsity", "0.9"], ["--sparsity", "0.9", "--to", "csr"],
                    ["--sparsity", "0.9", "--to", "bcsr:h=4,w=4"], ["--structure", "nm:n=2,m=4", "--to", "nm"],
                    ["--structure", "nmg:n=1,m=10,g=4", "--to", "nmg"]]:  # fmt: skip
            with self.subTest(way=way):
                run("prune", MODEL, "-o", out, "-f", "-q", *way)
                self.assertEqual(len(self.check(out)), 74)

    def test_an_unknown_layout_is_named_with_file_and_tensor(self):
        metadata = {"sten:a.bands": json.dumps({"layout": "banded:k=1", "shape": [2, 3], "dtype": "F32"})}
        path = self.write("banded", file_bytes([entry("a.bands::values", "F32", np.ones((2, 3), "f4"))], metadata))
        with self.assertRaises(ValueError) as raised:
            script().load(path)
        self.assertTrue(str(raised.exception).startswith(f"{path}: 'a.bands': unknown layout 'banded' (expected one of"))

    def test_names_that_look_like_parts(self):
        names = ["a.weight", "a::b.weight", "::weight", "sten:a.weight", "values.weight", "層 \"'.weight"]
        entries = [entry(name, "F32", np.eye(4, dtype="f4")) for name in names]
        entries.append(entry("b::values", "U8", np.ones(1, "u1")))
        source, out = self.write("source", file_bytes(entries)), self.path("out")
        run("convert", source, "-o", out, "-q", "--to", "csr")
        self.check(out)

    def test_elements_of_less_than_a_byte_stay_packed(self):
        data = bytes(range(12))
        shapes = {"F4": (4, 6), "F6_E2M3": (4, 4), "F6_E3M2": (16,)}
        entries = [Entry(dtype, dtype, shape, data) for dtype, shape in shapes.items()]
        loaded = script().load(self.write("source", file_bytes(entries)))
        for e in entries:
            self.same(loaded[e.name], np.frombuffer(data, "u1"), e.name)

    def test_without_ml_dtypes_bfloat16_is_float32_and_float8_an_error(self):
        rng = np.random.default_rng(74)
        others = [d for d in BYTE_DTYPES if not small(d)]
        for lacking in None, types.ModuleType("ml_dtypes"):  # an old one has not all of them
            with mock.patch.dict(sys.modules, {"ml_dtypes": lacking}):
                for _, path in self.converted(rng, ["csr", "nm:n=2,m=4"], [(5, 9)], others):
                    self.check(path)
                for d in filter(small, BYTE_DTYPES):
                    entries = [entry(f"{d}.{i}", d, any_bits(rng, d, shape)) for i, shape in enumerate([(), (5, 9)])]
                    path = self.write("small", file_bytes(entries))
                    if d != "BF16":
                        with self.assertRaisesRegex(TypeError, rf"{d}[.]0 is {d}, which needs a new ml_dtypes"):
                            script().load(path)
                        continue
                    for e in entries:
                        x = script().load(path)[e.name]
                        self.assertEqual(x.dtype, np.float32)
                        self.assertTrue(x.flags.writeable)
                        self.same(x.view("<u4"), e.array().astype("<u4") << 16, e.name)

    def test_directories_that_the_programs_write(self):
        entries = [e for e in read_file(MODEL).entries if ".layer.2." in e.name]
        for shards in (1, 3):
            with self.subTest(shards=shards):
                source, out, dense = (self.folder / f"{what}{shards}" for what in ("source", "out", "dense"))
                self.directory(source, entries, shards)
                run("prune", source, "-o", out, "-q", "--structure", "nm:n=2,m=4", "--to", "nm")
                run("convert", out, "-o", dense, "-q", "--to", "dense")
                expected = {e.name: e for path in dense.glob("*.safetensors") for e in read_file(path).entries}
                self.assertEqual(set(expected), {e.name for e in entries})
                for place in (out, str(out), dense):
                    loaded = script().load(place)
                    self.assertEqual(set(loaded), set(expected))
                    for name, x in loaded.items():
                        self.assertEqual(x.dtype, np.float32)
                        self.same(x.view("u4"), expected[name].array(), name)

    def directory(self, folder, entries, shards):
        """As HuggingFace writes it, one shard without an index, and a file that is not a shard."""
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        if shards == 1:
            (folder / "model.safetensors").write_bytes(file_bytes(entries))
            return
        weight_map = {}
        for i in range(shards):
            name = f"model-{i + 1:05}-of-{shards:05}.safetensors"
            (folder / name).write_bytes(file_bytes(entries[i::shards]))
            weight_map.update((e.name, name) for e in entries[i::shards])
        total = sum(len(e.data) for e in entries)
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    def test_an_index_names_the_shards(self):
        # Also where other files lie beside them.
        entries, folder = [entry(name, "F32", np.full(3, i, "f4")) for i, name in enumerate("abc")], self.folder / "hf"
        self.directory(folder, entries, 2)
        (folder / "model.old.safetensors").write_bytes(file_bytes([entry("d", "F32", np.zeros(3, "f4"))]))
        loaded = script().load(folder)
        self.assertEqual({name: x[0] for name, x in loaded.items()}, {"a": 0, "b": 1, "c": 2})
        (folder / "model-00002-of-00002.safetensors").unlink()
        with self.assertRaises(FileNotFoundError):
            script().load(folder)

    def test_directories_of_other_libraries(self):
        entries = [e for e in read_file(MODEL).entries if ".layer.2." in e.name]
        for stem in ("diffusion_pytorch_model", "adapter_model", "any"):
            source, out = self.folder / stem, self.folder / f"{stem}.out"
            source.mkdir()
            (source / f"{stem}.safetensors").write_bytes(file_bytes(entries))
            run("convert", source, "-o", out, "-q", "--to", "bitmask")
            self.assertTrue((out / f"{stem}.sten.safetensors").exists())
            loaded = script().load(out)
            self.assertEqual(set(loaded), {e.name for e in entries})
            for e in entries:
                self.same(loaded[e.name].view("u4"), e.array(), e.name)

    def main(self, *args):
        """What the script prints."""
        printed = io.StringIO()
        with mock.patch.object(sys, "argv", [str(SCRIPT), *map(str, args)]), contextlib.redirect_stdout(printed):
            runpy.run_path(str(SCRIPT), run_name="__main__")
        return printed.getvalue()

    def test_as_a_program(self):
        rng = np.random.default_rng(76)
        entries = [entry(d, d, any_bits(rng, d, (4, 5))) for d in BYTE_DTYPES]
        zeros = np.zeros((8, 8), "f4")
        zeros[::2, ::4] = 1
        entries += [entry("a.weight", "F32", zeros), entry("none", "F32", np.zeros((0, 3), "f4"))]
        source, out, npz = self.write("source", file_bytes(entries)), self.path("out"), self.folder / "out.npz"
        run("convert", source, "-o", out, "-q", "--to", "nm:n=1,m=4")
        lines = self.main(out, "--npz", npz).splitlines()
        self.assertEqual(self.main(out).splitlines(), lines)
        self.assertEqual(len(lines), len(entries))
        self.assertEqual(lines[0], "a.weight\tnm:n=1,m=4\tF32\t[8, 8]\t0.8750")
        self.assertTrue(any(line.startswith("BF16\tdense\tBF16\t[4, 5]\t0.") for line in lines))
        with np.load(npz) as saved:
            self.assertEqual(set(saved), {e.name for e in entries})
            for e in entries:
                if small(e.dtype):
                    self.assertEqual(saved[e.name].dtype, np.float32)
                    np.testing.assert_array_equal(saved[e.name], e.array().view(KINDS[e.dtype]).astype(np.float32))
                    continue
                self.assertEqual(saved[e.name].dtype, np.dtype(KINDS[e.dtype]))
                self.same(saved[e.name].view(bits_type(e.dtype)), e.array(), e.name)


if __name__ == "__main__":
    unittest.main()
