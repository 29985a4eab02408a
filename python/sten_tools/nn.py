# SPDX-License-Identifier: Apache-2.0
"""Sparse layers for PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from .arrays import Tensor
from .native import _native
from .pruning import prune

# PyTorch's threads spin between its loops; threads of libsten would wait for their processors.
_native.use_threads_of(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.weight = weight
        return _native.linear(x.detach().contiguous(), weight, bias)

    @staticmethod
    def backward(ctx, grad):
        return _native.linear_grad(grad.contiguous(), ctx.weight), None, None


class SparseLinear(torch.nn.Module):
    """A torch.nn.Linear with a fixed sparse weight, computed by libsten on the CPU.

    weight: a matrix [out, in] in a layout with products: csr, csc, coo, ell, bitmask, bcsr, nm, nmg
        or nmgv; float32 or bfloat16, which is also the dtype of inputs and outputs.
    bias: a vector [out] or None, in the same dtype.

    Gradients reach the input, but not the weight and the bias. A layer can be saved with torch.save
    and in state dicts.
    """

    def __init__(self, weight: Tensor, bias: torch.Tensor | None = None):
        super().__init__()
        if len(weight.shape) != 2:
            raise ValueError(f"weight must be a matrix, got shape {list(weight.shape)}")
        if weight.dtype not in ("F32", "BF16"):
            raise ValueError(f"weight must be F32 or BF16, got {weight.dtype}")
        self._set(weight, bias)

    def _set(self, weight: Tensor, bias: torch.Tensor | None) -> None:
        self.sparse_weight = weight
        self.out_features, self.in_features = weight.shape
        self._bias = None if bias is None else Tensor(bias.detach().clone().contiguous())

    @classmethod
    def from_linear(cls, linear: torch.nn.Linear, spec: str | float) -> SparseLinear:
        """Prunes a layer: to a structure such as "1:4:4" or "2:4", or to a sparsity in csr."""
        weight = Tensor(linear.weight.detach().clone())
        if isinstance(spec, (int, float)):
            pruned = prune(weight, sparsity=float(spec), to="csr")
        else:
            pruned = prune(weight, structure=spec, to="auto")
        return cls(pruned, linear.bias)

    @property
    def weight(self) -> torch.Tensor:
        """A dense copy of the weight."""
        return self.sparse_weight.torch()

    @property
    def bias(self) -> torch.Tensor | None:
        """A copy of the bias."""
        return None if self._bias is None else self._bias.torch()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, bias = self.sparse_weight._native, self._bias and self._bias._native
        if x.requires_grad and torch.is_grad_enabled():
            return _Linear.apply(x, weight, bias)
        return _native.linear(x.detach().contiguous(), weight, bias)

    def extra_repr(self) -> str:
        weight = self.sparse_weight
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self._bias is not None}, weight={weight.layout} {weight.dtype}"
        )

    def get_extra_state(self) -> Any:
        return {"weight": self.sparse_weight, "bias": self.bias}

    def set_extra_state(self, state: Any) -> None:
        weight = state["weight"]
        if weight.shape != self.sparse_weight.shape:
            raise ValueError(
                f"weight must be {list(self.sparse_weight.shape)}, got {list(weight.shape)}"
            )
        self._set(weight, state["bias"])


def sparsify(model: torch.nn.Module, rules: Mapping[str, str | float]) -> torch.nn.Module:
    """Replaces torch.nn.Linear layers of a model by SparseLinear, in place, and returns the model.

    rules: name pattern of layers -> structure ("1:4:4", "2:4") or sparsity (0.9, stored as csr);
        the first rule that matches a layer wins. A rule that matches no layer is an error that
        names it, before any layer is replaced.

    >>> import torch, sten_tools
    >>> model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    >>> sten_tools.sparsify(model, {"0": "2:4", "*": 0.5})[0]
    SparseLinear(in_features=16, out_features=8, bias=True, weight=nm:n=2,m=4 F32)
    """
    modules = model.named_modules(remove_duplicate=False)
    layers = {name: m for name, m in modules if isinstance(m, torch.nn.Linear) and name}
    names, chosen = list(layers), {}
    for pattern, spec in rules.items():
        for i in _native.matching_names(names, pattern, "rule", "linear layers", "the model"):
            chosen.setdefault(names[i], spec)
    made: dict[int, SparseLinear] = {}  # by layer, since a model may use one twice
    for name, spec in chosen.items():
        if id(layers[name]) not in made:
            made[id(layers[name])] = SparseLinear.from_linear(layers[name], spec)
    for name in chosen:
        parent, _, child = name.rpartition(".")
        layer = made[id(layers[name])].train(layers[name].training)
        setattr(model.get_submodule(parent), child, layer)
    return model
