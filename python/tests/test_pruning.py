# SPDX-License-Identifier: Apache-2.0
"""prune, convert and energy of arrays and state dicts."""

import os
import unittest
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np

import sten_tools

MODEL = Path(os.environ["STEN_SOURCE"]) / "recipes/models/shakespeare-bert/model.safetensors"


def weight(shape=(16, 32), dtype="f4"):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


class Pruning(unittest.TestCase):
    def test_the_largest_magnitudes_stay(self):
        w = weight()
        kept = sten_tools.prune(w, sparsity=0.75)
        order = np.sort(np.abs(w), axis=None)
        np.testing.assert_array_equal(kept, np.where(np.abs(w) >= order[3 * w.size // 4], w, 0))
        self.assertTrue(kept.flags.writeable)
        groups = sten_tools.prune(w, structure="2:4").reshape(16, 8, 4)
        np.testing.assert_array_equal(np.count_nonzero(groups, axis=-1), 2)

    def test_dtypes_stay(self):
        for dtype in "f8", "f2", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn:
            w = weight(dtype=dtype)
            kept = sten_tools.prune(w, 0.5)
            self.assertEqual(kept.dtype, w.dtype)
            self.assertEqual(np.count_nonzero(kept), 256)

    def test_sparse_layouts_are_tensors(self):
        t = sten_tools.prune(weight(), structure="1:4:4", to="auto")
        self.assertEqual(t.layout, "nmg:n=1,m=4,g=4")
        np.testing.assert_array_equal(t.numpy(), sten_tools.prune(weight(), structure="1:4:4"))
        np.testing.assert_array_equal(sten_tools.convert(t, "dense"), t.numpy())
        self.assertEqual(sten_tools.convert(t, "csr").layout, "csr")

    def test_a_state_dict(self):
        model = sten_tools.load(MODEL)
        pruned = sten_tools.prune(model, sparsity=0.9)
        self.assertEqual(list(pruned), list(model))
        changed = [name for name in model if pruned[name] is not model[name]]
        self.assertEqual(len(changed), 25)
        measured = sten_tools.energy(pruned, model, include=changed)
        self.assertEqual(set(measured), set(changed))
        self.assertAlmostEqual(measured.total.energy, 0.2593, 4)
        self.assertAlmostEqual(measured.total.sparsity, 0.9, 4)
        small = sten_tools.convert(pruned, "auto", include=changed, lossless=True)
        self.assertLess(sum(small[n].nbytes for n in changed), 0.2 * sum(model[n].nbytes for n in changed))
        for name in changed:
            np.testing.assert_array_equal(small[name].numpy(), pruned[name])

    def test_selection_and_rules(self):
        model = {"a.weight": weight(), "b.weight": weight(), "a.bias": weight((16,))}
        pruned = sten_tools.prune(model, 0.5, exclude="b.*", rules={"a.weight": "2:4"}, to="auto")
        self.assertEqual(pruned["a.weight"].layout, "nm:n=2,m=4")
        self.assertIs(pruned["b.weight"], model["b.weight"])
        self.assertIs(pruned["a.bias"], model["a.bias"])
        both = sten_tools.prune({"a": weight(), "b": 10 * weight()}, 0.5, include=["*"], scope="global")
        self.assertLess(np.count_nonzero(both["a"]), np.count_nonzero(both["b"]))

    def test_errors_name_arguments(self):
        w = weight()
        for text, call in {
            "include 'v' matches none of the 1 tensors of tensors": lambda: sten_tools.prune({"w": w}, 0.5, include=["v"]),
            "sparsity must be in": lambda: sten_tools.prune(w, 1.5),
            "missing sparsity, the fraction of weights to remove": lambda: sten_tools.prune(w),
            "unknown structure '2x4'": lambda: sten_tools.prune(w, structure="2x4"),
            "tensor: expected rank 2 or more, got 1": lambda: sten_tools.prune(w[0], 0.5),
            "tensor: I32 elements cannot be pruned": lambda: sten_tools.prune(w.astype("i4"), 0.5),
            "element 3 is not finite and cannot be ranked": lambda: sten_tools.prune(np.where(w == w[0, 3], np.nan, w), 0.5),
            "nm:n=1,m=4 would drop the nonzero at": lambda: sten_tools.convert(w, "1:4", lossless=True),
            "original: tensor 'w' not found": lambda: sten_tools.energy({"w": w}, {"v": w}, include="w"),
        }.items():
            with self.subTest(text=text), self.assertRaises(sten_tools.Error) as raised:
                call()
            self.assertIn(text, str(raised.exception))
        with self.assertRaisesRegex(TypeError, "prune: include needs a mapping"):
            sten_tools.prune(w, 0.5, include=["w"])

    def test_warnings_are_those_of_python(self):
        model = {"a.weight": weight()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sten_tools.prune(model, rules={"a.weight": "2:4", "*.weight": "1:4"})
        self.assertEqual(len(caught), 1)
        self.assertRegex(str(caught[0].message), r"rule '\*.weight' has no effect")


if __name__ == "__main__":
    unittest.main()
