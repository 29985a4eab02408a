# SPDX-License-Identifier: Apache-2.0
"""Arrays pass to libsten and back, and files keep them, bit for bit."""

import copy
import pickle
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np
import scipy.sparse

import sten_tools
from sten_tools import Tensor, reader

DTYPES = ["?", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "c8", "f8", "u8", "i8",
          *(getattr(ml_dtypes, name) for name in reader.SMALL.values())]  # fmt: skip


def matrix(shape=(8, 12), dtype="f4", share=0.3):
    rng = np.random.default_rng(5)
    return np.where(rng.random(shape) < share, rng.standard_normal(shape), 0).astype(dtype)


class Arrays(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "t.safetensors"

    def same(self, got, expected):
        self.assertEqual(got.dtype, expected.dtype)
        self.assertEqual(got.shape, expected.shape)
        self.assertEqual(got.tobytes(), expected.tobytes())

    def test_every_dtype_and_shape_comes_back(self):
        for dtype in DTYPES:
            for shape in (), (3,), (2, 0, 3), (4, 5):
                x = np.ones(shape).astype(dtype)
                self.same(Tensor(x).numpy(), x)
        tensors = {f"t{i}": matrix(dtype=d) for i, d in enumerate(DTYPES)}
        sten_tools.save(self.path, tensors)
        for loaded in sten_tools.load(self.path), reader.load(self.path):
            self.assertEqual(set(loaded), set(tensors))
            for name, x in loaded.items():
                self.same(x, tensors[name])
                self.assertTrue(x.flags.writeable)

    def test_arrays_with_other_strides_and_alignment(self):
        x = matrix()
        unaligned = np.frombuffer(b"x" + x.tobytes(), "f4", offset=1).reshape(x.shape)
        for y in (x.T, x[::2, 1:], np.asfortranarray(x), unaligned):
            self.same(Tensor(y).numpy(), np.ascontiguousarray(y))
        with self.assertRaisesRegex(TypeError, "dtype >f4 has no equivalent in safetensors"):
            Tensor(x.astype(">f4"))

    def test_no_copy_where_none_is_needed(self):
        x = matrix((64, 64))
        self.assertTrue(np.shares_memory(Tensor(x).parts()["values"], x))
        values = Tensor(x).parts()["values"]
        self.assertFalse(values.flags.writeable)

    def test_the_memory_of_an_array_outlives_its_name(self):
        t = Tensor(matrix((100, 100)))
        parts = t.parts()
        expected = matrix((100, 100))
        del t
        self.same(parts["values"], expected)

    def test_scipy_matrices_keep_their_layout(self):
        x = matrix()
        for name in "csr", "csc", "coo":
            t = Tensor(getattr(scipy.sparse, f"{name}_array")(x))
            self.assertEqual(t.layout, "csr" if name == "coo" else name)
            self.same(t.numpy(), x)
        for layout in "csr", "csc", "coo", "bitmask", "nm:n=12,m=12":
            sparse = sten_tools.convert(x, layout).scipy()
            self.assertEqual(sparse.format, layout if layout in ("csr", "csc", "coo") else "csr")
            self.same(sparse.toarray(), x)
        sten_tools.save(self.path, {"w": scipy.sparse.csc_array(x), "b": x[0]})
        loaded = sten_tools.load(self.path, as_="scipy")
        self.assertEqual(loaded["w"].format, "csc")
        self.same(loaded["w"].toarray(), x)
        self.same(loaded["b"], x[0])
        with self.assertRaisesRegex(ValueError, r"expected a matrix, got shape \[3\]"):
            Tensor(np.ones(3)).scipy()

    def test_every_layout_survives_pickle_and_copies(self):
        for layout in "dense", "csr", "bitmask", "2:4", "1:4:1", "bcsr:h=2,w=2":
            t = Tensor(sten_tools.convert(matrix(), layout))
            for again in pickle.loads(pickle.dumps(t)), copy.deepcopy(t):
                self.assertEqual(again.layout, t.layout)
                self.same(again.numpy(), t.numpy())

    def test_files(self):
        x = matrix()
        sten_tools.save(self.path, {"w": sten_tools.prune(x, structure="2:4", to="auto"), "b": x})
        t = sten_tools.load(self.path, as_="tensor")["w"]
        self.assertEqual(repr(t), "Tensor(nm:n=2,m=4, [8, 12] F32, 208 bytes)")
        with self.assertRaisesRegex(sten_tools.Error, "exists .*overwrite=True"):
            sten_tools.save(self.path, {"w": x})
        sten_tools.save(self.path, {"w": x}, overwrite=True)
        self.assertEqual(list(sten_tools.load(self.path)), ["w"])
        with self.assertRaisesRegex(ValueError, "as_ must be one of numpy, .*, got 'cuda'"):
            sten_tools.load(self.path, as_="cuda")
        with self.assertRaisesRegex(sten_tools.Error, "missing.safetensors"):
            sten_tools.load(self.path.with_name("missing.safetensors"))


if __name__ == "__main__":
    unittest.main()
