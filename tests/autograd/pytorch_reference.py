#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what PyTorch computes, for the tests beside this script to compare with:

    operators.safetensors    each operator's output and gradients, in several cases
    transformer.safetensors  a small BERT, its loss and the gradient of every weight
    optimizers.safetensors   a tensor after each of ten steps

    pytorch_reference.py [DIRECTORY]    the script's own, where there is none

It needs torch (the files are those of 2.5.1, operators of 2.8.0) and safetensors. Everything is
computed in float64, from inputs that float32 has, and rounded to float32 at the end: better than what
it is compared with.
A case's numbers depend on its name alone, so one that is added leaves the others as they are.
"""

import pathlib
import sys
import zlib

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from pytorch import (  # noqa: E402
    as_float32, function_named, mirrored_pads, operator_rows, output_path, random_uniform, save,
)  # fmt: skip


def generator(name):
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


def normal(rng, *shape, scale=1.0):
    """Normal numbers in float64 that float32 has too."""
    return as_float32(torch.randn(shape, generator=rng, dtype=torch.float64) * scale)


# ------------------------------------------------------------------------------------ operators


def dropout(x, p=0.5, seed=0):
    keep = torch.from_numpy(random_uniform(seed, range(x.numel())) >= p)
    return x * keep.to(x.dtype).reshape(x.shape) / (1 - p)


def transpose(x, axes=None):
    return x.transpose(-1, -2) if axes is None else x.permute(axes)


def part(x, axis=0, begin=0, end=None, begins=None, ends=(), axes=None, steps=None):
    if begins is None:
        return x.narrow(axis, begin, (x.shape[axis] if end is None else end) - begin)
    for i, (first, last) in enumerate(zip(begins, ends)):
        axis, step = (axes or range(len(begins)))[i], (steps or [1] * len(begins))[i]
        x = x.index_select(axis, torch.tensor(range(x.shape[axis])[first:last:step]))
    return x


def pad(x, pads, mode="constant", value=0.0):
    """By a mode, PyTorch pads tensors with two more axes."""
    if mode == "constant":
        return F.pad(x, mirrored_pads(pads), value=value)
    mode = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    return F.pad(x[None, None], mirrored_pads(pads), mode)[0, 0]


def gather(x, ids, axis=0):
    axis %= x.ndim
    y = x.index_select(axis, ids.long().flatten() % x.shape[axis])
    return y.reshape(*x.shape[:axis], *ids.shape, *x.shape[axis + 1 :])


def gather_elements(x, ids, axis=0):
    return x.gather(axis, ids.long() % x.shape[axis])


def scatter_elements(x, ids, updates, axis=0, reduction="none"):
    ids = ids.long() % x.shape[axis]
    return (x.scatter_add if reduction == "add" else x.scatter)(axis, ids, updates)


def product(x, axes=None, keep=0):
    for axis in sorted((a % x.ndim for a in axes or every_axis(x)), reverse=True):
        x = x.prod(axis, bool(keep))
    return x


def cum_sum(x, axis=0, exclusive=0, reverse=0):
    y = x.flip(axis) if reverse else x
    y = y.cumsum(axis) - (y if exclusive else 0)
    return y.flip(axis) if reverse else y


def unsqueeze(x, axes):
    rank = x.ndim + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = x.unsqueeze(axis)
    return x


def reduction(f):
    return lambda x, axes=None, keep=0: f(x, axes or every_axis(x), bool(keep))


def cross_entropy(logits, targets, ignore=-100):
    """0 where no target counts, for which PyTorch's own mean is NaN."""
    loss = F.cross_entropy(logits, targets.long(), ignore_index=ignore, reduction="sum")
    return loss / max(1, (targets != ignore).sum().item())


def attention(q, k, v, mask=None, heads=1, scale=None):
    def split(x):
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    if mask is not None and not mask.is_floating_point():
        mask = (mask != 0)[:, None, None, :]
    context = F.scaled_dot_product_attention(split(q), split(k), split(v), mask, scale=scale)
    return context.transpose(1, 2).flatten(2)


def clip(x, min=-torch.inf, max=torch.inf):
    return x.clamp(min, max)


