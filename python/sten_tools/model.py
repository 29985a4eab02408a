# SPDX-License-Identifier: Apache-2.0
"""Models that run on arrays, as sten-run runs them on files."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .arrays import ArrayLike, like, native_of
from .native import _native


class Step(NamedTuple):
    """A step of a model's plan, as `sten-run --explain` prints it."""

    nodes: list[str]  # in the order in which they run
    operators: str  # "linear + gelu"
    layout: str  # of the weight, or of activations; "": dense
    reason: str
    seconds: float  # of the last run


class Model:
    """A model that sten-run runs, with its speed and its outputs.

    path: an output directory of sten-train, a Hugging Face directory, an ONNX or GGUF file, a directory
        with graph.json, or weights alone. The files must not change as long as the model exists.
    config: the architecture of weights alone: a config.json, recipe, graph.json or ONNX file
    layouts: layouts of weights, "PATTERN=SPEC" or "auto", as for sten-run --layouts
    precision: "float32", "bf16" or "PATTERN=bf16", as for sten-run --precision

    Raises sten_tools.Error for a model that cannot be read. Wrong layouts and precision are errors of
    the first call. Models cannot be pickled; in worker processes, make one per process ("spawn").

    >>> import numpy as np, pathlib, sten_tools
    >>> graph = '''{"inputs": ["x"], "outputs": ["y"],
    ...     "weights": [{"name": "w", "shape": [2, 3]}],
    ...     "nodes": [{"name": "y", "op": "linear", "inputs": ["x", "w"]}]}'''
    >>> pathlib.Path("graph.json").write_text(graph) > 0
    True
    >>> sten_tools.save("w.safetensors", {"w": np.eye(2, 3, dtype="f4")}, overwrite=True)
    >>> model = sten_tools.Model("w.safetensors", config="graph.json")
    >>> model(x=np.array([[1, 2, 3]], "f4"))
    {'y': array([[1., 2.]], dtype=float32)}
    """

    def __init__(
        self,
        path: str | os.PathLike,
        *,
        config: str | os.PathLike = "",
        layouts: str | Iterable[str] = (),
        precision: str | Iterable[str] = (),
    ):
        if "torch" in sys.modules:
            from . import nn  # noqa: F401  (runs libsten on the threads of PyTorch)
        self._native = _native.ModelRunner(
            os.fspath(path), os.fspath(config), _texts(layouts), _texts(precision)
        )
        self._lock = threading.Lock()
        self.inputs: tuple[str, ...] = tuple(self._native.inputs())
        self.outputs: tuple[str, ...] = tuple(self._native.outputs())

    def __call__(
        self, x: ArrayLike | Mapping[str, ArrayLike] | None = None, /, **inputs: ArrayLike | None
    ) -> dict[str, Any]:
        """Runs the model on a batch, and returns its outputs by name.

        Inputs are numpy arrays, PyTorch tensors on the CPU, or Tensor; outputs are of the same kind.
        x: the only input, or the input_ids of a language model; or all inputs by name, as tokenizers
            of transformers return them.
        inputs: by name. A language model's position_ids, token_type_ids and attention_mask may be
            left out or None.

        The first run, and the first one with other shapes, plans and packs the weights. Another
        thread's call waits until a run is done. Raises sten_tools.Error for inputs that do not fit.
        """
        if isinstance(x, Mapping):
            x, inputs = None, {**x, **inputs}
        given = [("", x), *inputs.items()]
        given = [(name, value) for name, value in given if value is not None]
        arrays = [(name, native_of(value)) for name, value in given]
        with self._lock:
            outputs = self._native.run(arrays)
        kind = given[0][1] if given else None
        return {name: like(kind, y) for name, y in outputs}

    def plan(self) -> list[Step]:
        """The steps of the last run, with their times; empty before the first run."""
        with self._lock:
            steps = self._native.plan()
        return [Step(s.nodes, s.runs, s.layout, s.why, s.seconds) for s in steps]

    def __repr__(self) -> str:
        return f"Model(inputs={list(self.inputs)}, outputs={list(self.outputs)})"


def _texts(rules: str | Iterable[str]) -> list[str]:
    return [rules] if isinstance(rules, str) else list(rules)
