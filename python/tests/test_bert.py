# SPDX-License-Identifier: Apache-2.0
"""A BERT of transformers with SparseLinear gives the outputs of sten-run. Skipped without transformers."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

try:
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertModel, GPT2Config, GPT2LMHeadModel
except ImportError:
    print("skipped: PyTorch and transformers not found")
    raise SystemExit(77) from None

import sten_tools


def run(program, *args):
    subprocess.run([f"{os.environ['STEN_BIN']}/sten-{program}", *map(str, args)], check=True, capture_output=True)


class Bert(unittest.TestCase):
    def test_outputs_are_those_of_sten_run(self):
        torch.manual_seed(0)
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                            intermediate_size=64, max_position_embeddings=32)  # fmt: skip
        model, ids = BertForMaskedLM(config).eval(), torch.randint(0, 100, (3, 16))
        with tempfile.TemporaryDirectory() as name, torch.no_grad():
            folder = Path(name)
            model.save_pretrained(folder / "dense")
            np.save(folder / "ids.npy", ids.numpy())
            run("prune", folder / "dense", "-o", folder / "pruned", "--structure", "1:4:2", "--to", "nmg",
                "--include", "bert.encoder.*.weight", "--exclude", "*LayerNorm*")  # fmt: skip
            run("run", folder / "pruned", "--input", f"input_ids={folder}/ids.npy", "-o", folder / "y.npy")
            sten_tools.sparsify(model, {"bert.encoder.*": "1:4:2"})
            expected = np.load(folder / "y.npy")
            self.assertLess(np.abs(model(ids).logits.numpy() - expected).max(), 1e-5)

            mask = torch.tensor([[1] * 16, [1] * 10 + [0] * 6, [1] * 3 + [0] * 13])
            masked = model(ids, attention_mask=mask).logits[mask == 1]
            sten_tools.to_dense(model).save_pretrained(folder / "again")
            for path, options in (folder / "pruned", {}), (folder / "again", {"layouts": "bert.encoder.*=nmg:n=1,m=4,g=2"}):
                fast = sten_tools.Model(path, **options)
                self.assertLess(np.abs(fast(ids)["cls.predictions.decoder"].numpy() - expected).max(), 1e-6)
                y = fast(input_ids=ids, attention_mask=mask)["cls.predictions.decoder"][mask == 1]
                torch.testing.assert_close(y, masked, rtol=0, atol=1e-5)
                self.assertIn("nmg:n=1,m=4,g=2", {step.layout for step in fast.plan()})

    def test_heads_pruned_apart_from_the_embeddings(self):
        bert = BertConfig(vocab_size=96, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                          intermediate_size=64, max_position_embeddings=32)  # fmt: skip
        gpt = GPT2Config(vocab_size=96, n_embd=32, n_layer=1, n_head=2, n_positions=32)
        ids = torch.randint(0, 96, (2, 8))
        for made, head in (BertForMaskedLM(bert), "cls.predictions.decoder"), (GPT2LMHeadModel(gpt), "lm_head"):
            for spec, is_tied in ("dense", True), ("2:4", False):
                model = made.eval()
                sten_tools.to_dense(sten_tools.sparsify(model, {head: spec}))
                self.assertEqual(model.config.tie_word_embeddings, is_tied)
                self.assertEqual(model.get_output_embeddings().weight is model.get_input_embeddings().weight, is_tied)
                with tempfile.TemporaryDirectory() as folder, torch.no_grad():
                    model.save_pretrained(folder)
                    expected = model(ids).logits
                    torch.testing.assert_close(type(model).from_pretrained(folder)(ids).logits, expected)
                    y = sten_tools.Model(folder)(ids)[head]
                torch.testing.assert_close(y, expected, rtol=0, atol=1e-5)

    def test_hidden_states_without_a_head(self):
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                            intermediate_size=64, max_position_embeddings=32)  # fmt: skip
        ids, mask = torch.randint(0, 100, (2, 8)), torch.tensor([[1] * 8, [1] * 5 + [0] * 3])
        for has_pooler in True, False:
            model = BertModel(config, add_pooling_layer=has_pooler).eval()
            with tempfile.TemporaryDirectory() as folder, torch.no_grad():
                model.save_pretrained(folder)
                expected = model(ids, attention_mask=mask)
                y = sten_tools.Model(folder)(input_ids=ids, attention_mask=mask)
            self.assertEqual(set(y), {"last_hidden_state"} | ({"pooler_output"} if has_pooler else set()))
            torch.testing.assert_close(
                y["last_hidden_state"][mask == 1], expected.last_hidden_state[mask == 1], rtol=0, atol=1e-5)
            if has_pooler:
                torch.testing.assert_close(y["pooler_output"], expected.pooler_output, rtol=0, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