def hard_sigmoid(x, alpha=0.2, beta=0.5):
    return (alpha * x + beta).clamp(0, 1)


def every_axis(x):
    return list(range(x.ndim))


TRIGONOMETRY = "sin cos tan asin acos atan sinh cosh asinh acosh atanh".split()

OPERATORS = {
    "matmul": torch.matmul,
    "linear": F.linear,
    "scale": lambda x, by: x * by,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softmax": lambda x, axis=-1: x.softmax(axis),
    "log-softmax": lambda x, axis=-1: x.log_softmax(axis),
    "layer-norm": lambda x, g, b, eps=1e-5: F.layer_norm(x, x.shape[-1:], g, b, eps),
    "embedding": lambda table, ids: F.embedding(ids, table),
    "attention": attention,
    "dropout": dropout,
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": transpose,
    "concat": lambda *x, axis=0: torch.cat(x, axis),
    "slice": part,
    "slice-scatter": lambda x, v, axis, begin, end: torch.slice_scatter(x, v, axis, begin, end),
    "sum": lambda x, axes=None, keep=0: x.sum(axes or every_axis(x), bool(keep)),
    "mean": lambda x, axes=None, keep=0: x.mean(axes or every_axis(x), bool(keep)),
    "cross-entropy": cross_entropy,
    "mse": F.mse_loss,
    # Elementwise.
    "min": torch.minimum,
    "max": torch.maximum,
    "where": torch.where,
    "hard-sigmoid": hard_sigmoid,
    "clip": clip,
    "identity": torch.clone,
    "squeeze": lambda x, axes=None: x.squeeze(axes or every_axis(x)),
    "unsqueeze": unsqueeze,
    "flatten": lambda x, axis=1: x.reshape(x.shape[:axis].numel(), -1),
    "expand": lambda x, shape: x.expand(torch.broadcast_shapes(x.shape, shape)),
    "tile": lambda x, repeats: x.repeat(repeats),
    "pad": pad,
    "gather": gather,
    "gather-elements": gather_elements,
    "reduce-max": reduction(torch.amax),
    "reduce-min": reduction(torch.amin),
    "reduce-prod": product,
    "reduce-l1": reduction(lambda x, *to: x.abs().sum(*to)),
    "reduce-l2": reduction(lambda x, *to: torch.linalg.vector_norm(x, 2, *to)),
    "reduce-sum-square": reduction(lambda x, *to: (x * x).sum(*to)),
    "reduce-log-sum": reduction(lambda x, *to: x.sum(*to).log()),
    "reduce-log-sum-exp": reduction(torch.logsumexp),
    "top-k": lambda x, k, axis=-1, largest=1: x.topk(k, axis, bool(largest)).values,
    "cum-sum": cum_sum,
    "thresholded-relu": lambda x, alpha=1.0: F.threshold(x, alpha, 0.0),
    "shrink": lambda x, lambd=0.5, bias=0.0: (F.softshrink if bias else F.hardshrink)(x, lambd),
    "p-relu": lambda x, slope: torch.where(x < 0, slope * x, x),
    "scatter-elements": scatter_elements,
    "scatter-nd": lambda x, ids, updates, reduction="none": x.index_put(
        tuple(ids.long().unbind(-1)), updates, reduction == "add"),
    "gather-nd": lambda x, ids: x[tuple(ids.long().unbind(-1))],
    "nll-loss": lambda x, targets, reduction="mean", ignore=-100: F.nll_loss(
        x, targets, ignore_index=ignore, reduction=reduction),
    "einsum": lambda *x, equation: torch.einsum(equation, *x),
    "trilu": lambda x, k=0, upper=1: x.triu(k) if upper else x.tril(k),
}
# Other rows have PyTorch's function of the same name.
OPERATORS |= {op: function_named(op) for op in operator_rows() if op not in OPERATORS}


def i64(*values):
    return torch.tensor(values)


def i32(*values):
    return torch.tensor(values, dtype=torch.int32)


def special(*values):
    """Numbers that are not drawn."""
    return torch.tensor(values).double()


