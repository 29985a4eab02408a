# SPDX-License-Identifier: Apache-2.0
"""Checkpoints."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .arrays import ArrayLike, Tensor, native_of
from .native import _native


def load(path: str | os.PathLike, as_: str = "numpy") -> dict[str, Any]:
    """Loads all tensors of a checkpoint, in the order of the file.

    path: a safetensors file with sparse or dense tensors, a Hugging Face directory, a PyTorch file,
    an ONNX model, a GGUF file or a .npy array.
    as_: the kind of the result:
        "numpy"   dense arrays
        "scipy"   scipy.sparse matrices of tensors in a sparse layout, numpy arrays of the others
        "torch"   dense PyTorch tensors
        "torch_csr"  torch.sparse_csr of sparse matrices of floats, dense tensors of the others
        "tensor"  sten_tools.Tensor, each in its layout; dense ones refer to the mapped file, which
                  must not be written as long as they exist
    Raises sten_tools.Error for an invalid file.

    >>> import numpy as np, sten_tools
    >>> sten_tools.save("eye.safetensors", {"w": np.eye(2, dtype="f4")}, overwrite=True)
    >>> sten_tools.load("eye.safetensors")["w"]
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if as_ not in _LOADED:
        raise ValueError(f"as_ must be one of {', '.join(_LOADED)}, got {as_!r}")
    return {name: _LOADED[as_](Tensor(x)) for name, x in _native.load(os.fspath(path))}


def save(path: str | os.PathLike, tensors: Mapping[str, ArrayLike], overwrite: bool = False) -> None:
    """Saves tensors, each in its layout, as a safetensors file that the programs read.

    tensors: arrays of numpy, scipy.sparse and PyTorch, and sten_tools.Tensor. Sparse ones are stored
    sparse. The file appears whole or not at all. Raises sten_tools.Error if it exists, unless
    `overwrite`.
    """
    _native.save(os.fspath(path), [(name, native_of(x)) for name, x in tensors.items()], overwrite)


def _is_sparse_matrix(x: Tensor) -> bool:
    return x.layout != "dense" and len(x.shape) == 2


def _scipy(x: Tensor):
    return x.scipy() if _is_sparse_matrix(x) else x.numpy()


def _torch_csr(x: Tensor):
    return x.torch(sparse=_is_sparse_matrix(x) and x.dtype in ("F64", "F32", "F16", "BF16"))


_LOADED = {
    "numpy": Tensor.numpy,
    "scipy": _scipy,
    "torch": Tensor.torch,
    "torch_csr": _torch_csr,
    "tensor": lambda x: x,
}
