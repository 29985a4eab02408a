# SPDX-License-Identifier: Apache-2.0
"""The extension module that binds libsten, with types."""

from __future__ import annotations

try:
    from . import _native
except ImportError as e:
    raise ImportError(
        f"sten_tools: the extension module cannot be imported: {e} "
        "(build it with `pip install python/`; sten_tools.reader works without it)"
    ) from e

Error: type[ValueError] = _native.Error


def version() -> str:
    """Returns the version of libsten."""
    return _native.version()


def threads() -> int:
    """Returns the number of threads that libsten uses (default: one per processor)."""
    return _native.threads()


def set_threads(n: int) -> None:
    """Sets the number of threads that libsten uses.

    >>> import sten_tools
    >>> sten_tools.set_threads(1)
    >>> sten_tools.threads()
    1
    """
    _native.set_threads(n)


def dense_libraries() -> list[str]:
    """Returns the libraries of dense products that were found, such as "oneDNN 2.6.3".

    libsten looks for libdnnl.so and libopenblas.so.0 beside itself and where the system has them.
    Without both, dense products run on kernels of libsten, which are slower; sparse products do not
    need them.
    """
    return _native.dense_libraries()