def positive(*shape):
    return normal(generator(f"positive {shape}"), *shape).abs() + 0.25


def booleans(*values):
    return torch.tensor(values) != 0


# An operator's inputs, tensors or extents to be filled with normal numbers; and its attributes.
CASES = [
    ("matmul", [(2, 3), (3, 4)], {}),
    ("matmul", [(1, 5), (5, 1)], {}),
    ("matmul", [(17, 70), (70, 35)], {}),
    ("matmul", [(5, 2, 3), (5, 3, 4)], {}),
    ("matmul", [(5, 2, 3), (3, 4)], {}),
    ("matmul", [(2, 3), (5, 3, 4)], {}),
    ("matmul", [(4, 1, 2, 3), (5, 3, 4)], {}),
    ("matmul", [(2, 1, 3, 4), (1, 3, 4, 2)], {}),
    ("matmul", [(2, 0), (0, 3)], {}),
    ("matmul", [(0, 2, 3), (3, 4)], {}),
    ("linear", [(5, 8), (6, 8)], {}),
    ("linear", [(5, 8), (6, 8), (6,)], {}),
    ("linear", [(8,), (6, 8)], {}),
    ("linear", [(8,), (6, 8), (6,)], {}),
    ("linear", [(2, 5, 8), (6, 8)], {}),
    ("linear", [(2, 9, 67), (33, 67), (33,)], {}),
    ("linear", [(2, 3, 2, 4), (1, 4), (1,)], {}),
    ("linear", [(0, 8), (6, 8), (6,)], {}),
    *((op, inputs, {}) for op in ("add", "sub", "mul") for inputs in (
        [(3, 5), (3, 5)],
        [(7,), ()],
        [(), ()],
        [(2, 3, 4), (4,)],
        [(4,), (2, 3, 4)],
        [(3, 1), (1, 5)],
        [(2, 1, 3, 1), (4, 1, 5)],
        [(2, 1, 1, 6), (2, 3, 6, 6)],
        [(0, 4), (4,)],
    )),
    ("scale", [(3, 4)], {"by": -0.25}),
    ("scale", [()], {"by": 3.0}),
    ("scale", [(2, 3, 2)], {"by": 0.0}),
    *((op, [x], {}) for op in ("relu", "tanh", "sigmoid", "gelu", "gelu-tanh") for x in (
        (4, 5),
        (2, 3, 37),
        (),
        special(-1000, -100, -20, -8, -3, -1e-3, -1e-6, 0, 1e-6, 1e-3, 3, 8, 20, 100, 1000),
    )),
    *((op, inputs, attributes) for op in ("softmax", "log-softmax") for inputs, attributes in (
        ([(3, 7)], {}),
        ([(2, 3, 67)], {"axis": 2}),
        ([(2, 5, 3)], {"axis": 1}),
        ([(4, 2, 3)], {"axis": 0}),
        ([(2, 3, 4, 5)], {"axis": -3}),
        ([(6,)], {}),
        ([(5, 1)], {}),
        ([(0, 3)], {}),
        ([special([1000, 1001, 999.5], [-1000, -1001, -3000], [0, 80, -80])], {}),
    )),
    ("layer-norm", [(4, 8), (8,), (8,)], {}),
    ("layer-norm", [(2, 3, 67), (67,), (67,)], {"eps": 1e-12}),
    ("layer-norm", [(5,), (5,), (5,)], {"eps": 0.5}),
    ("layer-norm", [special([10, 11, 12.5, 9], [-0.01, 0.02, 0, 0.01]), (4,), (4,)], {}),
    ("layer-norm", [(0, 4), (4,), (4,)], {}),
    ("embedding", [(7, 4), i64(3, 0, 3, 6, 3)], {}),
    ("embedding", [(7, 4), i64([1, 5, 1], [5, 5, 0])], {}),
    ("embedding", [(5, 3), i32([[4, 4]], [[0, 2]])], {}),
    ("embedding", [(5, 1), i32(2, 2)], {}),
    ("embedding", [(5, 3), torch.tensor(4)], {}),
    ("attention", [(2, 3, 4), (2, 3, 4), (2, 3, 4)], {}),
    ("attention", [(2, 3, 8), (2, 5, 8), (2, 5, 8)], {"heads": 4}),
    ("attention", [(2, 3, 6), (2, 4, 6), (2, 4, 6), i64([1, 1, 0, 0], [0, 1, 5, 0])], {"heads": 2}),
    ("attention", [(1, 17, 60), (1, 17, 60), (1, 17, 60), i32([1] * 11 + [0] * 6)], {"heads": 3}),
    ("attention", [(2, 3, 8), (2, 5, 8), (2, 5, 12), (3, 5)], {"heads": 4, "scale": 0.25}),
    ("attention", [(2, 3, 8), (2, 5, 8), (2, 5, 8), (4, 1, 5)], {"heads": 4}),
    ("dropout", [(5, 8)], {}),
    ("dropout", [(3, 4, 5)], {"p": 0.1, "seed": 7}),
    ("dropout", [(64,)], {"p": 0.9, "seed": 2**40 + 3}),
    ("dropout", [(3, 3)], {"p": 0.0, "seed": 1}),
    ("reshape", [(2, 6)], {"shape": [3, 4]}),
    ("reshape", [(2, 3, 4)], {"shape": [2, -1]}),
    ("reshape", [(2, 6)], {"shape": [2, 2, 3, 1]}),
    ("reshape", [(2, 6)], {"shape": [-1]}),
    ("reshape", [(1, 1)], {"shape": []}),
    ("reshape", [()], {"shape": [1, -1]}),
    ("transpose", [(3, 4)], {}),
    ("transpose", [(2, 3, 4)], {}),
    ("transpose", [(2, 3, 4)], {"axes": [2, 0, 1]}),
    ("transpose", [(2, 3, 4, 5)], {"axes": [0, 2, 1, 3]}),
    ("transpose", [(2, 3, 4, 5)], {"axes": [-1, 1, -4, 2]}),
    ("transpose", [(33, 41)], {"axes": [1, 0]}),
    ("concat", [(2, 3), (4, 3), (1, 3)], {}),
    ("concat", [(2, 3), (2, 1), (2, 4)], {"axis": 1}),
    ("concat", [(2, 3, 2), (2, 1, 2), (2, 2, 2)], {"axis": -2}),
    ("concat", [(2, 3)], {"axis": -1}),
    ("concat", [(2, 2), (2, 0)], {"axis": 1}),
    ("slice", [(6, 3)], {"begin": 2, "end": 5}),
    ("slice", [(2, 6, 3)], {"axis": 1, "begin": 1, "end": 4}),
    ("slice", [(2, 3, 5)], {"axis": -1, "begin": 3}),
    ("slice", [(2, 5)], {"axis": 1, "end": 2}),
    ("slice", [(4, 2)], {}),
    ("slice", [(4, 2)], {"begin": 2, "end": 2}),
    ("slice-scatter", [(6, 3), (3, 3)], {"axis": 0, "begin": 2, "end": 5}),
    ("slice-scatter", [(2, 6, 3), (2, 1, 3)], {"axis": -2, "begin": 5, "end": 6}),
    *((op, inputs, attributes) for op in ("sum", "mean") for inputs, attributes in (
        ([(3, 4)], {}),
        ([(3, 4)], {"keep": 1}),
        ([()], {}),
        ([(3, 4)], {"axes": [0]}),
        ([(3, 4, 5)], {"axes": [-1]}),
        ([(3, 4, 5)], {"axes": [0, 2]}),
        ([(3, 4, 5)], {"axes": [-1, 0], "keep": 1}),
        ([(2, 3, 2, 5)], {"axes": [1, 2]}),
        ([(2, 3, 2, 5)], {"axes": [1, 3], "keep": 1}),
        ([(2, 500)], {"axes": [1]}),
    )),
    ("sum", [(0, 3)], {"axes": [0]}),
    ("cross-entropy", [(4, 5), i64(1, 0, 4, 4)], {}),
    ("cross-entropy", [(6, 23), i32(3, -100, 22, -100, 0, 7)], {}),
    ("cross-entropy", [(3, 4), i64(-100, -100, -100)], {}),
    ("cross-entropy", [(5, 4), i64(0, 1, 2, 0, 3)], {"ignore": 0}),
    ("cross-entropy", [special([1000, 0, -1000], [-500, -500, -501]), i64(1, 2)], {}),
    ("mse", [(3, 4), (3, 4)], {}),
    ("mse", [(2, 3, 5), (2, 3, 5)], {}),
    ("mse", [(), ()], {}),
    # Elementwise.
    ("div", [(3, 5), positive(3, 5)], {}),
    ("div", [(2, 3, 1), positive(4)], {}),
    ("div", [(), special(-2, 3, 1e-3)], {}),
    ("div", [(0, 4), (4,)], {}),
    ("pow", [positive(3, 5), (3, 5)], {}),
    ("pow", [positive(2, 3), ()], {}),
    ("pow", [special(0, 0, 2, 3), special(2, 0, 1, 0.5)], {}),
    ("pow", [(2, 3), torch.tensor(2)], {}),
    ("pow", [(2, 4), i64([3], [0], [-1])[:, None]], {}),
    *((op, inputs, {}) for op in ("min", "max") for inputs in (
        [(3, 5), (3, 5)],
        [(4,), (2, 3, 4)],
        [(3, 1), (1, 5)],
        [special(1, 2, -3, 0), special(1, -2, -3, 4)],
    )),
    ("where", [booleans([1, 0, 1], [0, 0, 1]), (2, 3), (2, 3)], {}),
    ("where", [booleans([1], [0]), (4, 1, 3), ()], {}),
    ("where", [booleans(1, 0, 0), (), ()], {}),
    ("where", [torch.tensor(True), (2, 1), (3,)], {}),
    *((op, [x], {}) for op in (
        "abs", "neg", "sign", "floor", "ceil", "round", "erf", "softplus", "elu", "leaky-relu",
        "hard-sigmoid", "hard-swish", "clip", "identity") for x in (
        (4, 5),
        (),
        special(-1000, -20, -3.5, -1.5, -0.5, -1e-3, 0, 1e-3, 0.5, 1.5, 3.5, 20, 100),
    )),
    *((op, [x], {}) for op in ("sqrt", "log", "reciprocal") for x in (
        positive(4, 5),
        positive(),
        special(1e-6, 1e-3, 0.5, 1, 2, 1000),
    )),
    ("reciprocal", [special(-3, -1e-3, 7)], {}),
    ("exp", [(4, 5)], {}),
    ("exp", [special(-100, -20, -3, 0, 3, 20)], {}),
    ("elu", [(4, 5)], {"alpha": 0.5}),
    ("leaky-relu", [(4, 5)], {"alpha": 0.25}),
    ("hard-sigmoid", [(4, 5)], {"alpha": 0.75, "beta": 0.25}),
    ("clip", [(4, 5)], {"min": -0.5, "max": 0.75}),
    ("clip", [special(-1, 0, 0.5, 6, 7)], {"min": 0.0, "max": 6.0}),
    ("clip", [(4, 5)], {"max": 0.5}),
    ("slice", [(5, 6)], {"begins": [1, 0], "ends": [5, 99], "steps": [2, 3]}),
    ("slice", [(2, 3, 7)], {"begins": [-1], "ends": [-100], "axes": [-1], "steps": [-3]}),
    ("slice", [(4, 5)], {"begins": [3, 1], "ends": [0, 3], "axes": [1, 0], "steps": [-1, 1]}),
    ("squeeze", [(1, 3, 1, 4)], {}),
    ("squeeze", [(1, 3, 1, 4)], {"axes": [-2]}),
    ("unsqueeze", [(3, 4)], {"axes": [1]}),
    ("unsqueeze", [(3, 4)], {"axes": [-1, 0, 2]}),
    ("flatten", [(2, 3, 4)], {}),
    ("flatten", [(2, 3, 4)], {"axis": 2}),
    ("expand", [(3, 1)], {"shape": [2, 3, 4]}),
    ("expand", [(3, 4)], {"shape": [1, 1]}),
    ("expand", [()], {"shape": [2, 3]}),
    ("tile", [(2, 3)], {"repeats": [3, 2]}),
    ("tile", [(2, 1, 5)], {"repeats": [1, 4, 1]}),
    ("pad", [(3, 4)], {"pads": [1, 2, 3, 0], "value": 2.5}),
    ("pad", [(3, 4)], {"pads": [-1, 2, 0, -1]}),
    *(("pad", [(4, 5)], {"pads": [2, 3, 1, 4], "mode": mode}) for mode in ("reflect", "edge", "wrap")),
    ("gather", [(7, 4), i64([1, -5, 1], [6, -1, 0])], {}),
    ("gather", [(2, 5, 3), i32([1, -5, 1], [4, -1, 0])], {"axis": 1}),
    ("gather", [(2, 5), i64(4, 4, 0)], {"axis": -1}),
    ("gather", [(2, 5, 3), torch.tensor(-2)], {"axis": 1}),
    ("gather-elements", [(3, 4), i64([0, 1, -1, 1], [2, 2, 2, 2])], {}),
    ("gather-elements", [(3, 4), i32([0, 3, -1], [2, -4, 2])], {"axis": 1}),
    *((op, inputs, attributes) for op in (
        "reduce-max", "reduce-min", "reduce-prod", "reduce-l1", "reduce-l2", "reduce-sum-square",
        "reduce-log-sum-exp") for inputs, attributes in (
        ([(3, 4)], {}),
        ([(3, 4)], {"axes": [0]}),
        ([(2, 3, 2, 5)], {"axes": [-1, 1], "keep": 1}),
        ([(2, 300)] if op != "reduce-prod" else [(2, 30)], {"axes": [1]}),
    )),
    ("reduce-max", [special([2, 5, 5], [1, 1, 1])], {"axes": [1]}),
    ("reduce-prod", [special([2, 0, 5], [0, 3, 0], [1, -1, 2])], {"axes": [1]}),
    ("reduce-log-sum", [special([2, 5, 5], [1, 0.5, 1])], {"axes": [1]}),
    ("reduce-log-sum", [special([2, 5, 5], [1, -0.5, 1])], {"axes": [0, 1], "keep": 1}),
    ("reduce-log-sum-exp", [special([1000, 1001, 999.5], [-1000, -1001, -3000])], {"axes": [-1]}),
    ("top-k", [(3, 7)], {"k": 3}),
    ("top-k", [(4, 3, 2)], {"k": 2, "axis": 0, "largest": 0}),
    ("cum-sum", [(4, 3)], {}),
    ("cum-sum", [(2, 5, 3)], {"axis": 1, "exclusive": 1}),
    ("cum-sum", [(2, 5)], {"axis": -1, "reverse": 1}),
    *((op, [x], {}) for op in TRIGONOMETRY for x in (
        special(1, 1.25, 2, 30) + (op == "acosh") if op in ("acosh", "sinh", "cosh")
        else special(-0.99, -0.5, -1e-6, 0, 1e-3, 0.25, 0.875),
    )),
    *((op, [special(-100, -3, -1, -1e-3, 0.001, 0.5, 3, 19, 50)], {}) for op in (
        "selu", "celu", "thresholded-relu", "softsign", "mish", "shrink")),
    ("celu", [(3, 4)], {"alpha": 0.5}),
    ("shrink", [(3, 4)], {"lambd": 0.25, "bias": 0.25}),
    ("p-relu", [(2, 3, 4), (3, 1)], {}),
    ("gather-nd", [(3, 4, 2), i64([[0, 1], [2, -1]], [[0, 1], [1, 0]])], {}),
    ("scatter-elements", [(3, 4), i64([2, 0, -1, 1]), (1, 4)], {}),
    ("scatter-elements", [(3, 4), i64([2, 0, 2], [1, 1, 1]), (2, 3)],
     {"axis": 1, "reduction": "add"}),
    ("scatter-nd", [(4, 3), i64([2], [0]), (2, 3)], {}),
    ("scatter-nd", [(4, 3), i64([2, 1], [0, -1], [2, 1]), (3,)], {"reduction": "add"}),
    ("nll-loss", [(4, 5), i64(1, 0, 4, 4)], {}),
    ("nll-loss", [(2, 3, 2), i64([1, 0], [2, 1])], {"reduction": "none", "ignore": 1}),
    ("nll-loss", [(2, 3, 2, 1), i64([[1], [0]], [[2], [1]])], {"reduction": "sum"}),
    ("einsum", [(3, 4), (4, 2)], {"equation": "ij,jk"}),
    ("einsum", [(2, 1, 3, 4), (5, 1, 4)], {"equation": "...ij,...kj->...ki"}),
    ("einsum", [(3, 3)], {"equation": "ii"}),
    ("einsum", [(2, 3, 4), (4, 2), (3, 2)], {"equation": "abc,cd,be->ade"}),
    ("trilu", [(4, 5)], {}),
    ("trilu", [(2, 4, 5)], {"k": -2}),
    ("trilu", [(5, 4)], {"upper": 0, "k": 1}),
]  # fmt: skip
# Rows without a case.
LISTED = {op for op, *_ in CASES}
CASES += [(op, [(4, 5)] if inputs == 1 else [(2, 3, 1), positive(4)], {})
          for op, inputs in operator_rows().items() if op not in LISTED]  # fmt: skip


