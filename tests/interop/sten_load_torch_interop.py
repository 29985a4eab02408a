# SPDX-License-Identifier: Apache-2.0
"""sten_tools.torch_reader gives PyTorch the tensors that sten_tools.reader gives numpy, also as scripts/sten_load_torch.py."""

import importlib
import json
import sys
import types
import unittest
from unittest import mock

import ml_dtypes
import numpy as np
from _programs import MODEL, SOURCE, Case, run
from _reference import BYTE_DTYPES, Entry, bits_type, entry, file_bytes
from _samples import any_bits, nm_mask

sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "python")]
import sten_load  # noqa: E402


class Array(np.ndarray):
    """In the place of a tensor, where it does what is asked of both."""

    def to_sparse_csr(self):
        return "csr", self


# PyTorch's names, of the types that numpy and ml_dtypes have.
STAND_IN = types.ModuleType("torch")
STAND_IN.from_numpy = lambda x: x.view(Array)
for name in sten_load.SMALL.values():
    setattr(STAND_IN, name, getattr(ml_dtypes, name))


def script(torch):
    with mock.patch.dict(sys.modules, {"torch": torch}):
        for module in "sten_load_torch", "sten_tools.torch_reader":
            sys.modules.pop(module, None)
        return importlib.import_module("sten_load_torch")


def real_torch():
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise unittest.SkipTest("there is no PyTorch") from None


class StenLoadTorch(Case):
    def sample(self, rng):
        """A file with all dtypes, matrices of which are stored as 2:4, and what it holds."""
        entries = [Entry("odd", "U8", (1,), b"x")]  # nothing behind it is aligned
        for d in BYTE_DTYPES:
            bits = np.where(nm_mask(rng, (6, 8), n=2, m=4), any_bits(rng, d, (6, 8), 0.9), 0)
            entries.append(entry(f"{d}.matrix", d, bits.astype(bits_type(d))))
            entries += [entry(f"{d}.{i}", d, any_bits(rng, d, shape)) for i, shape in enumerate([(), (3,), (2, 2, 4)])]
        source, out = self.write("source", file_bytes(entries)), self.path("out")
        run("convert", source, "-o", out, "-q", "--to", "nm:n=2,m=4", "--include", "*.matrix", "--lossless")
        return out, {e.name: e for e in entries}

    def test_every_dtype_has_its_bits(self):
        path, entries = self.sample(np.random.default_rng(81))
        with mock.patch.dict(sys.modules, {"ml_dtypes": None}):  # it needs none
            loaded = script(STAND_IN).state_dict(path)
        self.assertEqual(set(loaded), set(entries))
        for name, e in entries.items():
            self.same(np.asarray(loaded[name]).view(bits_type(e.dtype)), e.array(), name)
            self.assertTrue(loaded[name].flags.aligned and loaded[name].flags.writeable, name)
            if e.dtype in sten_load.SMALL:
                self.assertEqual(loaded[name].dtype, np.dtype(getattr(ml_dtypes, sten_load.SMALL[e.dtype])))

    def test_an_unknown_layout_is_named(self):
        metadata = {"sten:w": json.dumps({"layout": "banded:k=1", "shape": [2, 3], "dtype": "F32"})}
        path = self.write("banded", file_bytes([entry("w::values", "F32", np.ones((2, 3), "f4"))], metadata))
        with self.assertRaisesRegex(ValueError, "banded.safetensors: 'w': unknown layout 'banded'"):
            script(STAND_IN).state_dict(path)

    def test_sparse_matrices_on_request(self):
        path, entries = self.sample(np.random.default_rng(82))
        sparse = {name for name, x in script(STAND_IN).state_dict(path, sparse=True).items() if isinstance(x, tuple)}
        self.assertEqual(sparse, {f"{d}.matrix" for d in ("F64", "F32", "F16", "BF16")})

    def test_in_pytorch(self):
        torch = real_torch()
        out = self.path("pruned")
        run("prune", MODEL, "-o", out, "-q", "--structure", "nm:n=2,m=4", "--to", "nm")
        dense, sparse = (script(torch).state_dict(out, sparse=s) for s in (False, True))
        expected = sten_load.load(out)
        self.assertEqual(set(dense), set(expected))
        for name, x in expected.items():
            self.same(dense[name].numpy(), x, name)
            self.same(sparse[name].to_dense().numpy(), x, name)
        self.assertEqual({x.layout for x in sparse.values()}, {torch.strided, torch.sparse_csr})
        path, entries = self.sample(np.random.default_rng(83))
        for name, x in script(torch).state_dict(path).items():
            dtype = sten_load.SMALL.get(entries[name].dtype)
            self.assertTrue(dtype is None or x.dtype == getattr(torch, dtype))
            self.assertEqual(tuple(x.shape), entries[name].shape)


if __name__ == "__main__":
    unittest.main()
