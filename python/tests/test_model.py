# SPDX-License-Identifier: Apache-2.0
"""Model: the outputs of sten-run on arrays."""

import os
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import sten_tools
from sten_tools import Model

BERT = Path(os.environ["STEN_SOURCE"]) / "recipes/models/shakespeare-bert"
LOGITS = "cls.predictions.decoder"
GRAPH = """{"inputs": ["x"], "outputs": ["y"], "weights": [{"name": "w", "shape": [2, 3]}],
            "nodes": [{"name": "y", "op": "linear", "inputs": ["x", "w"]}]}"""


def ids(rows, tokens):
    return np.random.default_rng(rows).integers(5, 60, (rows, tokens))


class Models(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def linear(self, weight):
        (self.folder / "graph.json").write_text(GRAPH)
        sten_tools.save(self.folder / "w.safetensors", {"w": weight}, overwrite=True)
        return {"path": self.folder / "w.safetensors", "config": self.folder / "graph.json"}

    def test_outputs_are_those_of_sten_run(self):
        model = Model(BERT)
        self.assertEqual(model.inputs, ("input_ids", "position_ids", "token_type_ids"))
        self.assertEqual(model.outputs, (LOGITS,))
        for rows, tokens in (2, 8), (3, 5), (2, 8):
            x = ids(rows, tokens)
            np.save(self.folder / "x.npy", x)
            subprocess.run(
                [f"{os.environ['STEN_BIN']}/sten-run", BERT, "--input", self.folder / "x.npy", "--force",
                 "-o", self.folder / "y.npy"], check=True, capture_output=True)  # fmt: skip
            y = model(x)[LOGITS]
            np.testing.assert_array_equal(y, np.load(self.folder / "y.npy"))
            np.testing.assert_array_equal(y, model(input_ids=x)[LOGITS])

    def test_a_mask_hides_the_padding(self):
        model, x = Model(BERT), ids(1, 8)
        short = model(x[:, :5])[LOGITS]
        padded = model(input_ids=x, attention_mask=np.array([[1] * 5 + [0] * 3]))[LOGITS]
        np.testing.assert_allclose(padded[:, :5], short, atol=1e-5)
        np.testing.assert_array_equal(model(x[:, :5])[LOGITS], short)

    def test_outputs_belong_to_the_caller(self):
        model = Model(**self.linear(np.eye(2, 3, dtype="f4")))
        first = model(np.ones((4, 3), "f4"))["y"]
        second = model(2 * np.ones((4, 3), "f4"))["y"]
        second[:] = 7
        np.testing.assert_array_equal(first, np.ones((4, 2)))
        self.assertEqual(model(np.zeros((4, 3), "f4"))["y"].max(), 0)
        self.assertEqual(second.min(), 7)

    def test_layouts_and_precision_are_in_the_plan(self):
        pruned = sten_tools.prune(np.random.default_rng(0).standard_normal((2, 3), "f4"), sparsity=0.5)
        model = Model(**self.linear(pruned), layouts=["w=csr"])
        self.assertEqual(model.plan(), [])
        x = np.ones((1, 3), "f4")
        np.testing.assert_allclose(model(x)["y"], x @ pruned.T, rtol=1e-6)
        (step,) = [s for s in model.plan() if "y" in s.nodes]
        self.assertEqual((step.operators, step.layout), ("linear", "csr"))
        self.assertGreaterEqual(step.seconds, 0)
        bf16 = Model(BERT, precision="bf16")(ids(1, 8))[LOGITS]
        exact = Model(BERT)(ids(1, 8))[LOGITS]
        self.assertTrue(0 < np.abs(bf16 - exact).max() < 0.2)

    def test_calls_from_threads(self):
        model, x = Model(BERT), [ids(rows, 8) for rows in (1, 2, 3, 4)]
        expected = [model(part)[LOGITS] for part in x]
        got = [None] * 4

        def run(i):
            got[i] = model(x[i])[LOGITS]

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for y, e in zip(got, expected):
            np.testing.assert_array_equal(y, e)

    def test_plans_of_a_running_model_can_be_read(self):
        model = Model(BERT)

        def run():
            for i in range(20):
                mask = {"attention_mask": np.ones((1, 4 + i % 3), int)} if i % 2 else {}
                model(input_ids=ids(1, 4 + i % 3), **mask)

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            model.plan()
        thread.join()
        self.assertGreater(len(model.plan()), 0)

    def test_inputs_as_a_mapping_and_without_a_mask(self):
        model, x = Model(BERT), ids(2, 8)
        expected = model(x)[LOGITS]
        np.testing.assert_array_equal(model({"input_ids": x, "attention_mask": None})[LOGITS], expected)
        np.testing.assert_array_equal(model({"input_ids": x}, token_type_ids=None)[LOGITS], expected)

    def test_errors_name_what_is_wrong(self):
        with self.assertRaisesRegex(sten_tools.Error, "nothing"):
            Model(self.folder / "nothing")
        with self.assertRaisesRegex(sten_tools.Error, "expected a model, got only weights"):
            Model(self.linear(np.eye(2, 3, dtype="f4"))["path"])
        model = Model(BERT)
        for inputs, text in (
            ({"idz": ids(1, 8)}, "unknown input 'idz' of .*expected one of input_ids"),
            ({}, "missing inputs? input_ids"),
            ({"input_ids": ids(1, 8) + 0.5}, "input_ids: elements are F64, but the model takes I64"),
            ({"input_ids": ids(1, 8)[0]}, r"input_ids: shape is \[8\], but the model's input 'input_ids' takes"),
            ({"input_ids": ids(1, 8) * 0 + 1000}, r"ids\[0, 0\] is 1000, but the table is"),
        ):
            with self.assertRaisesRegex(sten_tools.Error, text):
                model(**inputs)
        model(ids(1, 8))  # an error does not break the model


if __name__ == "__main__":
    unittest.main()
