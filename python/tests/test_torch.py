# SPDX-License-Identifier: Apache-2.0
"""PyTorch: tensors, SparseLinear and sparsify. Skipped without PyTorch."""

import copy
import io
import tempfile
import unittest
from pathlib import Path

import numpy as np

try:
    import torch
except ImportError:
    print("skipped: PyTorch not found")
    raise SystemExit(77) from None

import sten_tools
from sten_tools import SparseLinear, Tensor

SPECS = ["2:4", "1:4:4", 0.75]


def layer(inputs=32, outputs=16, bias=True, dtype=torch.float32):
    torch.manual_seed(1)
    return torch.nn.Linear(inputs, outputs, bias=bias, dtype=dtype)


class Threads(unittest.TestCase):
    def test_products_run_on_threads_of_pytorch(self):
        before = sten_tools.threads()
        x, sparse = torch.randn(256, 512), SparseLinear.from_linear(layer(512, 512), "1:4:4")
        try:
            sten_tools.set_threads(torch.get_num_threads())
            x @ x.T  # starts the threads of PyTorch
            count = len(list(Path("/proc/self/task").iterdir()))
            sparse(x)
            self.assertEqual(len(list(Path("/proc/self/task").iterdir())), count)
        finally:
            sten_tools.set_threads(before)


class Tensors(unittest.TestCase):
    def test_every_dtype_comes_back(self):
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                      torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2):  # fmt: skip
            for shape in (), (3,), (2, 0), (4, 5):
                x = torch.ones(shape).to(dtype)
                y = Tensor(x).torch()
                self.assertEqual((y.dtype, y.shape), (dtype, x.shape))
                self.assertTrue(torch.equal(y.float(), x.float()))

    def test_csr(self):
        x = torch.eye(6)[:, :4] * 3
        t = Tensor(x.to_sparse_csr())
        self.assertEqual(t.layout, "csr")
        self.assertTrue(torch.equal(t.torch(), x))
        self.assertTrue(torch.equal(sten_tools.convert(x, "2:4").torch(sparse=True).to_dense(), x))
        with self.assertRaisesRegex(ValueError, "expected a dense tensor or torch.sparse_csr, got torch.sparse_coo"):
            Tensor(x.to_sparse())

    def test_memory_is_shared(self):
        x = torch.ones(8, 8)
        self.assertTrue(np.shares_memory(Tensor(x).parts()["values"], x.numpy()))

    def test_state_dicts(self):
        state = {f"{name}.weight": layer().weight for name in "ab"}
        pruned = sten_tools.prune(state, structure="2:4", include=["a.*"])
        self.assertIs(pruned["b.weight"], state["b.weight"])
        self.assertEqual(int((pruned["a.weight"] != 0).sum()), 256)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.safetensors"
            sten_tools.save(path, {"a": sten_tools.convert(pruned["a.weight"], "csr"), "b": state["b.weight"]})
            loaded = sten_tools.load(path, as_="torch_csr")
        self.assertEqual(loaded["a"].layout, torch.sparse_csr)
        self.assertTrue(torch.equal(loaded["a"].to_dense(), pruned["a.weight"]))
        self.assertTrue(torch.equal(loaded["b"], state["b.weight"]))


