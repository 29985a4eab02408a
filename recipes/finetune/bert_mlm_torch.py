#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Continues the masked-language-model training of a BERT on characters, with PyTorch and transformers: a
trainer for sten-prune --finetune.

    bert_mlm_torch.py tune IN OUT       trains the HuggingFace directory IN further
    bert_mlm_torch.py test DIR...       prints loss and accuracy (percent) per predicted character

The text is recipes/data/tinyshakespeare.txt: the first 90 % to train on, the next 5 % for --metrics, the last
5 % for `test`. The same input, --seed and number of threads give the same weights.
"""
import argparse
import json
import math
import pathlib
import shutil
import zlib

import safetensors.torch
import torch
from transformers import BertForMaskedLM

WINDOW, MASK, SPECIAL = 128, 4, 5  # ids below SPECIAL are [PAD] [UNK] [CLS] [SEP] [MASK]


def text(directory):
    """Ids to train on, to watch the loss on, and held out."""
    ids = json.loads((pathlib.Path(directory) / "vocab.json").read_text())
    path = pathlib.Path(__file__).resolve().parent.parent / "data" / "tinyshakespeare.txt"
    x = torch.tensor([ids.get(c, ids["[UNK]"]) for c in path.read_text()])
    a, b = int(0.9 * len(x)), int(0.95 * len(x))
    return x[:a], x[a:b], x[b:]


def load(directory):
    return BertForMaskedLM.from_pretrained(directory, local_files_only=True).eval()  # it has no dropout


def batch(x, starts, rng, vocabulary):
    """Windows with 15 % of the characters to be predicted: 80 % of those masked, 10 % random, 10 % as they are."""
    y = torch.stack([x[s:s + WINDOW] for s in starts])
    chosen = torch.rand(y.shape, generator=rng) < 0.15
    how = torch.rand(y.shape, generator=rng)
    other = torch.randint(SPECIAL, vocabulary, y.shape, generator=rng)
    shown = torch.where(chosen & (how < 0.8), MASK, torch.where(chosen & (how >= 0.9), other, y))
    return shown, torch.where(chosen, y, -100)


@torch.no_grad()
def measure(model, x):
    """Mean loss and share of hits over all of x, with masks that are always the same."""
    rng = torch.Generator().manual_seed(1)
    loss = hits = count = 0
    starts = list(range(0, len(x) - WINDOW + 1, WINDOW))
    for k in range(0, len(starts), 64):
        shown, wanted = batch(x, starts[k:k + 64], rng, model.config.vocab_size)
        logits, to_predict = model(input_ids=shown).logits, wanted != -100
        loss += torch.nn.functional.cross_entropy(logits[to_predict], wanted[to_predict], reduction="sum").item()
        hits += (logits.argmax(-1)[to_predict] == wanted[to_predict]).sum().item()
        count += to_predict.sum().item()
    return loss / count, hits / count


def train(model, x, masks, o):
    """AdamW, its rate rising for 10 steps, then falling to 0 along a cosine; what the masks exclude stays 0."""
    weights = dict(model.named_parameters())
    # Another input has other batches: a round does not repeat what the one before has seen.
    rng = torch.Generator().manual_seed(o.seed + sum(zlib.crc32(w.detach().numpy()) for w in weights.values()))
    optimizer = torch.optim.AdamW(weights.values(), lr=o.rate, betas=(0.9, 0.98), weight_decay=0.01)
    rate = lambda step: min((step + 1) / 10, (1 + math.cos(math.pi * step / o.steps)) / 2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for _ in range(o.steps):
        starts = torch.randint(len(x) - WINDOW + 1, (o.batch,), generator=rng).tolist()
        shown, wanted = batch(x, starts, rng, model.config.vocab_size)
        optimizer.zero_grad()
        model(input_ids=shown, labels=wanted).loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            for name, mask in masks.items():
                weights[name].mul_(mask)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    tune = commands.add_parser("tune")
    tune.add_argument("input")
    tune.add_argument("output")
    tune.add_argument("--masks", help="safetensors of booleans, true where a weight stays")
    tune.add_argument("--metrics", help="where to write the losses before and after, as JSON")
    tune.add_argument("--steps", type=int, default=50)
    tune.add_argument("--batch", type=int, default=16)
    tune.add_argument("--rate", type=float, default=2e-4)
    tune.add_argument("--seed", type=int, default=0)
    commands.add_parser("test").add_argument("directories", nargs="+")
    o = parser.parse_args()

    if o.command == "test":
        for directory in o.directories:
            loss, hits = measure(load(directory), text(directory)[2])
            print(f"{loss:.3f} {100 * hits:.1f}", flush=True)
        return
    model = load(o.input)
    trained_on, watched, _ = text(o.input)
    masks = safetensors.torch.load_file(o.masks) if o.masks else {}
    before = measure(model, watched)[0] if o.metrics else None
    train(model, trained_on, masks, o)
    if o.metrics:
        pathlib.Path(o.metrics).write_text(json.dumps({"loss": measure(model, watched)[0], "loss_before": before}))
    model.save_pretrained(o.output)
    shutil.copy(pathlib.Path(o.input) / "vocab.json", o.output)


if __name__ == "__main__":
    main()