def operators():
    tensors, cases, count = {}, [], {}
    for op, inputs, attributes in CASES:
        count[op] = count.get(op, 0) + 1
        name = f"{op}.{count[op]}"
        rng = generator(name)
        x = [normal(rng, *i) if isinstance(i, tuple) else i.clone() for i in inputs]
        wanted = [i for i, xi in enumerate(x) if xi.is_floating_point()]
        for i in wanted:
            x[i] = as_float32(x[i]).requires_grad_()
        out = OPERATORS[op](*x, **attributes)
        dout = normal(rng, *out.shape)
        gradients = torch.autograd.grad(out, [x[i] for i in wanted], dout)
        tensors |= {f"{name}:in{i}": xi for i, xi in enumerate(x)}
        tensors |= {f"{name}:out": out, f"{name}:dout": dout}
        tensors |= {f"{name}:din{i}": g for i, g in zip(wanted, gradients)}
        cases.append({"name": name, "op": op, "attributes": attributes})
        cases[-1] |= {"inputs": len(x), "gradients": wanted}
    return tensors, {"cases": cases}


# ---------------------------------------------------------------------------------- transformer

BERT = {"layers": 2, "heads": 2, "hidden": 16, "intermediate": 32, "vocabulary": 23}
BERT |= {"sequences": 2, "tokens": 7, "eps": 1e-12, "ignore": -100}


