#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the training step of sten-bench step on a BERT in PyTorch, float32, on the first CUDA device.

torch_step.py LAYERSxHIDDENxVOCABULARY BATCH WINDOW [--optimizer fused|foreach] [--repeats N]

The model, the batch and what is trained are those of `sten-bench step`: no dropout, the words that are told are tied
to the embedding, logits at 15 % of the tokens, AdamW. TF32 is off. Prints one line of JSON: milliseconds by the host's
clock, which waits for the device after each step.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(hidden, hidden) for _ in range(4))
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.after_attention, self.after = (nn.LayerNorm(hidden, eps=1e-12) for _ in range(2))

    # `at`: the places that are wanted, of all tokens of the batch.
    def forward(self, x, at=None):
        batch, window, hidden = x.shape
        split = lambda y: y.view(batch, window, self.heads, hidden // self.heads).transpose(1, 2)
        context = F.scaled_dot_product_attention(split(self.query(x)), split(self.key(x)), split(self.value(x)))
        context = context.transpose(1, 2).reshape(batch, window, hidden)
        if at is not None:
            context, x = context.view(-1, hidden)[at], x.reshape(-1, hidden)[at]
        x = self.after_attention(x + self.output(context))
        return self.after(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, layers, hidden, vocabulary):
        super().__init__()
        heads = hidden // 64 if hidden % 64 == 0 else hidden // 32
        self.words, self.places, self.types = (nn.Embedding(n, hidden) for n in (vocabulary, 512, 2))
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(hidden, heads) for _ in range(layers))
        self.transform, self.transform_norm = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids, at, labels):
        x = self.norm(self.words(ids) + self.types.weight[0] + self.places.weight[: ids.shape[1]])
        for layer in self.layers[:-1]:
            x = layer(x)
        x = self.layers[-1](x, at)
        x = self.transform_norm(F.gelu(self.transform(x)))
        return F.cross_entropy(F.linear(x, self.words.weight, self.bias), labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape")
    parser.add_argument("batch", type=int)
    parser.add_argument("window", type=int)
    parser.add_argument("--optimizer", choices=("fused", "foreach"), default="fused")
    parser.add_argument("--repeats", type=int, default=50)
    o = parser.parse_args()
    layers, hidden, vocabulary = map(int, o.shape.split("x"))
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    model = Bert(layers, hidden, vocabulary).cuda()
    ids = torch.randint(0, vocabulary, (o.batch, o.window)).cuda()
    at = (torch.rand(o.batch * o.window) < 0.15).nonzero().flatten().cuda()
    labels = torch.randint(0, vocabulary, (len(at),)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=o.optimizer == "fused")

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(ids, at, labels).backward()
        optimizer.step()
        torch.cuda.synchronize()

    for _ in range(10):
        step()
    ms = []
    for _ in range(o.repeats):
        begin = time.perf_counter()
        step()
        ms.append(1e3 * (time.perf_counter() - begin))
    print(json.dumps({"library": f"PyTorch {torch.__version__}", "shape": o.shape, "batch": o.batch,
                      "window": o.window, "optimizer": o.optimizer, "ms": round(statistics.median(ms), 3),
                      "least": round(min(ms), 3), "most": round(max(ms), 3), "repeats": o.repeats}))


if __name__ == "__main__":
    main()
