# SPDX-License-Identifier: Apache-2.0
"""Tensors of libsten from arrays of numpy, scipy.sparse and PyTorch, and back."""

from __future__ import annotations

import sys
from typing import Any, Union

import numpy as np

from .native import _native
from .reader import SMALL

# What functions of this package accept.
ArrayLike = Union["Tensor", np.ndarray, Any]

_KINDS = {"f": "F", "i": "I", "u": "U", "c": "C"}
_SCIPY = {"csr": ("ptr", "index"), "csc": ("ptr", "index"), "coo": ("row", "col")}


class Tensor:
    """A tensor in any layout of sten, such as "csr" or "nmg:n=1,m=4,g=4". Immutable.

    Tensor(x) shares the memory of a numpy array or a PyTorch tensor on the CPU, which must not
    change as long as the tensor exists. Sparse arrays of scipy and PyTorch keep their layout.

    >>> import numpy as np
    >>> from sten_tools import Tensor, convert
    >>> x = convert(Tensor(np.eye(4, dtype="f4")), "csr")
    >>> x
    Tensor(csr, [4, 4] F32, 72 bytes)
    >>> x.numpy()[3]
    array([0., 0., 0., 1.], dtype=float32)
    """

    __slots__ = ("_native",)

    def __init__(self, x: ArrayLike):
        self._native = x if isinstance(x, _native.Tensor) else native_of(x)

    @property
    def layout(self) -> str:
        """The layout and its parameters: "csr", "nmg:n=1,m=4,g=4"."""
        return self._native.layout

    @property
    def dtype(self) -> str:
        """The element type as safetensors names it: "F32", "BF16"."""
        return self._native.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._native.shape

    @property
    def nbytes(self) -> int:
        """The bytes of all parts, as in a file."""
        return self._native.nbytes

    def parts(self) -> dict[str, np.ndarray]:
        """The arrays that the layout consists of (docs/formats.md), read-only, without a copy."""
        return {
            name: typed(name, dtype, data, shape)
            for name, dtype, shape, data in self._native.parts()
        }

    def numpy(self) -> np.ndarray:
        """A dense copy. Raises TypeError for dtypes that need ml_dtypes where it is not installed."""
        return typed("tensor", self.dtype, self._native.dense_bytes(), self.shape)

    def scipy(self):
        """A scipy.sparse matrix: csr, csc and coo tensors keep their layout, others become csr."""
        import scipy.sparse

        name = self.layout.partition(":")[0]
        if len(self.shape) != 2:
            raise ValueError(f"scipy.sparse: expected a matrix, got shape {list(self.shape)}")
        if name not in _SCIPY or "dims" in self.layout:
            return Tensor(_native.convert_tensor(self._native, "csr", False)).scipy()
        parts = self.parts()
        first, second = (parts[part] for part in _SCIPY[name])
        if name == "coo":
            return scipy.sparse.coo_array((parts["values"], (first, second)), shape=self.shape)
        kind = getattr(scipy.sparse, f"{name}_array")
        return kind((parts["values"], second, first), shape=self.shape)

    def torch(self, sparse: bool = False):
        """A dense PyTorch tensor, a copy; or torch.sparse_csr of a matrix with `sparse`."""
        if sparse:
            return torch_csr(self)
        return torch_typed(self.dtype, self._native.dense_bytes(), self.shape)

    def __repr__(self) -> str:
        return f"Tensor({self.layout}, {list(self.shape)} {self.dtype}, {self.nbytes} bytes)"

    def __reduce__(self):
        return tensor_of_parts, parts_of(self)


def parts_of(x: Tensor):
    """The arguments of tensor_of_parts() for x; each part is (name, dtype, shape, bytes)."""
    parts = [(name, dtype, list(shape), np.array(data)) for name, dtype, shape, data in x._native.parts()]
    return x.layout, x.dtype, list(x.shape), parts


def tensor_of_parts(layout: str, dtype: str, shape, parts) -> Tensor:
    if layout.partition(":")[0] == "dense":
        return Tensor(_native.dense_tensor(dtype, list(shape), parts[0][3]))
    parts = [(name, kind, list(extents), data) for name, kind, extents, data in parts]
    return Tensor(_native.tensor_of_parts(layout, dtype, list(shape), parts))


def is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_scipy(x: Any) -> bool:
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and scipy.issparse(x)


def native_of(x: ArrayLike):
    """The tensor of libsten for any array."""
    if isinstance(x, Tensor):
        return x._native
    if is_torch(x):
        return _native_of_torch(x)
    if is_scipy(x):
        return _native_of_scipy(x)
    x = np.require(x, requirements="CA")
    return _native.dense_tensor(dtype_of(x.dtype), list(x.shape), x.reshape(-1).view(np.uint8))


