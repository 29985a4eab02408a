# SPDX-License-Identifier: Apache-2.0
"""The logits of sten-run on the model that ships, against transformers' on windows of its text."""

import json
import os
import sys
import unittest

import numpy as np
from _programs import MODEL, SOURCE, Case, run

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
try:
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}; STEN_PYTHON names a Python with torch and transformers")
    sys.exit(77)

FOLDER = MODEL.parent
VOCABULARY = json.loads((FOLDER / "vocab.json").read_text())


def windows(count, length):
    """From all over the text, of which every seventh character is masked."""
    text = (SOURCE / "recipes/data/tinyshakespeare.txt").read_text()
    starts = np.linspace(0, len(text) - length, count).astype(int)
    ids = np.array([[VOCABULARY[c] for c in text[s : s + length]] for s in starts])
    ids[:, 3::7] = VOCABULARY["[MASK]"]
    return ids


class Bert(Case):
    def setUp(self):
        super().setUp()
        torch.set_grad_enabled(False)
        model = transformers.AutoModelForMaskedLM.from_pretrained(FOLDER)
        self.model = model.eval()

    def sten(self, model, *flags, **arrays):
        for name, x in arrays.items():
            np.save(self.folder / f"{name}.npy", x)
            flags += ("--input", f"{name}={self.folder / name}.npy")
        run("run", model, *flags, "-o", self.folder / "y.npy", "--force")
        return np.load(self.folder / "y.npy")

    def close(self, got, **arrays):
        """Largest difference, of the largest logit."""
        wanted = self.model(**{name: torch.from_numpy(x) for name, x in arrays.items()}).logits.numpy()
        self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
        largest = np.abs(wanted).max()
        off = np.abs(got - wanted).max() / largest
        print(f"{got.shape}: off by {off:.2g} of the largest logit, {largest:.3g}")
        self.assertLess(off, 1e-4)

    def test_windows_of_text(self):
        for count, length in ((64, 128), (3, 64), (1, 128), (5, 37), (1, 1)):
            ids = windows(count, length)
            self.close(self.sten(FOLDER, input_ids=ids), input_ids=ids)

    def test_windows_that_are_padded(self):
        ids = windows(4, 96)
        mask = (np.arange(96) < np.array([[96], [50], [17], [1]])).astype(np.int64)
        ids[mask == 0] = 0
        self.close(self.sten(FOLDER, input_ids=ids, attention_mask=mask), input_ids=ids, attention_mask=mask)

    def test_pruned_weights(self):
        ids = windows(8, 128)
        for i, ways in enumerate(("--sparsity 0.75 --to csr", "--structure 1:4:4 --to nmg", "--structure 2:4 --to nm")):
            pruned, dense = self.folder / f"pruned{i}", self.folder / f"dense{i}"
            include = ("--include", "bert.encoder.*.weight")
            run("prune", FOLDER, "-o", pruned, *include, *ways.split())
            run("convert", pruned, "-o", dense, "--to", "dense")
            self.model = transformers.AutoModelForMaskedLM.from_pretrained(dense).eval()
            self.close(self.sten(pruned, input_ids=ids), input_ids=ids)


if __name__ == "__main__":
    unittest.main()
