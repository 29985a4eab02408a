#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bert.safetensors beside this script: what HuggingFace transformers computes with the model
recipes/models/shakespeare-bert, for the tests to compare with.

    transformers_reference.py [FILE]

It needs torch, transformers (the file is that of 2.5.1 and 4.57) and safetensors. Computed in
float64, and rounded to float32 at the end.
"""

import json
import pathlib
import sys

import torch
from transformers import BertForMaskedLM

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from pytorch import SOURCE, output_path, save  # noqa: E402

MODEL = SOURCE / "recipes/models/shakespeare-bert"

# The second is shorter, and padded.
TEXTS = ["What say you to my suit? shall it be done?", "My lord, the king is here."]
HIDDEN_EVERY = 5
GRADIENTS = [
    "bert.embeddings.word_embeddings.weight",
    "bert.embeddings.position_embeddings.weight",
    "bert.encoder.layer.0.attention.self.query.bias",
    "bert.encoder.layer.3.output.LayerNorm.weight",
    "cls.predictions.bias",
]


def batch():
    vocabulary = json.loads((MODEL / "vocab.json").read_text())
    tokens = max(map(len, TEXTS))
    ids = torch.full((len(TEXTS), tokens), vocabulary["[PAD]"])
    mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
    for row, text in enumerate(TEXTS):
        for at, character in enumerate(text):
            ids[row, at], mask[row, at] = vocabulary[character], 1
            if at % HIDDEN_EVERY == 2:
                labels[row, at], ids[row, at] = vocabulary[character], vocabulary["[MASK]"]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def main():
    path = output_path(HERE / "bert.safetensors")
    model = BertForMaskedLM.from_pretrained(MODEL, attn_implementation="eager").double().eval()
    tensors = batch()
    out = model(**tensors)
    weights = dict(model.named_parameters())
    gradients = torch.autograd.grad(out.loss, [weights[name] for name in GRADIENTS])
    tensors |= {"logits": out.logits, "loss": out.loss}
    tensors |= {"gradient:" + name: g for name, g in zip(GRADIENTS, gradients)}
    save(path, tensors)
    print(f"loss {out.loss.item():.4f}")


if __name__ == "__main__":
    main()