def linear_names(layer):
    hidden, intermediate = BERT["hidden"], BERT["intermediate"]
    for name in ("query", "key", "value", "output"):
        yield f"{layer}.attention.{name}", (hidden, hidden)
    yield f"{layer}.up", (intermediate, hidden)
    yield f"{layer}.down", (hidden, intermediate)


def bert_weights(rng):
    """Larger than those of a fresh BERT, so that no gradient is lost beside the others."""
    hidden, layers = BERT["hidden"], [f"layer.{i}" for i in range(BERT["layers"])]
    linears = [x for layer in layers for x in linear_names(layer)]
    linears.append(("head", (BERT["vocabulary"], hidden)))
    norms = ["embedding.norm"]
    norms += [f"{layer}.{of}.norm" for layer in layers for of in ("attention", "output")]
    w = {"embedding.token": normal(rng, BERT["vocabulary"], hidden)}
    w["embedding.position"] = normal(rng, BERT["tokens"], hidden)
    for name in norms:
        w[f"{name}.gamma"] = as_float32(1 + normal(rng, hidden, scale=0.2))
        w[f"{name}.beta"] = normal(rng, hidden, scale=0.2)
    for name, shape in linears:
        w[f"{name}.weight"] = normal(rng, *shape, scale=shape[1] ** -0.5)
        w[f"{name}.bias"] = normal(rng, shape[0], scale=0.2)
    return w


