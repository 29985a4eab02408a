# SPDX-License-Identifier: Apache-2.0
"""Sparse layers for PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import torch

from .arrays import ArrayLike, Tensor, parts_of, tensor_of_parts
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

    weight: a matrix [out, in] in a layout with products: csr, csc, coo, ell, bitmask, bcsr, nm, nmg,
        nmgv or dense; float32 or bfloat16, which is also the dtype of inputs and outputs.
    bias: a vector [out] or None, in the same dtype.

    Gradients reach the input, but not the weight and the bias. A layer can be saved with torch.save
    and in state dicts.
    """

    def __init__(self, weight: ArrayLike, bias: torch.Tensor | None = None):
        super().__init__()
        weight = weight if isinstance(weight, Tensor) else Tensor(weight)
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
        """Prunes a layer: to a structure such as "1:4:4" or "2:4", or to a sparsity in csr.

        "dense" keeps all of its values, and computes their product by libsten.
        """
        weight = Tensor(linear.weight.detach().clone())
        if spec == "dense":
            pruned = weight
        elif isinstance(spec, Real) and not isinstance(spec, bool):
            pruned = prune(weight, sparsity=float(spec), to="csr")
        else:
            pruned = prune(weight, structure=spec, to="auto")
        return cls(pruned, linear.bias)

    def to_linear(self) -> torch.nn.Linear:
        """The layer with a dense weight."""
        weight, bias = self.weight, self.bias
        linear = torch.nn.utils.skip_init(
            torch.nn.Linear, self.in_features, self.out_features, bias is not None, dtype=weight.dtype
        )
        linear.weight = torch.nn.Parameter(weight)
        if bias is not None:
            linear.bias = torch.nn.Parameter(bias)
        return linear

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

    def get_extra_state(self) -> dict[str, Any]:
        layout, dtype, shape, parts = parts_of(self.sparse_weight)
        parts = [(*part, torch.from_numpy(data)) for *part, data in parts]
        return {"layout": layout, "dtype": dtype, "shape": shape, "parts": parts, "bias": self.bias}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        parts = [(*part, data.numpy()) for *part, data in state["parts"]]
        weight = tensor_of_parts(state["layout"], state["dtype"], state["shape"], parts)
        if weight.shape != self.sparse_weight.shape:
            raise ValueError(
                f"weight must be {list(self.sparse_weight.shape)}, got {list(weight.shape)}"
            )
        self._set(weight, state["bias"])


def sparsify(model: torch.nn.Module, rules: Mapping[str, str | float]) -> torch.nn.Module:
    """Replaces torch.nn.Linear layers of a model by SparseLinear, in place, and returns the model.

    Subclasses with a forward() of their own are not replaced; hooks of replaced layers are lost.

    rules: name pattern of layers -> structure ("1:4:4", "2:4"), sparsity (0.9, stored as csr) or
        "dense" (not pruned); the first rule that matches a layer wins. A rule that matches no layer
        is an error that names it, before any layer is replaced.

    >>> import torch, sten_tools
    >>> model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    >>> sten_tools.sparsify(model, {"0": "2:4", "*": 0.5})[0]
    SparseLinear(in_features=16, out_features=8, bias=True, weight=nm:n=2,m=4 F32)
    """
    modules = model.named_modules(remove_duplicate=False)
    layers = {name: m for name, m in modules if _is_linear(m) and name}
    names, chosen = list(layers), {}
    for pattern, spec in rules.items():
        for i in _native.matching_names(names, pattern, "rule", "linear layers", "the model"):
            chosen.setdefault(names[i], spec)
    return _replace(
        model,
        {name: layers[name] for name in chosen},
        lambda name, layer: SparseLinear.from_linear(layer, chosen[name]),
    )


def to_dense(model: torch.nn.Module) -> torch.nn.Module:
    """Replaces the SparseLinear layers of a model by torch.nn.Linear with the same values, in place.

    The model can then be saved by save_pretrained() and exported to ONNX; sten_tools.Model runs both
    with layouts="auto". If the head of a transformers model was pruned apart from the embeddings, sets
    tie_word_embeddings of its config to False. Returns the model.

    >>> import torch, sten_tools
    >>> model = torch.nn.Sequential(torch.nn.Linear(16, 8))
    >>> sten_tools.to_dense(sten_tools.sparsify(model, {"0": "2:4"}))
    Sequential(
      (0): Linear(in_features=16, out_features=8, bias=True)
    )
    """
    modules = model.named_modules(remove_duplicate=False)
    layers = {name: m for name, m in modules if isinstance(m, SparseLinear) and name}
    _replace(model, layers, lambda _, layer: layer.to_linear())
    _tie_embeddings(model)
    return model


def _tie_embeddings(model):
    """Makes a head share its weight with the embeddings again, or says in config that it does not."""
    config = getattr(model, "config", None)
    head = model.get_output_embeddings() if getattr(config, "tie_word_embeddings", False) else None
    if head is None:
        return
    embeddings = model.get_input_embeddings()
    if head.weight is embeddings.weight:
        return
    if torch.equal(head.weight, embeddings.weight):
        head.weight = embeddings.weight
    else:
        config.tie_word_embeddings = False


def _is_linear(module):
    return isinstance(module, torch.nn.Linear) and type(module).forward is torch.nn.Linear.forward


def _replace(model, layers, make):
    """Replaces layers by make(name, layer). A layer with several names stays one layer."""
    made: dict[int, torch.nn.Module] = {}
    for name, layer in layers.items():
        if id(layer) not in made:
            made[id(layer)] = make(name, layer).train(layer.training)
    for name, layer in layers.items():
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, made[id(layer)])
    return model
