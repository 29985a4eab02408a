# SPDX-License-Identifier: Apache-2.0
"""Measures sten beside other runtimes: products, or with --model whole models. See docs/bench.md."""

import sys

import common
import models
import products


def main():
    arguments = sys.argv[1:]
    whole = any(a == "--model" or a.startswith("--model=") for a in arguments)
    try:
        (models if whole else products).main(arguments)
    except (common.Missing, common.Failed, ValueError, OSError) as e:
        sys.exit(f"rivals: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


main()