def bert_loss(w, ids, mask, targets):
    def linear(x, name):
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[f"{name}.gamma"], w[f"{name}.beta"], BERT["eps"])

    def attention(x, name):
        def heads(of):  # [sequences, heads, tokens, hidden / heads]
            y = linear(x, f"{name}.{of}")
            return y.reshape(*y.shape[:2], BERT["heads"], -1).transpose(1, 2)

        q, k, v = heads("query"), heads("key"), heads("value")
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask
        return linear((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape), f"{name}.output")

    x = norm(F.embedding(ids, w["embedding.token"]) + w["embedding.position"], "embedding.norm")
    for i in range(BERT["layers"]):
        layer = f"layer.{i}"
        x = norm(x + attention(x, f"{layer}.attention"), f"{layer}.attention.norm")
        mlp = linear(F.gelu(linear(x, f"{layer}.up")), f"{layer}.down")
        x = norm(x + mlp, f"{layer}.output.norm")
    return cross_entropy(linear(x, "head").flatten(0, 1), targets.flatten(), BERT["ignore"])


def transformer():
    """The second sequence has five tokens, then padding that the mask hides."""
    rng, shape = generator("transformer"), (BERT["sequences"], BERT["tokens"])
    w = {name: x.requires_grad_() for name, x in bert_weights(rng).items()}
    ids, targets = torch.randint(BERT["vocabulary"], (2, *shape), generator=rng)
    targets[torch.rand(shape, generator=rng) < 0.3] = BERT["ignore"]
    mask = torch.zeros(shape[0], 1, 1, shape[1], dtype=torch.float64)
    mask[1, ..., 5:], targets[1, 5:] = -10000, BERT["ignore"]
    loss = bert_loss(w, ids, mask, targets)
    gradients = torch.autograd.grad(loss, list(w.values()))
    tensors = {"ids": ids, "targets": targets, "mask": mask, "loss": loss}
    tensors |= {f"weight:{name}": x for name, x in w.items()}
    tensors |= {f"gradient:{name}": g for name, g in zip(w, gradients)}
    return tensors, {"config": BERT}


