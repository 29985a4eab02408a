# SPDX-License-Identifier: Apache-2.0
"""Runs the programs for the tests of this folder, which begin with `import _programs`."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

SOURCE = Path(os.environ.get("STEN_SOURCE") or Path(__file__).resolve().parents[2])
BIN = Path(os.environ.get("STEN_BIN") or SOURCE / "build" / "bin")
MODEL = SOURCE / "recipes/models/shakespeare-bert/model.safetensors"

# What a user may have set.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("STEN_STRICT", "COLUMNS")}
ENVIRONMENT.update(LC_ALL="C.UTF-8", NO_COLOR="1")


def run(program, *args, stdin=None, expect=0):
    """Runs build/bin/sten-PROGRAM; returns what it wrote to standard output."""
    command = [str(BIN / f"sten-{program}"), *map(str, args)]
    done = subprocess.run(command, input=stdin, capture_output=True, env=ENVIRONMENT)
    if done.returncode != expect:
        said = done.stderr.decode(errors="replace")
        raise AssertionError(f"{command} ended with {done.returncode}, not {expect}: {said}")
    return done.stdout


def report(program, *args, expect=0):
    """Its report, with the tensors by name."""
    document = json.loads(run(program, *args, "--json", expect=expect))
    assert document["schema"] == 1
    rows = document["tensors"]
    document["tensors"] = {row["name"]: row for row in rows}
    assert len(document["tensors"]) == len(rows)
    return document


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sten-interop-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def path(self, name):
        return self.folder / f"{name}.safetensors"

    def write(self, name, content):
        path = self.path(name)
        path.write_bytes(content)
        return path

    def same(self, got, expected, what):
        """Equal in shape, width and every bit."""
        got, expected = np.asarray(got), np.asarray(expected)
        self.assertEqual(got.shape, expected.shape, what)
        self.assertEqual(got.dtype, expected.dtype, what)
        if not np.array_equal(got, expected):
            at = np.argwhere(got != expected)
            self.fail(f"{what}: {len(at)} differ, the first at {tuple(at[0])}")

    def same_parts(self, got, expected, what):
        self.assertEqual(list(got.parts), list(expected.parts), what)
        for part in expected.parts:
            self.same(got.parts[part], expected.parts[part], f"{what}::{part}")
