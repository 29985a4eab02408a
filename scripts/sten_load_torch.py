# SPDX-License-Identifier: Apache-2.0
"""Reads what sten writes, in any layout, into PyTorch: sten_tools.torch_reader, by its former name."""

try:
    from sten_tools.torch_reader import *  # noqa: F401, F403
except ImportError as e:
    raise ImportError(f"{e}: expected the folder python/ of sten's source on PYTHONPATH, or `pip install python/`") from e
