# SPDX-License-Identifier: Apache-2.0
"""sten-energy finds 2:4 in what numpy pruned, and what breaks it."""

import subprocess
import unittest

import numpy as np
from _programs import BIN, MODEL, Case
from safetensors.numpy import load_file, save_file


class Patterns(Case):
    def energy(self, path, code):
        end = subprocess.run([BIN / "sten-energy", path, "--require", "*encoder*dense.weight=nm:n=2,m=4"],
                             capture_output=True, text=True)  # fmt: skip
        self.assertEqual(end.returncode, code, end.stderr)
        return end

    def test_2_of_4_that_numpy_made(self):
        tensors = load_file(MODEL)
        names = [n for n, x in tensors.items() if "encoder" in n and n.endswith("dense.weight") and x.ndim == 2]
        for name in names:
            blocks = tensors[name].reshape(-1, 4)
            np.put_along_axis(blocks, np.argsort(np.abs(blocks), 1)[:, :2], 0, 1)
        path = self.path("pruned.safetensors")
        save_file(tensors, path)
        out = self.energy(path, 0).stdout
        for line in out.splitlines():
            if line.split() and line.split()[0] in names:
                self.assertIn(" 2:4 ", line)

        x = tensors[names[3]]
        x[7, 20 + int(np.flatnonzero(x[7, 20:24] == 0)[0])] = 1
        save_file(tensors, path)
        end = self.energy(path, 3)
        self.assertIn(f"1 of the required patterns is violated; '{names[3]}': 1 of {x.size // 4} blocks break "
                      "nm:n=2,m=4, first row 7, columns 20 to 23: 3 nonzeros", end.stderr)  # fmt: skip
        for name in names:
            if name != names[3]:
                self.assertNotIn(name, end.stderr)


if __name__ == "__main__":
    unittest.main()
