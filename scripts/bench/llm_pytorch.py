# SPDX-License-Identifier: Apache-2.0
"""Prunes the layers of a Llama-like model by magnitude, wanda, sparsegpt, sparsegpt-dense or admm in PyTorch, block by
block, for comparison with sten-prune.

    python scripts/bench/llm_pytorch.py DENSE OUT TEXT METHOD SPARSITY|N:M[:G] [SAMPLES] [WINDOW]     # 32 windows of 512

DENSE is a directory of transformers in float32. The algorithms are magnitude over all weights of a layer, and those of
Sun et al. 2023 (wanda, per output), of Frantar and Alistarh 2023 (sparsegpt, blocks of 128 columns, 1 % damping) and of
Boza 2024 (admm, 20 rounds, sparsity rising by a cubic in the first 15, 10 % damping). As published, all layers of a
block get the inputs that the unpruned layers of the block compute. sparsegpt-dense is sparsegpt for the outputs of the
dense model, each layer with the inputs that the pruned layers before it compute: what sten-prune calls sparsegpt. Only
the choice of the kept elements of N:M:G is that of sten_tools. The windows of the text are those of sten-prune with
seed 0; magnitude reads none.
"""

import copy
import shutil
import sys
import time
from math import comb
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

BLOCK = 128


def lowest(scores, spec):
    """A mask of the elements to prune: the lowest share of each row, or the lowest of each group."""
    if isinstance(spec, float):
        pruned = scores.argsort(1)[:, : int(scores.shape[1] * spec)]
        return torch.zeros_like(scores, dtype=torch.bool).scatter_(1, pruned, True)
    if len(spec) == 3:
        import sten_tools

        # Scores of 0 are kept elements, too.
        positive = scores.float().clamp(min=1e-30).contiguous()
        return sten_tools.prune(positive, structure=":".join(map(str, spec))) == 0
    n, m = spec
    groups = scores.view(scores.shape[0], -1, m)
    pruned = groups.argsort(2)[:, :, : m - n]
    return torch.zeros_like(groups, dtype=torch.bool).scatter_(2, pruned, True).view_as(scores)


def magnitude(weight, gram, spec):
    scores = weight.abs()
    if isinstance(spec, float):
        scores = scores.view(1, -1)
    weight[lowest(scores, spec).view_as(weight)] = 0


def wanda(weight, gram, spec):
    scores = weight.abs() * gram.diag().sqrt()
    weight[lowest(scores, spec)] = 0


def sparsegpt(weight, gram, spec, cross=None):
    dead = gram.diag() == 0
    gram[dead, dead] = 1
    damping = 0.01 * gram.diag().mean() * torch.eye(len(gram))
    gram += damping
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
    if cross is not None:
        weight[:] = weight @ (cross + damping) @ inverse
    weight[:, dead] = 0
    inverse = torch.linalg.cholesky(inverse, upper=True)
    # Columns whose elements are chosen together: those of an n:m:g chunk, or a block.
    block = comb(spec[1], spec[0]) * spec[2] if isinstance(spec, tuple) and len(spec) == 3 else BLOCK
    for begin in range(0, weight.shape[1], block):
        end = min(begin + block, weight.shape[1])
        w, h = weight[:, begin:end].clone(), inverse[begin:end, begin:end]
        errors = torch.zeros_like(w)
        scores = w**2 / h.diag() ** 2
        if isinstance(spec, float):
            pruned = scores <= scores.flatten().kthvalue(int(scores.numel() * spec)).values
        else:
            pruned = lowest(scores, spec) if len(spec) == 3 else torch.zeros_like(w, dtype=torch.bool)
        for i in range(end - begin):
            if isinstance(spec, tuple) and len(spec) == 2 and i % spec[1] == 0:
                group = slice(i, i + spec[1])
                pruned[:, group] = lowest(w[:, group] ** 2 / h.diag()[group] ** 2, spec)
            kept = torch.where(pruned[:, i], 0.0, w[:, i])
            errors[:, i] = (w[:, i] - kept) / h[i, i]
            w[:, i:] -= errors[:, i, None] * h[i, i:]
            w[:, i] = kept
        weight[:, begin:end] = w
        weight[:, end:] -= errors @ inverse[begin:end, end:]


def admm(weight, gram, spec):
    rounds, rising = 20, 15
    norm = gram.diag().sqrt() + 1e-8
    gram = gram / norm / norm[:, None]
    gram += 0.1 * gram.diag().mean() * torch.eye(len(gram))
    w = weight * norm
    target = w @ gram
    inverse = torch.linalg.inv(gram + torch.eye(len(gram)))
    dual = torch.zeros_like(w)
    for i in range(rounds):
        at = w + dual
        if i < rising:
            if isinstance(spec, float):
                share = spec - spec * (1 - (i + 1) / rising) ** 3
                pruned = at.abs() <= at.abs().flatten().kthvalue(int(at.numel() * share)).values
            else:
                pruned = lowest(at.abs(), spec)
        dual = torch.where(pruned, at, 0.0)
        w = (target + at - 2 * dual) @ inverse
    weight[:] = torch.where(pruned, 0.0, w + dual) / norm


