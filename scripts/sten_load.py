# SPDX-License-Identifier: Apache-2.0
"""Reads what sten writes, in any layout, with numpy alone: sten_tools.reader, by its former name."""

try:
    from sten_tools.reader import *  # noqa: F401, F403
except ImportError as e:
    raise ImportError(f"{e}: expected the folder python/ of sten's source on PYTHONPATH, or `pip install python/`") from e

if __name__ == "__main__":
    main()  # noqa: F405