# ----------------------------------------------------------------------------------- optimizers

# What is not given has its default.
OPTIMIZERS = {
    "sgd.plain": {"rate": 0.1},
    "sgd.momentum": {"rate": 0.1, "momentum": 0.9},
    "sgd.nesterov": {"rate": 0.1, "momentum": 0.9, "nesterov": True},
    "sgd.decay": {"rate": 0.1, "weight_decay": 0.05},
    "sgd.all": {"rate": 0.03, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1},
    "adamw.defaults": {},
    "adamw.other": {"rate": 0.05, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1},
    "adamw.no-decay": {"rate": 0.02, "weight_decay": 0.0},
}


def optimizer(name, x, options):
    o = dict(options)
    if "rate" in o:
        o["lr"] = o.pop("rate")
    if name.startswith("sgd."):
        return torch.optim.SGD([x], **o)
    if "beta1" in o:
        o["betas"] = o.pop("beta1"), o.pop("beta2")
    return torch.optim.AdamW([x], **o)


def optimizers():
    """Among the gradients are large ones, tiny ones, and those of one column that are always 0."""
    tensors, steps = {}, 10
    for name, options in OPTIMIZERS.items():
        rng = generator(name)
        x = normal(rng, 3, 5).requires_grad_()
        scale = torch.tensor([1, 0.1, 30, 1e-4, 0], dtype=torch.float64)
        gradients = as_float32(normal(rng, steps, 3, 5) * scale)
        tensors |= {f"{name}:start": x.detach().clone(), f"{name}:gradients": gradients}
        step, after = optimizer(name, x, options), []
        for x.grad in gradients:
            step.step()
            after.append(x.detach().clone())
        tensors[f"{name}:after"] = torch.stack(after)
    return tensors, {"optimizers": OPTIMIZERS}


def main():
    directory = output_path(HERE)
    for what in (operators, transformer, optimizers):
        tensors, metadata = what()
        save(directory / f"{what.__name__}.safetensors", tensors, **metadata)


if __name__ == "__main__":
    main()
