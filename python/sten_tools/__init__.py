# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors and models: reads, prunes, converts, measures and runs them by libsten.

    import sten_tools
    tensors = sten_tools.load("pruned/")                          # {name: numpy array}
    small = sten_tools.prune(tensors, sparsity=0.9)
    sten_tools.save("small.safetensors", small)

Arrays are those of numpy, scipy.sparse or PyTorch (CPU). docs/python.md is the manual.
"""

import importlib

# Names of this package and the modules that have them. Modules are imported at first use, so that
# the programs start without numpy, and the reader works without libsten.
_MODULES = {
    "Tensor": "arrays",
    "load": "files",
    "save": "files",
    "prune": "pruning",
    "convert": "pruning",
    "energy": "pruning",
    "Energies": "pruning",
    "Energy": "pruning",
    "Model": "model",
    "SparseLinear": "nn",
    "sparsify": "nn",
    "to_dense": "nn",
    "Error": "native",
    "dense_libraries": "native",
    "set_threads": "native",
    "threads": "native",
}
__all__ = sorted(_MODULES)


def __getattr__(name):
    if name == "__version__":
        return importlib.import_module(f"{__name__}.native").version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__():
    return sorted({*globals(), *_MODULES})
