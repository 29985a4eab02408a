# SPDX-License-Identifier: Apache-2.0
"""What comes out of pruning, converting and training is a state dict that PyTorch loads strictly and computes the same with."""

import importlib.util
import inspect
import json
import unittest
import warnings

import numpy as np
from _programs import Case, run

try:
    import torch
    from safetensors.torch import load_file, save_file
    from torch import nn
except ImportError:
    torch = None


def network():
    """A CNN with running statistics, a buffer of integers and a parameter of one element."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 8, 3, padding=1, bias=False)
            self.bn = nn.BatchNorm2d(8)
            self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
            self.bn2 = nn.BatchNorm2d(8)
            self.fc = nn.Linear(8, 10)
            self.scale = nn.Parameter(torch.tensor([1.5]))
            self.register_buffer("order", torch.arange(4))

        def forward(self, x):
            x = torch.relu(self.bn(self.conv(x)))
            x = torch.relu(self.bn2(self.conv2(x)))
            return self.fc(x.mean((2, 3))) * self.scale

    torch.manual_seed(1)
    net = Net()
    for bn in (net.bn, net.bn2):
        bn.running_mean.normal_()
        bn.running_var.uniform_(0.5, 2)
        bn.num_batches_tracked += 7
        with torch.no_grad():  # exporters merge tensors that are equal
            bn.weight.uniform_(0.5, 2)
            bn.bias.normal_()
    return net.eval()


@unittest.skipUnless(torch, "skipped: torch is missing")
class StateDictTest(Case):
    def setUp(self):
        super().setUp()
        self.x = torch.linspace(-1, 1, 6 * 64).reshape(6, 1, 8, 8)
        np.save(self.file("x.npy"), self.x.numpy())
        self.net = network()
        torch.save(self.net.state_dict(), self.file("net.pt"))

    def file(self, *parts):
        return self.folder.joinpath(*parts)

    def export(self):
        if importlib.util.find_spec("onnx") is None and torch.__version__ >= "2":
            self.skipTest("skipped: onnx is missing")
        options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                self.net, (self.x,), str(self.file("net.onnx")), input_names=["x"], output_names=["y"],
                opset_version=17, do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE,
                dynamic_axes={"x": {0: "rows"}, "y": {0: "rows"}}, **options,
            )  # fmt: skip

    def train(self, to, model, *options):
        np.save(self.file("features.npy"), np.random.default_rng(0).random((60, 64), np.float32))
        np.save(self.file("labels.npy"), np.arange(60) % 10)
        data = {"kind": "arrays", "features": "features.npy", "labels": "labels.npy"}
        if model["kind"] != "onnx":
            data["shape"] = [8, 8, 1]
        entry = {"target": "conv2.weight" if model["kind"] == "onnx" else "layer*.conv2.weight"}
        recipe = {"schema": 1, "model": model, "data": data, "steps": 5, "batch": 6, "accumulate": 2, "products": "own",
                  "sparsity": [{**entry, "sparsifier": "nm:n=2,m=4"}]}  # fmt: skip
        self.file("recipe.json").write_text(json.dumps(recipe))
        run("train", self.file("recipe.json"), "--out", self.file(to), "-q", *options)

    def check(self, file, *model, x="x.npy", net=None):
        """Strictly loaded, `file` gives what sten-run gives of `model`."""
        net = net or network()
        net.load_state_dict(load_file(self.file(file)), strict=True)
        run("run", *model, "--input", self.file(x), "-o", self.file("y.npy"), "--force")
        with torch.no_grad():
            wanted = net.eval()(self.x).numpy()
        np.testing.assert_allclose(np.load(self.file("y.npy")), wanted, rtol=1e-4, atol=1e-5)
        return load_file(self.file(file))

    def test_pruned_and_converted(self):
        self.export()
        graph = ["--config", self.file("net.onnx")]
        for step in (["prune", "net.pt", "--sparsity", "0.5"], ["prune", "net.pt", "--structure", "2:4"],
                     ["convert", "net.pt", "--to", "csr"]):  # fmt: skip
            program, file, *options = step
            run(program, self.file(file), "-o", self.file("out.sten.safetensors"), "--force", *options)
            run("convert", self.file("out.sten.safetensors"), "-o", self.file("dense.safetensors"), "--to", "dense", "--force")
            state = self.check("dense.safetensors", self.file("out.sten.safetensors"), *graph)
            self.assertEqual(state.keys(), self.net.state_dict().keys())

    def test_trained_from_onnx(self):
        self.export()
        begin = {"kind": "onnx", "file": "net.onnx", "weights": "net.pt"}
        for save in ("dense", "nm", "csr"):
            self.train(save, begin, "--set", f"sparsity.0.save={save}")
            self.assertTrue(self.file(save, "model.onnx").exists())
            [weights] = self.file(save).glob("model*.safetensors")
            run("convert", weights, "-o", self.file("dense.safetensors"), "--to", "dense", "--force")
            state = self.check("dense.safetensors", self.file(save))
            for name, value in self.net.state_dict().items():
                trained = name.split(".")[-1] in ("weight", "bias")
                self.assertEqual(torch.equal(state[name], value), not trained, name)
            self.check("dense.safetensors", self.file(save, "model.onnx"))
        # Without statistics, those of the graph's file count.
        state = {name: value for name, value in self.net.state_dict().items() if "running" not in name}
        save_file(state, self.file("without.safetensors"))
        save_file(self.net.state_dict(), self.file("dense.safetensors"))
        self.check("dense.safetensors", self.file("without.safetensors"), "--config", self.file("net.onnx"))

    def test_trained_resnet(self):
        self.train("first", {"kind": "resnet", "depth": 18, "classes": 10, "channels": 1, "width": 2, "stem": "cifar"})
        state = load_file(self.file("first", "model.safetensors"))
        counts = {n.replace("running_mean", "num_batches_tracked"): torch.tensor(7) for n in state if "running_mean" in n}
        torch.save({**state, **counts}, self.file("first.pt"))
        self.train("second", {"kind": "resnet", "depth": 18, "classes": 10, "channels": 1, "width": 2, "stem": "cifar",
                              "weights": "first.pt"}, "--set", "sparsity.0.save=nm")  # fmt: skip
        run("convert", self.file("second", "model.sten.safetensors"), "-o", self.file("dense.safetensors"), "--to", "dense")
        after = load_file(self.file("dense.safetensors"))
        self.assertEqual(after.keys(), {*state, *counts})
        self.assertEqual({int(after[n]) for n in counts}, {7 + 5 * 2})


if __name__ == "__main__":
    unittest.main()
