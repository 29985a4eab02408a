#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tiny-gpt beside this script: a random GPT-2 of one layer in Hugging Face's format, a text and questions; and
prints the perplexities, log-likelihoods and accuracies of transformers, which tests/cli/perplexity.sh has.
Requires torch and transformers."""
import json
import math
import pathlib

import torch
from transformers import GPT2Config, GPT2LMHeadModel

FOLDER = pathlib.Path(__file__).with_name("tiny-gpt")
QUESTIONS = [
    {"prompt": "abc", "choices": ["def.", "hag?", "fed"], "answer": 2},
    {"prompt": "bead ", "choices": ["cab", "a"], "answer": 1},
    {"prompt": "hag", "choices": ["ab", "bbbb.", "a"], "answer": 2, "delimiter": ""},
    {"prompt": "fed.", "choices": ["c", "dag", "hh"], "answer": 2},
]


def make(vocabulary):
    torch.manual_seed(3)
    config = GPT2Config(vocab_size=len(vocabulary), n_positions=16, n_embd=8, n_layer=1, n_head=2,
                        initializer_range=0.6, bos_token_id=None, eos_token_id=None)
    model = GPT2LMHeadModel(config).eval()
    model.save_pretrained(FOLDER)
    (FOLDER / "generation_config.json").unlink(missing_ok=True)
    keys = ("architectures", "model_type", "vocab_size", "n_positions", "n_embd", "n_layer", "n_head",
            "activation_function", "layer_norm_epsilon")
    saved = json.loads((FOLDER / "config.json").read_text())
    (FOLDER / "config.json").write_text(json.dumps({k: saved[k] for k in keys}, indent=1) + "\n")
    (FOLDER / "vocab.json").write_text(json.dumps(vocabulary) + "\n")
    (FOLDER / "model.safetensors").chmod(0o644)
    return model


def perplexity(model, ids, window, stride):
    """As in Hugging Face's guide, but with the exact number of predicted tokens in the mean."""
    loss = count = before = 0
    for begin in range(0, ids.shape[1], stride):
        end = min(begin + window, ids.shape[1])
        targets = ids[:, begin:end].clone()
        targets[:, :before - end] = -100
        logits = model(ids[:, begin:end]).logits[0, :-1]
        loss += torch.nn.functional.cross_entropy(logits, targets[0, 1:], reduction="sum").item()
        count += int((targets[:, 1:] != -100).sum())
        before = end
        if end == ids.shape[1]:
            break
    return count, math.exp(loss / count)


def likelihoods(model, vocabulary, question):
    """As in lm-evaluation-harness: blanks at the end of the prompt belong to the choice."""
    prompt = question["prompt"].rstrip()
    blanks = question["prompt"][len(prompt):] + question.get("delimiter", " ")
    sums = []
    for choice in question["choices"]:
        ids = [vocabulary[c] for c in prompt + blanks + choice]
        logs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        sums.append(sum(logs[i - 1, ids[i]].item() for i in range(len(prompt), len(ids))))
    return sums


def main():
    vocabulary = {"[UNK]": 0}
    for c in "abcdefgh ?.\n":
        vocabulary[c] = len(vocabulary)
    model = make(vocabulary)
    text = "abc def. hag? " * 5 + "bead cab fed.\n"
    (FOLDER / "text.txt").write_text(text)
    (FOLDER / "questions.jsonl").write_text("".join(json.dumps(q) + "\n" for q in QUESTIONS))
    ids = torch.tensor([[vocabulary[c] for c in text]])
    with torch.no_grad():
        for window, stride in ((16, 16), (16, 8), (12, 5), (16, 1)):
            print(window, stride, *perplexity(model, ids, window, stride))
        hits = norm_hits = 0
        for q in QUESTIONS:
            sums = likelihoods(model, vocabulary, q)
            print(sums)
            norms = [s / len(c) for s, c in zip(sums, q["choices"])]
            hits += sums.index(max(sums)) == q["answer"]
            norm_hits += norms.index(max(norms)) == q["answer"]
        print(hits / len(QUESTIONS), norm_hits / len(QUESTIONS))


main()
