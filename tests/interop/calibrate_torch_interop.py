# SPDX-License-Identifier: Apache-2.0
"""wanda, ria and sparsegpt are those of their papers, written down in plain PyTorch; the hook's sums are right."""

import importlib.util
import sys
import unittest

import numpy as np
from _programs import SOURCE, Case, run
from safetensors.numpy import load_file, save_file

try:
    import torch
except ImportError:
    torch = None


def smallest(scores, share):
    """Where the share of each row that is smallest lies."""
    gone = torch.zeros(scores.shape, dtype=torch.bool)
    k = round(share * scores.shape[1])
    return gone.scatter_(1, scores.sort(dim=1, stable=True).indices[:, :k], True)


def smallest_of_blocks(scores, n, m):
    blocks = scores.reshape(len(scores), -1, m)
    gone = torch.zeros(blocks.shape, dtype=torch.bool)
    return gone.scatter_(2, blocks.topk(m - n, dim=2, largest=False).indices, True).reshape(scores.shape)


def wanda(w, gram):
    return w.abs() * gram.diagonal().sqrt()


def ria(w, gram):
    a = w.abs()
    return (a / a.sum(0) + a / a.sum(1, keepdim=True)) * gram.diagonal().sqrt() ** 0.5


def sparsegpt(w, gram, share=None, nm=None, block=128, damping=0.01):
    """Weights and what is gone of them; as the paper's algorithm 1, with the factor of its section 3.3."""
    w, h = w.clone(), gram.clone()
    h += damping * h.diagonal().mean() * torch.eye(len(h), dtype=h.dtype)
    u = torch.linalg.cholesky(torch.linalg.inv(h), upper=True)
    gone = torch.zeros(w.shape, dtype=torch.bool)
    for b in range(0, w.shape[1], block):
        end = min(b + block, w.shape[1])
        errors = torch.zeros(len(w), end - b, dtype=w.dtype)
        if share is not None:
            scores = (w[:, b:end] / u.diagonal()[b:end]) ** 2
            k = round(share * scores.numel())
            gone[:, b:end] = (scores.flatten().argsort(stable=True).argsort() < k).reshape(scores.shape)
        for j in range(b, end):
            if nm is not None and j % nm[1] == 0:
                part = slice(j, j + nm[1])
                gone[:, part] = smallest_of_blocks((w[:, part] / u.diagonal()[part]) ** 2, *nm)
            errors[:, j - b] = torch.where(gone[:, j], w[:, j], 0) / u[j, j]
            w[:, j:end] -= errors[:, j - b, None] * u[j, j:end]
        w[:, end:] -= errors @ u[b:end, end:]
    return w.masked_fill(gone, 0), gone


@unittest.skipUnless(torch, "there is no PyTorch")
class Calibrate(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        n, rows, samples = 300, 80, 900
        mix = rng.standard_normal((n // 3, n)) / np.arange(1, n // 3 + 1)[:, None] ** 0.5
        x = rng.standard_normal((samples, n // 3)) @ mix + 0.3 * rng.standard_normal((samples, n))
        x *= rng.lognormal(size=n)
        self.gram = (x.T @ x).astype(np.float32)
        self.w = rng.standard_normal((rows, n)).astype(np.float32)
        save_file({"a.weight": self.w}, self.path("w"))
        statistics = {"a.weight.gram": self.gram, "a.weight.squares": self.gram.diagonal().astype(np.float64)}
        save_file(statistics, self.path("s"))

    def pruned(self, *arguments):
        out, mask = self.path("out"), self.path("mask")
        to = ("-o", out, "-f", "-q", "--mask-out", mask)
        run("prune", self.path("w"), *to, "--statistics", self.path("s"), *arguments)
        return load_file(out)["a.weight"], load_file(mask)["a.weight"]

    def test_scores(self):
        w, gram = torch.from_numpy(self.w), torch.from_numpy(self.gram)
        for score in (wanda, ria):
            for arguments, gone in (
                (("--sparsity", 0.5), smallest(score(w, gram), 0.5)),
                (("--sparsity", 0.8), smallest(score(w, gram), 0.8)),
                (("--structure", "2:4"), smallest_of_blocks(score(w, gram), 2, 4)),
            ):
                scope = ("--scope", "row") if "--sparsity" in arguments else ()
                got, kept = self.pruned("--method", score.__name__, *scope, *arguments)
                self.same(kept, ~gone.numpy(), f"{score.__name__} {arguments}")
                self.same(got, w.masked_fill(gone, 0).numpy(), f"{score.__name__} {arguments}")

    def test_sparsegpt(self):
        w, gram = torch.from_numpy(self.w).double(), torch.from_numpy(self.gram).double()
        for arguments, (wanted, gone) in (
            (("--sparsity", 0.5), sparsegpt(w, gram, share=0.5)),
            (("--structure", "2:4"), sparsegpt(w, gram, nm=(2, 4))),
            (("--structure", "1:4"), sparsegpt(w, gram, nm=(1, 4))),
        ):
            got, kept = self.pruned("--method", "sparsegpt", *arguments)
            self.same(kept, ~gone.numpy(), f"sparsegpt {arguments}")
            off = np.abs(got - wanted.numpy()).max() / np.abs(wanted.numpy()).max()
            self.assertLess(off, 1e-4, f"sparsegpt {arguments}")

    def test_least_squares(self):
        got, kept = self.pruned("--reconstruct", "--sparsity", 0.5)
        w, gram = self.w.astype(np.float64), self.gram.astype(np.float64)
        gram += 0.01 * gram.diagonal().mean() * np.eye(len(gram))
        for row in range(len(w)):
            s = np.flatnonzero(kept[row])
            wanted = np.linalg.solve(gram[np.ix_(s, s)], (w[row] @ gram)[s])
            self.assertLess(np.abs(got[row, s] - wanted).max(), 1e-4 * np.abs(wanted).max())

    def test_hook(self):
        spec = importlib.util.spec_from_file_location("statistics_hook", SOURCE / "recipes/statistics_hook.py")
        hook = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = hook
        spec.loader.exec_module(hook)
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 4))
        x = [torch.randn(3, 7, 6), torch.randn(2, 7, 6)]
        statistics = hook.Statistics(model)
        for batch in x:
            model(batch)
        statistics.save(self.path("hook"))
        sums = load_file(self.path("hook"))
        first = torch.cat([batch.flatten(0, -2) for batch in x]).double()
        second = model[1](model[0](first.float())).detach().double()
        for name, inputs in (("0.weight", first), ("2.weight", second)):
            np.testing.assert_allclose(sums[f"{name}.gram"], (inputs.T @ inputs).numpy(), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(sums[f"{name}.squares"], (inputs**2).sum(0).numpy(), rtol=1e-5)
        weights = {k: v.detach().numpy() for k, v in model.state_dict().items()}
        save_file(weights, self.path("model"))
        run("prune", self.path("model"), "-o", self.path("pruned"), "--include", "*.weight", "--structure", "1:2",
            "--method", "sparsegpt", "--reconstruct", "--statistics", self.path("hook"))


if __name__ == "__main__":
    unittest.main()
