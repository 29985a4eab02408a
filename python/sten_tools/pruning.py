# SPDX-License-Identifier: Apache-2.0
"""sten-prune, sten-convert and sten-energy for arrays and state dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .arrays import ArrayLike, Tensor, like, native_of
from .native import _native


def prune(
    x: ArrayLike | Mapping[str, ArrayLike],
    sparsity: float | None = None,
    *,
    structure: str = "unstructured",
    method: str = "magnitude",
    to: str = "dense",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    rules: Mapping[str, str] | None = None,
    scope: str = "local",
    at: float | None = None,
    nan: str = "error",
    seed: int = 0,
) -> Any:
    """Prunes an array or the weights of a state dict, as sten-prune does (docs/pruning.md).

    x: an array of numpy, scipy.sparse or PyTorch, or a sten_tools.Tensor; or a mapping of names to
        such arrays, whose weights are selected as by sten-prune: by name and shape, or by
        `include` and `exclude`.
    sparsity: the fraction of zeros, in [0, 1].
    structure: "2:4" (n:m), "1:4:4" (n:m:g), "block:h=4,w=4" or "unstructured".
    method: "magnitude", "random" or "threshold" (which keeps magnitudes from `at` on).
    to: the layout of the result: "dense", "csr", "bitmask", ... or "auto", which is that of the
        structure.
    include, exclude: names and globs. A pattern that matches nothing is an error.
    rules: pattern -> sparsifier or structure, before `sparsity` and `structure`; "keep" leaves
        tensors as they are.
    scope: "global" prunes the smallest magnitudes of all tensors together.
    nan: for NaN and infinity: "error", "keep" or "zero".

    Returns an array of the same kind, or a sten_tools.Tensor if the layout is sparse; for a
    mapping, a dict in which the other tensors are the same objects. Raises sten_tools.Error, which
    is a ValueError.

    >>> import numpy as np, sten_tools
    >>> sten_tools.prune(np.array([[1, -2, 3, -4]], dtype="f4"), structure="2:4")
    array([[ 0.,  0.,  3., -4.]], dtype=float32)
    """
    settings = _native.PruneSettings()
    settings.sparsity, settings.at, settings.seed = sparsity, at, seed
    settings.structure, settings.method, settings.to = structure, method, to
    settings.scope, settings.nan = scope, nan
    if not isinstance(x, Mapping):
        _check_no_patterns("prune", include=include, exclude=exclude, rules=rules)
        return like(x, _native.prune_tensor(native_of(x), settings))
    rule_texts = [f"{pattern}={spec}" for pattern, spec in (rules or {}).items()]
    pruned = _native.prune_tensors(_list(x), settings, _texts(include), _texts(exclude), rule_texts)
    return _replaced(x, pruned)


def convert(
    x: ArrayLike | Mapping[str, ArrayLike],
    to: str,
    *,
    lossless: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Any:
    """Converts an array, or the weights of a state dict, to a layout, as sten-convert does.

    to: a layout of docs/formats.md; "dense"; or "auto", the smallest layout that holds all values.
        Structures such as "2:4" prune what they cannot hold; with `lossless`, that is an error.

    Returns a sten_tools.Tensor, or for "dense" an array of the kind of x; for a mapping, a dict in
    which the other tensors are the same objects.

    >>> import numpy as np, sten_tools
    >>> sten_tools.convert(np.eye(4, dtype="f4"), "coo")
    Tensor(coo, [4, 4] F32, 48 bytes)
    """
    if not isinstance(x, Mapping):
        _check_no_patterns("convert", include=include, exclude=exclude)
        return _dense_array(x, _native.convert_tensor(native_of(x), to, lossless), to)
    converted = _native.convert_tensors(_list(x), to, _texts(include), _texts(exclude), lossless)
    return {**x, **{name: _dense_array(x[name], t, to) for name, t in converted}}


@dataclass(frozen=True)
class Energy:
    """Measures of a tensor, or of all selected tensors together.

    energy: the sum of the kept magnitudes divided by the sum of all magnitudes of the original;
    None without an original. nnz: stored elements of sparse tensors, nonzeros of dense ones.
    """

    elements: int
    nnz: int
    zeros: int
    nbytes: int
    energy: float | None

    @property
    def sparsity(self) -> float:
        """The fraction of elements that are 0."""
        return self.zeros / self.elements if self.elements else 0.0


class Energies(dict[str, Energy]):
    """Measures by tensor name; total: of all of them together."""

    def __init__(self, by_name: Mapping[str, Energy], total: Energy):
        super().__init__(by_name)
        self.total = total


def energy(
    x: ArrayLike | Mapping[str, ArrayLike],
    original: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Any:
    """Measures sparsity and preserved magnitude of an array or a state dict, as sten-energy does.

    original: the array or state dict before pruning.

    Returns an Energy; for a mapping, Energies with one per selected tensor.

    >>> import numpy as np, sten_tools
    >>> w = np.array([[1, -2, 3, -4]], dtype="f4")
    >>> sten_tools.energy(sten_tools.prune(w, 0.5), w).energy
    0.7
    """
    if isinstance(x, Mapping):
        before = None if original is None else _list(original)
        rows = _native.tensor_energies(_list(x), before, _texts(include), _texts(exclude))
        by_name = {row.name: _energy(row) for row in rows}
        return Energies(by_name, total=by_name.pop(""))
    _check_no_patterns("energy", include=include, exclude=exclude)
    before = None if original is None else native_of(original)
    return _energy(_native.tensor_energy(native_of(x), before))


def _energy(row) -> Energy:
    return Energy(row.elements, row.nnz, row.zeros, row.nbytes, row.energy)


def _texts(patterns: Sequence[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _list(tensors: Mapping[str, ArrayLike]):
    return [(name, native_of(x)) for name, x in tensors.items()]


def _replaced(x: Mapping[str, ArrayLike], changed) -> dict[str, Any]:
    return {**x, **{name: like(x[name], t) for name, t in changed}}


def _dense_array(x: ArrayLike, result, to: str):
    """For "dense" an array, also of a Tensor; else a Tensor."""
    if to != "dense":
        return Tensor(result)
    return Tensor(result).numpy() if isinstance(x, Tensor) else like(x, result)


def _check_no_patterns(function: str, **given) -> None:
    for name, value in given.items():
        if value:
            raise TypeError(f"{function}: {name} needs a mapping of names to arrays")
