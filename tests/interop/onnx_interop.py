# SPDX-License-Identifier: Apache-2.0
"""ONNX models that the onnx library wrote are read as it reads them, and pruned in place."""

import importlib.util
import random
import unittest

from _programs import Case, run

HAVE = all(importlib.util.find_spec(name) for name in ("onnx", "ml_dtypes", "safetensors"))
if HAVE:
    import ml_dtypes
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.numpy import load_file

# What safetensors' library has in numpy, too.
KINDS = "FLOAT DOUBLE FLOAT16 BFLOAT16 INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 BOOL".split()


def initializer(dice, rng, name):
    kind = getattr(TensorProto, dice.choice(KINDS))
    shape = [dice.choice([1, 2, 3, 5, 17]) for _ in range(dice.randrange(4))]
    values = rng.integers(0, 2 if kind == TensorProto.BOOL else 100, shape).astype(
        helper.tensor_dtype_to_np_dtype(kind)
    )
    if dice.random() < 0.5:
        return numpy_helper.from_array(values, name)
    if values.dtype == ml_dtypes.bfloat16 or values.dtype == np.float16:
        values = values.astype(np.float32)  # make_tensor() takes numbers
    return helper.make_tensor(name, kind, shape, values.flatten().tolist())


def model(initializers, nodes=()):
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])
    graph = helper.make_graph(nodes, "graph", [value], [value], list(initializers))
    return helper.make_model(graph, producer_name="test")


def arrays(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(str(path)).graph.initializer}


@unittest.skipUnless(HAVE, "onnx is not installed")
class OnnxModels(Case):
    def check(self, got, wanted):
        self.assertEqual(sorted(got), sorted(wanted))
        for name, array in wanted.items():
            self.assertEqual(got[name].shape, array.shape, name)
            self.assertEqual(got[name].dtype, array.dtype, name)
            self.assertEqual(got[name].tobytes(), array.tobytes(), name)

    def test_every_form_is_read_byte_for_byte(self):
        for seed in range(30):
            dice, rng = random.Random(seed), np.random.default_rng(seed)
            path, out = self.folder / "model.onnx", self.path("out")
            made = model(initializer(dice, rng, f"layer.{i}") for i in range(dice.randrange(1, 9)))
            if seed % 3:
                onnx.save(made, path)
            else:
                onnx.save_model(made, path, save_as_external_data=True, location=f"{seed}.data", size_threshold=0)
            wanted = arrays(path)
            run("convert", path, "-o", out, "--to", "dense", "-f", "-q")
            self.check(load_file(out), wanted)

    def test_only_pruned_elements_change(self):
        rng = np.random.default_rng(0)
        names = ("onnx::MatMul_1", "fc1.weight", "shift", "bias")
        weights = [numpy_helper.from_array(rng.standard_normal((8, 8), np.float32), name) for name in names]
        nodes = [
            helper.make_node("MatMul", ["x", "onnx::MatMul_1"], ["a"], name="/layer/MatMul"),
            helper.make_node("Gemm", ["a", "fc1.weight", "bias"], ["b"], transB=1),
            helper.make_node("Add", ["b", "shift"], ["y"]),
        ]
        made = model(weights, nodes)
        for external in (False, True):
            path, out = self.folder / "model.onnx", self.folder / f"external-{external}"
            onnx.save_model(made, path, save_as_external_data=external, location="w.data", size_threshold=0)
            before = arrays(path)
            out.mkdir()
            run("prune", path, "-o", f"{out}/", "--sparsity", "0.5", "-q")
            onnx.checker.check_model(str(out / "model.onnx"))
            after = arrays(out / "model.onnx")
            for name in before:
                half = name in names[:2]
                zero = after[name] == 0
                self.assertEqual(int(zero.sum()), 32 if half else 0, name)
                self.assertTrue((zero | (after[name] == before[name])).all(), name)


if __name__ == "__main__":
    unittest.main()
