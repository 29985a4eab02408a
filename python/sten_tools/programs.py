# SPDX-License-Identifier: Apache-2.0
"""The programs as console scripts."""

import os
import sys


def _run(name: str) -> None:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    try:
        os.execv(path, [name, *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"{name}: {path}: cannot be started: {e.strerror}")


def sten() -> None:
    _run("sten")


def prune() -> None:
    _run("sten-prune")


def convert() -> None:
    _run("sten-convert")


def energy() -> None:
    _run("sten-energy")


def train() -> None:
    _run("sten-train")


def run() -> None:
    _run("sten-run")


def bench() -> None:
    _run("sten-bench")