class Layers(unittest.TestCase):
    def test_outputs_are_those_of_the_dense_layer_with_the_pruned_weight(self):
        for dtype, tolerance in (torch.float32, 1e-5), (torch.bfloat16, 1e-2):
            for bias in True, False:
                for spec in SPECS:
                    dense = layer(bias=bias, dtype=dtype)
                    sparse = SparseLinear.from_linear(dense, spec)
                    dense.weight.data = sparse.weight
                    for shape in (32,), (1, 32), (3, 7, 32), (40, 32), (0, 32):
                        x = torch.randn(shape, dtype=dtype)
                        with torch.no_grad():
                            y = sparse(x)
                        self.assertEqual((y.dtype, y.shape), (dtype, (*shape[:-1], 16)))
                        torch.testing.assert_close(y, dense(x).detach(), rtol=tolerance, atol=tolerance)

    def test_gradient_of_x(self):
        for dtype, tolerance in (torch.float32, 1e-5), (torch.bfloat16, 2e-2):
            for spec in SPECS:
                dense = layer(dtype=dtype)
                sparse = SparseLinear.from_linear(dense, spec)
                dense.weight.data = sparse.weight
                x = torch.randn(5, 32, dtype=dtype)
                grads = []
                for module in dense, sparse:
                    leaf = x.clone().requires_grad_()
                    module(leaf).float().sin().sum().backward()
                    grads.append(leaf.grad)
                torch.testing.assert_close(*grads, rtol=tolerance, atol=tolerance)

    def test_inputs_with_strides(self):
        sparse = SparseLinear.from_linear(layer(), "2:4")
        x = torch.randn(32, 6)
        torch.testing.assert_close(sparse(x.T), sparse(x.T.contiguous()))

    def test_saving(self):
        sparse, other = (SparseLinear.from_linear(layer(), spec) for spec in ("1:4:4", "2:4"))
        x = torch.randn(3, 32)
        memory = io.BytesIO()
        torch.save(sparse.state_dict(), memory)
        memory.seek(0)
        other.load_state_dict(torch.load(memory))
        self.assertEqual(other.sparse_weight.layout, "nmg:n=1,m=4,g=4")
        self.assertTrue(torch.equal(other(x), sparse(x)))
        self.assertTrue(torch.equal(copy.deepcopy(sparse)(x), sparse(x)))

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(ValueError, r"weight must be a matrix, got shape \[4\]"):
            SparseLinear(Tensor(torch.ones(4)))
        self.assertEqual(SparseLinear(torch.eye(4))(torch.ones(4)).sum(), 4)
        with self.assertRaisesRegex(ValueError, "weight must be F32 or BF16, got F64"):
            SparseLinear(Tensor(torch.ones(4, 4, dtype=torch.float64)))
        sparse = SparseLinear.from_linear(layer(), "2:4")
        for x, text in (torch.ones(2, 8), r"linear: x is \[2, 8\] but w has 32 columns"), (
            torch.ones(2, 32, dtype=torch.float64), "linear: x must be float32 or bfloat16"), (
            torch.ones(2, 32, dtype=torch.bfloat16), "linear: x is BF16 but w is F32"):  # fmt: skip
            with self.assertRaisesRegex(sten_tools.Error, text):
                sparse(x)


class Models(unittest.TestCase):
    def model(self):
        return torch.nn.ModuleDict({"query": layer(), "out": torch.nn.Sequential(layer(16, 8), torch.nn.ReLU())})

    def test_the_first_rule_that_matches_wins(self):
        model = sten_tools.sparsify(self.model().eval(), {"query": "1:4:4", "*": 0.5})
        self.assertEqual(model["query"].sparse_weight.layout, "nmg:n=1,m=4,g=4")
        self.assertEqual(model["out"][0].sparse_weight.layout, "csr")
        self.assertFalse(model["query"].training)

    def test_dense_layers_keep_their_values(self):
        model, x = self.model(), torch.randn(3, 32)
        y = model["query"](x)
        sten_tools.sparsify(model, {"query": "dense"})
        self.assertEqual(model["query"].sparse_weight.layout, "dense")
        torch.testing.assert_close(model["query"](x), y.detach())

    def test_to_dense_gives_linear_layers_with_the_same_values(self):
        model = sten_tools.sparsify(self.model().eval(), {"*": "2:4"})
        model["again"] = model["query"]
        x, weight = torch.randn(3, 32), model["query"].weight
        y = model["query"](x)
        sten_tools.to_dense(model)
        self.assertEqual(type(model["out"][0]), torch.nn.Linear)
        self.assertIs(model["again"], model["query"])
        self.assertFalse(model["query"].training)
        self.assertTrue(torch.equal(model["query"].weight, weight))
        torch.testing.assert_close(model["query"](x).detach(), y)
        self.assertIn("query.weight", model.state_dict())

    def test_layers_with_a_forward_of_their_own_stay(self):
        class Doubled(torch.nn.Linear):
            def forward(self, x):
                return 2 * super().forward(x)

        model = torch.nn.ModuleDict({"a": Doubled(8, 8), "b": torch.nn.Linear(8, 8)})
        sten_tools.sparsify(model, {"*": np.float32(0.5)})
        self.assertEqual([type(m) for m in model.values()], [Doubled, SparseLinear])

    def test_a_rule_without_a_match_is_named_and_changes_nothing(self):
        model = self.model()
        with self.assertRaisesRegex(sten_tools.Error, r"rule '\*.value' matches none of the 2 linear layers of the model"):
            sten_tools.sparsify(model, {"query": "2:4", "*.value": "2:4"})
        self.assertIs(type(model["query"]), torch.nn.Linear)


if __name__ == "__main__":
    unittest.main()