METHODS = {"magnitude": magnitude, "wanda": wanda, "sparsegpt": sparsegpt, "admm": admm}
GROUPS = (("q_proj", "k_proj", "v_proj"), ("o_proj",), ("gate_proj", "up_proj"), ("down_proj",))  # of equal inputs


def linear_layers(block):
    return {name: m for name, m in block.named_modules() if isinstance(m, torch.nn.Linear)}


class Stop(Exception):
    pass


def inputs_of_blocks(model, windows):
    """The hidden states before the first block, and its other arguments."""
    states, others = [], {}

    def keep(_, args, kwargs):
        states.append(args[0])
        others.update(kwargs)
        raise Stop

    hook = model.model.layers[0].register_forward_pre_hook(keep, with_kwargs=True)
    for ids in windows:
        try:
            model(ids, use_cache=False)
        except Stop:
            pass
    hook.remove()
    return states, others


def outputs_of(block, states, others):
    outputs = [block(x, **others) for x in states]
    return [x[0] if isinstance(x, tuple) else x for x in outputs]


def prune(model, windows, method, spec):
    states, others = inputs_of_blocks(model, windows)  # magnitude has no windows
    for number, block in enumerate(model.model.layers):
        grams = {}

        def add(name):
            def hook(_, args):
                x = args[0].reshape(-1, args[0].shape[-1])
                grams[name] = grams.get(name, 0) + x.T @ x

            return hook

        layers = linear_layers(block)
        hooks = [layer.register_forward_pre_hook(add(name)) for name, layer in layers.items()]
        for x in states:
            block(x, **others)
        for hook in hooks:
            hook.remove()
        for name, layer in layers.items():
            method(layer.weight.data, grams.get(name), spec)
        states = outputs_of(block, states, others)
        print(f"block {number + 1} of {len(model.model.layers)}", file=sys.stderr, flush=True)


def input_of(layer, block, state, others):
    found = []

    def keep(_, args):
        found.append(args[0].reshape(-1, args[0].shape[-1]))
        raise Stop

    hook = layer.register_forward_pre_hook(keep)
    try:
        block(state, **others)
    except Stop:
        pass
    hook.remove()
    return found[0]


def prune_for_dense_outputs(model, windows, spec):
    states, others = inputs_of_blocks(model, windows)
    dense_states = states
    for number, block in enumerate(model.model.layers):
        dense = copy.deepcopy(block)
        layers = {name.split(".")[-1]: layer for name, layer in linear_layers(block).items()}
        dense_layers = {name.split(".")[-1]: layer for name, layer in linear_layers(dense).items()}
        for group in GROUPS:
            gram, cross = 0, 0
            for state, dense_state in zip(states, dense_states):
                x = input_of(layers[group[0]], block, state, others)
                gram += x.T @ x
                cross += input_of(dense_layers[group[0]], dense, dense_state, others).T @ x
            for name in group:
                sparsegpt(layers[name].weight.data, gram.clone(), spec, cross)
        states = outputs_of(block, states, others)
        dense_states = outputs_of(dense, dense_states, others)
        print(f"block {number + 1} of {len(model.model.layers)}", file=sys.stderr, flush=True)


def mixed(x):
    """The finalizer of SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def begins_of_windows(tokens, window, samples):
    """Where sten-prune begins its windows (libsten/data/text_windows.cpp): in the first 80 % of the text."""
    seed = 0xCBF29CE484222325
    for c in b"starts":
        seed = (seed ^ c) * 0x100000001B3 % 2**64
    seed = mixed(mixed(seed))
    room = int(tokens * 0.8) - window
    uniform = ((mixed(mixed(seed) ^ mixed(~i % 2**64)) >> 11) * 2.0**-53 for i in range(samples))
    return [int(u * room) for u in uniform]


def main():
    dense, out, text, method, spec = sys.argv[1:6]
    samples, window = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((6, 32), (7, 512)))
    spec = tuple(map(int, spec.split(":"))) if ":" in spec else float(spec)
    model = AutoModelForCausalLM.from_pretrained(dense, dtype=torch.float32).eval()
    ids = AutoTokenizer.from_pretrained(dense)(Path(text).read_text(), add_special_tokens=False, return_tensors="pt")
    ids = ids.input_ids[0]
    begins = [] if method == "magnitude" else begins_of_windows(len(ids), window, samples)
    begin = time.perf_counter()
    with torch.no_grad():
        windows = [ids[i : i + window][None] for i in begins]
        if method == "sparsegpt-dense":
            prune_for_dense_outputs(model, windows, spec)
        else:
            prune(model, windows, METHODS[method], spec)
    print(f"{time.perf_counter() - begin:.1f} s", file=sys.stderr)
    model.save_pretrained(out)
    for file in Path(dense).glob("tokenizer*"):
        shutil.copy(file, out)


if __name__ == "__main__":
    main()