def dtype_of(dtype: np.dtype) -> str:
    """The name in safetensors of a dtype of numpy or ml_dtypes. TypeError if it has none."""
    if dtype == np.bool_:
        return "BOOL"
    for name, small in SMALL.items():
        if dtype.name == small:
            return name
    if dtype.kind not in _KINDS or dtype.byteorder == ">":
        raise TypeError(f"dtype {dtype} has no equivalent in safetensors")
    return f"{_KINDS[dtype.kind]}{8 * dtype.itemsize}"


def typed(name: str, dtype: str, data: np.ndarray, shape) -> np.ndarray:
    """Bytes as an array of a dtype of safetensors, without a copy."""
    if dtype == "BOOL":
        return data.view(np.bool_).reshape(shape)
    if dtype not in SMALL:
        kind = {"F": "f", "I": "i", "U": "u", "C": "c"}[dtype[0]]
        return data.view(f"<{kind}{int(dtype[1:]) // 8}").reshape(shape)
    try:
        import ml_dtypes

        return data.view(getattr(ml_dtypes, SMALL[dtype])).reshape(shape)
    except (ImportError, AttributeError):
        raise TypeError(f"{name} is {dtype}, which needs a new ml_dtypes") from None


def torch_typed(dtype: str, data: np.ndarray, shape):
    """The same as a PyTorch tensor."""
    import torch

    x = torch.from_numpy(data)
    return x.view(_torch_dtype(dtype)).reshape(tuple(shape))


def _torch_dtype(dtype: str):
    import torch

    names = {"BOOL": "bool", "U8": "uint8", "C64": "complex64", **SMALL}
    kinds = {"F": "float", "I": "int", "U": "uint"}
    return getattr(torch, names.get(dtype) or f"{kinds[dtype[0]]}{dtype[1:]}")


def _native_of_torch(x):
    import torch

    if x.device.type != "cpu":
        raise ValueError(f"expected a tensor on the CPU, got one on {x.device}")
    x = x.detach()
    if x.layout == torch.sparse_csr:
        return _compressed(
            "csr",
            x.crow_indices().numpy(),
            x.col_indices().numpy(),
            _bytes_of_torch(x.values()),
            _dtype_of_torch(x.dtype),
            x.shape,
        )
    if x.layout != torch.strided:
        raise ValueError(f"expected a dense tensor or torch.sparse_csr, got {x.layout}")
    return _native.dense_tensor(_dtype_of_torch(x.dtype), list(x.shape), _bytes_of_torch(x))


def _bytes_of_torch(x):
    import torch

    return x.contiguous().reshape(-1).view(torch.uint8).numpy()


def _dtype_of_torch(dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    for ours, small in SMALL.items():
        if name == small:
            return ours
    return dtype_of(np.dtype(name))


def _native_of_scipy(x):
    if x.ndim != 2:
        raise ValueError(f"expected a sparse matrix, got {x.ndim} dimensions")
    if x.format not in ("csr", "csc"):
        x = x.tocsr()
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()  # sorts indices, too
    values = np.require(x.data, requirements="CA")
    return _compressed(
        x.format, x.indptr, x.indices, values.view(np.uint8), dtype_of(values.dtype), x.shape
    )


def _compressed(layout, ptr, index, values, dtype, shape):
    if max(shape) >= 2**31:
        raise ValueError(f"{layout}: expected extents below 2^31, got {list(shape)}")
    ptr, index = np.require(ptr, "<i8", "CA"), np.require(index, "<i4", "CA")
    width = len(values) // max(1, len(index))
    parts = [
        ("ptr", "I64", [len(ptr)], ptr.view(np.uint8)),
        ("index", "I32", [len(index)], index.view(np.uint8)),
        ("values", dtype, [len(values) // max(1, width)], values),
    ]
    return _native.tensor_of_parts(layout, dtype, list(shape), parts)


def torch_csr(x: Tensor):
    """torch.sparse_csr of a matrix in any layout."""
    import torch

    csr = x if x.layout == "csr" else Tensor(_native.convert_tensor(x._native, "csr", False))
    parts = {name: (kind, shape, data) for name, kind, shape, data in csr._native.parts()}
    tensors = {
        name: torch_typed(kind, np.array(data), shape) for name, (kind, shape, data) in parts.items()
    }
    return torch.sparse_csr_tensor(
        tensors["ptr"].to(torch.int64),
        tensors["index"].to(torch.int64),
        tensors["values"],
        x.shape,
        check_invariants=True,
    )


def like(x: Any, result):
    """A result of libsten as an array of the kind of x: dense tensors as numpy or PyTorch."""
    if isinstance(x, Tensor) or result.layout != "dense":
        return Tensor(result)
    dtype, shape = result.dtype, result.shape
    convert = torch_typed if is_torch(x) else lambda d, b, s: typed("tensor", d, b, s)
    return convert(dtype, result.take_bytes(), shape)
