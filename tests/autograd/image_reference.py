#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what PyTorch computes of images, for pytorch_images_test.cpp to compare with: output and
gradients of convolutions, pools, normalisations and the like, in hundreds of small cases that are
drawn by a fixed seed.

    image_reference.py [DIRECTORY]    the script's own, where there is none: images.safetensors

It needs torch (the file is that of 2.5.1) and safetensors. Everything is computed in float64, from
inputs that float32 has, and rounded to float32 at the end. Inputs and the gradient of the output are
not stored: both sides draw them from the stream of random_uniform() (libsten/core/base/random.h) that the
case's seed names. Activations are sten's, channels last.
"""

import json
import pathlib
import random
import sys

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from pytorch import as_float32, mirrored_pads, output_path, random_uniform, save  # noqa: E402

# ------------------------------------------------------------------------------------- inputs


def drawn(seed, shape, low=-1.0, high=1.0, quantum=0.0):
    """Numbers in [low, high), of which float32 has each; multiples of the quantum."""
    x = low + (high - low) * random_uniform(seed, range(torch.Size(shape).numel()))
    if quantum:
        x = x // quantum * quantum
    return as_float32(torch.from_numpy(x).reshape(shape))


# ---------------------------------------------------------------------------------- operators


def padded(x, pads, value=0.0):
    return F.pad(x, mirrored_pads(pads), value=value)


def conv(x, w, b=None, strides=1, dilations=1, pads=(), groups=1):
    f = (F.conv1d, F.conv2d, F.conv3d)[x.ndim - 3]
    return f(padded(x, pads), w, b, strides, 0, dilations, groups)


def conv_transpose(x, w, b=None, strides=1, dilations=1, pads=(), groups=1, output_padding=0):
    f = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[x.ndim - 3]
    axes = x.ndim - 2
    before, after = pads[:axes], pads[axes:]
    if before == after:
        return f(x, w, b, strides, before, output_padding, groups, dilations)
    y = f(x, w, b, strides, 0, output_padding, groups, dilations)
    for d in range(axes):
        y = y.narrow(d + 2, before[d], y.shape[d + 2] - before[d] - after[d])
    return y


def max_pool(x, kernel, strides, pads, dilations, ceil=0):
    f = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[x.ndim - 3]
    axes = x.ndim - 2
    if pads[:axes] == pads[axes:]:
        return f(x, kernel, strides, pads[:axes], dilations, bool(ceil))
    return f(padded(x, pads, -torch.inf), kernel, strides, 0, dilations, bool(ceil))


def average_pool(x, kernel, strides, pads, ceil=0, count_pads=0):
    f = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[x.ndim - 3]
    return f(x, kernel, strides, pads[: x.ndim - 2], bool(ceil), bool(count_pads))


def adaptive(kind):
    all = [getattr(F, f"adaptive_{kind}_pool{d}d") for d in (1, 2, 3)]
    return lambda x, size: all[x.ndim - 3](x, size)


def batch_norm_train(x, gamma, beta, eps, relu=0):
    y = F.batch_norm(x, None, None, gamma, beta, True, 0.1, eps)
    return F.relu(y) if relu else y


def batch_norm(x, gamma, beta, mean, variance, eps, relu=0):
    """By the formula, since F.batch_norm has no gradients of what it calls running."""
    g, b, m, v = (t.view(1, -1, *[1] * (x.ndim - 2)) for t in (gamma, beta, mean, variance))
    y = (x - m) / (v + eps).sqrt() * g + b
    with torch.no_grad():
        assert torch.allclose(y, F.batch_norm(x, mean, variance, gamma, beta, False, 0.1, eps))
    return F.relu(y) if relu else y


def resize(x, mode="nearest", coordinates="", nearest="", size=None, scales=None):
    if mode == "nearest":
        mode = "nearest" if coordinates == "asymmetric" else "nearest-exact"
    else:
        mode = ("linear", "bilinear", "trilinear")[x.ndim - 3]
    corners = coordinates == "align-corners" if mode.endswith("linear") else None
    if scales is not None:
        scales = [float(s) for s in scales.split(",")]
    return F.interpolate(x, size, scales, mode, corners)


OPERATORS = {
    "conv": conv,
    "conv-transpose": conv_transpose,
    "max-pool": max_pool,
    "average-pool": average_pool,
    "adaptive-max-pool": adaptive("max"),
    "adaptive-average-pool": adaptive("avg"),
    "batch-norm-train": batch_norm_train,
    "batch-norm": batch_norm,
    "instance-norm": lambda x, g, b, eps: F.instance_norm(x, None, None, g, b, True, 0.1, eps),
    "group-norm": lambda x, g, b, groups, eps: F.group_norm(x, groups, g, b, eps),
    "lrn": lambda x, size, alpha, beta, bias: F.local_response_norm(x, size, alpha, beta, bias),
    "resize": resize,
    "relu6": F.relu6,
    "silu": F.silu,
    "hard-swish": F.hardswish,
    "hard-sigmoid": lambda x, alpha, beta: F.hardsigmoid(x),  # alpha is 1 / 6
}



def channels_second(x):
    """PyTorch 2.5.1 has wrong gradients of F.instance_norm for one image that is not contiguous."""
    return x.movedim(-1, 1).contiguous()


def computed(op, inputs, dy_seed, attributes):
    """The output and the gradients of all inputs, channels last."""
    x = [channels_second(inputs[0]), *inputs[1:]]
    x = [t.detach().requires_grad_() for t in x]
    y = OPERATORS[op](*x, **{k.replace("-", "_"): v for k, v in attributes.items()})
    dy = channels_second(drawn(dy_seed, y.movedim(1, -1).shape))
    dx, *more = torch.autograd.grad(y, x, dy)
    return y.detach().movedim(1, -1), dx.movedim(1, -1), *more


# -------------------------------------------------------------------------------------- cases

rng = random.Random(251)
one_of = rng.choice


def axes_mostly_two():
    return one_of([1, 2, 2, 2, 2, 3])


def each(axes, low, high):
    return [rng.randint(low, high) for _ in range(axes)]


def extents(axes, low=2):
    """Smaller ones where there are more axes."""
    return each(axes, low, {1: 11, 2: 6, 3: 4}[axes])


def groups_of():
    """Groups, and the channels of each on either side; depthwise where there is one before."""
    kind = one_of(["dense", "dense", "grouped", "depthwise"])
    if kind == "dense":
        return 1, rng.randint(1, 5), rng.randint(1, 6)
    groups = rng.randint(2, 4)
    return groups, 1 if kind == "depthwise" else rng.randint(1, 3), rng.randint(1, 2)


def conv_case():
    axes = axes_mostly_two()
    groups, before, after = groups_of()
    kernel, strides, dilations = each(axes, 1, 3), each(axes, 1, 2), each(axes, 1, 2)
    if rng.random() < 0.35:
        dilations, kernel = [1] * axes, [one_of([1, 3])] * axes
    if rng.random() < 0.4:
        strides = [1] * axes
    pads = each(axes, 0, 2)
    pads += pads if rng.random() < 0.7 else each(axes, 0, 2)
    x = extents(axes)
    for d in range(axes):  # room for one window at least
        x[d] = max(x[d], (kernel[d] - 1) * dilations[d] + 1 - pads[d] - pads[axes + d])
    inputs = [[rng.randint(1, 2), *x, groups * before], [groups * after, before, *kernel]]
    if rng.random() < 0.6:
        inputs.append([groups * after])
    return "conv", inputs, {"strides": strides, "dilations": dilations, "pads": pads, "groups": groups}


def conv_transpose_case():
    axes = axes_mostly_two()
    groups, before, after = groups_of()
    kernel, strides, dilations = each(axes, 1, 3), each(axes, 1, 3), each(axes, 1, 2)
    x = extents(axes, 3)
    more = [rng.randrange(max(strides[d], dilations[d])) if rng.random() < 0.5 else 0 for d in range(axes)]
    most = [min(2, (kernel[d] - 1) * dilations[d]) for d in range(axes)]
    pads = [rng.randint(0, m) for m in most]
    pads += pads if rng.random() < 0.7 else [rng.randint(0, m) for m in most]
    inputs = [[rng.randint(1, 2), *x, groups * before], [groups * before, after, *kernel]]
    if rng.random() < 0.6:
        inputs.append([groups * after])
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "groups": groups}
    return "conv-transpose", inputs, attributes | {"output-padding": more}


def pool_case(op):
    axes = axes_mostly_two()
    kernel, strides = each(axes, 1, 3), each(axes, 1, 3)
    dilations = each(axes, 1, 2) if op == "max-pool" else [1] * axes
    pads = [rng.randint(0, k // 2) for k in kernel] * 2
    if op == "max-pool" and rng.random() < 0.2:
        pads = [rng.randint(0, k // 2) for k in kernel * 2]
    x = extents(axes, 3)
    for d in range(axes):
        x[d] = max(x[d], (kernel[d] - 1) * dilations[d] + 1)
    a = {"kernel": kernel, "strides": strides, "pads": pads}
    if op == "max-pool":
        a["dilations"] = dilations
    symmetric = pads[:axes] == pads[axes:]
    if symmetric and rng.random() < 0.5:
        a["ceil"] = 1
    if op == "average-pool" and rng.random() < 0.5:
        a["count-pads"] = 1
    return op, [[rng.randint(1, 2), *x, rng.randint(1, 5)]], a


def adaptive_case(op):
    axes = axes_mostly_two()
    return op, [[rng.randint(1, 2), *extents(axes), rng.randint(1, 5)]], {"size": each(axes, 1, 5)}


def batch_norm_case(op):
    axes, channels = one_of([0, 1, 2, 2, 2, 3]), rng.randint(1, 9)
    x = [rng.randint(4, 7)] if axes == 0 else [rng.randint(1, 3), *extents(axes, 2)]
    if torch.Size(x).numel() < 4:
        x[0] += 3
    a = {"eps": one_of([1e-5, 1e-3, 0.1])}
    if rng.random() < 0.5:
        a["relu"] = 1
    return op, [[*x, channels]] + [[channels]] * (2 if op == "batch-norm-train" else 4), a


def group_norm_case(op):
    groups, width = rng.randint(1, 4), rng.randint(1, 4)
    x = [rng.randint(1, 3), *extents(axes_mostly_two(), 2)]
    if torch.Size(x[1:]).numel() < 4:
        x[1] += 3
    n = groups * width
    a = {"groups": groups} if op == "group-norm" else {}
    return op, [[*x, n], [n], [n]], a | {"eps": one_of([1e-5, 1e-3])}


def lrn_case():
    x = [rng.randint(1, 2), *extents(axes_mostly_two(), 1), rng.randint(1, 9)]
    a = {"size": one_of([1, 3, 5, 7]), "alpha": one_of([1e-4, 0.5, 2.0])}
    return "lrn", [x], a | {"beta": one_of([0.75, 0.75, 0.5, 1.5]), "bias": one_of([1.0, 2.0])}


def resize_case():
    axes = axes_mostly_two()
    x, a = extents(axes), {}
    if rng.random() < 0.6:
        a["mode"] = "linear"
        a["coordinates"] = one_of(["half-pixel", "align-corners"])
    else:
        a["coordinates"], a["nearest"] = one_of(
            [("asymmetric", "floor"), ("half-pixel", "round-prefer-ceil")])
    if a["coordinates"] != "align-corners" and rng.random() < 0.5:
        scales = [one_of([0.5, 0.75, 1.0, 1.5, 2.0, 2.25, 3.0]) for _ in range(axes)]
        a["scales"] = ",".join(str(s) for s in scales)
    else:
        a["size"] = each(axes, 1 if a["coordinates"] != "align-corners" else 2, 8 if axes < 3 else 5)
    return "resize", [[rng.randint(1, 2), *x, rng.randint(1, 4)]], a


def activation_case(op):
    a = {"alpha": 1 / 6, "beta": 0.5} if op == "hard-sigmoid" else {}
    return op, [[rng.randint(1, 3), *each(2, 2, 5), rng.randint(1, 9)]], a


def cases():
    """Each with the ranges of its inputs, where they are not [-1, 1)."""
    def drawn_by(count, f, *args):
        for _ in range(count):
            yield *f(*args), {}

    yield from drawn_by(120, conv_case)
    yield from drawn_by(40, conv_transpose_case)
    for op in ("max-pool", "average-pool"):
        yield from drawn_by(40, pool_case, op)
    for op in ("adaptive-max-pool", "adaptive-average-pool"):
        yield from drawn_by(16, adaptive_case, op)
    for _ in range(12):  # where elements are equal
        yield *pool_case("max-pool"), {"quantum": 0.5}
    yield from drawn_by(24, batch_norm_case, "batch-norm-train")
    for _ in range(24):
        yield *batch_norm_case("batch-norm"), {"positive": [4]}
    for op in ("instance-norm", "group-norm"):
        yield from drawn_by(14, group_norm_case, op)
    yield from drawn_by(12, lrn_case)
    yield from drawn_by(40, resize_case)
    for op in ("relu6", "silu", "hard-swish", "hard-sigmoid"):
        for _ in range(4):
            yield *activation_case(op), {"range": 8.0}


def main():
    directory = output_path(HERE)
    values, listed = [], []
    for i, (op, shapes, attributes, how) in enumerate(cases()):
        seed, most = 1000 * (i + 1), how.get("range", 1.0)
        x = []
        for k, shape in enumerate(shapes):
            low = 0.25 if k in how.get("positive", []) else -most
            x.append(drawn(seed + k, shape, low, most, how.get("quantum", 0.0)))
        y, *gradients = computed(op, x, seed + 100, attributes)
        values += [t.flatten().float() for t in (y, *gradients)]
        listed.append({"op": op, "inputs": shapes, "out": list(y.shape), "seed": seed})
        listed[-1] |= {"attributes": attributes} | how
    all = torch.cat(values)
    save(directory / "images.safetensors", {"values": all}, cases=json.dumps(listed, separators=(",", ":")))
    print(f"{len(listed)} cases, {all.numel()} numbers")


if __name__ == "__main__":
    main()
