#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pytorch_classification.json beside this script: as pytorch_reference.py, for BERTs that classify
texts, pairs of them, and words, as transformers' classes do; and the scores that scikit-learn and seqeval
give them at the end.

    classification_reference.py [FILE]

It needs seqeval and scikit-learn, too.
"""

import csv
import json

import numpy as np
import torch
import torch.nn.functional as F
from pytorch_reference import (
    CONSTANT, COSINE, HERE, IGNORED, adamw, batch_of, ends_of, initialize_bert, optimizer_and_rates, output_path,
    save_runs, sgd, shuffled,
)  # fmt: skip
from seqeval.metrics import f1_score as entity_f1
from sklearn.metrics import f1_score
from transformers import BertConfig, BertForSequenceClassification, BertForTokenClassification, BertTokenizerFast


class Rows:
    """Encoded as transformers does it, in batches by the recipe's seed."""

    def __init__(self, recipe):
        data = recipe["data"]
        tokenizer = BertTokenizerFast(str(HERE / data["vocabulary"]), do_lower_case=True)
        file = HERE / data["file"]
        if file.suffix == ".csv":
            with open(file, newline="") as f:
                rows = list(csv.DictReader(f))
        else:
            rows = [json.loads(line) for line in file.read_text().splitlines()]
        self.is_words = data["kind"] == "labelled-words"
        size = {"truncation": True, "max_length": data["window"], "padding": "max_length"}
        if self.is_words:
            names = sorted({tag for row in rows for tag in row["labels"]})
            self.x = tokenizer([row["tokens"] for row in rows], is_split_into_words=True, return_tensors="pt", **size)
            labels = []
            for i, row in enumerate(rows):
                ids = self.x.word_ids(i)
                labels.append([names.index(row["labels"][w]) if w is not None and w != before else IGNORED
                               for before, w in zip([None, *ids], ids)])  # fmt: skip
            self.y = torch.tensor(labels)
        else:
            names = sorted({row[data["label_column"]] for row in rows})
            pairs = [row[data["pair_column"]] for row in rows] if "pair_column" in data else None
            size["truncation"] = "longest_first"
            self.x = tokenizer([row[data["text_column"]] for row in rows], pairs, return_tensors="pt", **size)
            self.y = torch.tensor([names.index(row[data["label_column"]]) for row in rows])
        self.names = names
        order, ends = shuffled(len(rows), data["split_seed"]), ends_of(len(rows), data)
        self.train, self.test = order[: ends[0]], order[ends[1] :]
        self.recipe = recipe

    def at(self, rows):
        rows = torch.from_numpy(np.asarray(rows))
        return {k: v[rows] for k, v in self.x.items()}, self.y[rows]

    def batch(self, step):
        return self.at(self.train[batch_of(len(self.train), self.recipe, step)])


def run_of(recipe):
    rows = Rows(recipe)
    config = BertConfig.from_json_file(HERE / recipe["model"]["config"])
    config.num_labels, config._attn_implementation = len(rows.names), "eager"
    kind = BertForTokenClassification if rows.is_words else BertForSequenceClassification
    model = kind(config).double().eval()
    initialize_bert(model, recipe["seed"])
    weights = list(model.parameters())
    step, rates = optimizer_and_rates(recipe, weights)
    losses = []
    for t in range(recipe["steps"]):
        x, y = rows.batch(t)
        step.zero_grad()
        logits = model(**x).logits
        loss = F.cross_entropy(logits.flatten(0, -2), y.flatten(), ignore_index=IGNORED)
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, recipe["clip"])
        step.step()
        rates.step()
    with torch.no_grad():
        x, y = rows.at(rows.test)
        logits = model(**x).logits
        loss = F.cross_entropy(logits.flatten(0, -2), y.flatten(), ignore_index=IGNORED).item()
        got = logits.argmax(-1)
    if rows.is_words:
        tags = [[[rows.names[t] for t, w in zip(a, b) if w != IGNORED] for a, b in zip(of.tolist(), y.tolist())]
                for of in (y, got)]  # fmt: skip
        f1 = entity_f1(*tags)
    else:
        f1 = f1_score(y, got, average="macro")
    hits = ((got == y) & (y != IGNORED)).sum().item() / (y != IGNORED).sum().item()
    print(f"{recipe['name']:24} {losses[0]:.4f} to {losses[-1]:.4f}, accuracy {hits:.4f}, F1 {f1:.4f}")
    return {"recipe": recipe, "losses": losses, "loss": loss, "accuracy": hits, "f1": f1, "labels": rows.names}


SPLIT = {"train": 0.8, "validation": 0.0, "split_seed": 2, "vocabulary": "letters.txt", "window": 32}
BASE = {"schema": 1, "model": {"kind": "bert", "config": "small-bert.json"}, "steps": 50, "batch": 8, "seed": 7}
TEXT = SPLIT | {"kind": "labelled-text", "file": "labelled.csv", "text_column": "said", "label_column": "who"}
RUNS = [
    BASE | {"name": "texts", "data": TEXT, "optimizer": adamw(0.002), "rate": COSINE, "clip": 1.0},
    BASE | {"name": "pairs", "data": TEXT | {"pair_column": "then"}, "optimizer": sgd(0.05), "rate": CONSTANT,
            "clip": 1.0},
    BASE | {"name": "words", "data": SPLIT | {"kind": "labelled-words", "file": "labelled.jsonl"},
            "optimizer": adamw(0.002), "rate": COSINE, "clip": 1.0},
]  # fmt: skip


def main():
    path = output_path(HERE / "pytorch_classification.json")
    save_runs(path, [run_of(recipe) for recipe in RUNS])


if __name__ == "__main__":
    main()
